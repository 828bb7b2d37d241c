package health

import (
	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Ask is what a pod asked for of the node's memory, and what it may use, in
// bytes.
type Ask struct {
	Request, Limit int64
	// Unlimited says that a container that runs as long as the pod has no limit;
	// Limit is then the sum of those that have one.
	Unlimited bool
}

// Most is the most that the pod may use on a node that gives its pods so much.
func (a Ask) Most(allocatable int64) int64 {
	if a.Unlimited {
		return allocatable
	}
	return min(a.Limit, allocatable)
}

// MemoryAsk adds up what a pod's containers, its overhead, or the pod's own
// resources (KEP 2837) say of memory, as the scheduler does.
func MemoryAsk(spec *v1.PodSpec) Ask {
	pod := &v1.Pod{Spec: *spec}
	request := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})[v1.ResourceMemory]
	limit := resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{})[v1.ResourceMemory]
	a := Ask{Request: request.Value(), Limit: limit.Value()}
	if spec.Resources != nil && !spec.Resources.Limits.Memory().IsZero() {
		return a
	}
	for i := range spec.Containers {
		a.Unlimited = a.Unlimited || spec.Containers[i].Resources.Limits.Memory().IsZero()
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
		a.Unlimited = a.Unlimited || sidecar && c.Resources.Limits.Memory().IsZero()
	}
	return a
}
