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

// Fit says to how much each of several pods would have to be held so that what all
// may use fits into what is allocatable: each keeps what it asked for, and of what
// lies above that all give up the same part. It is nil where they fit already, or
// ask for too much for that.
func Fit(asks []Ask, allocatable int64) []int64 {
	var requests, most float64
	for _, a := range asks {
		requests, most = requests+float64(a.Request), most+float64(a.above(allocatable)+a.Request)
	}
	if most <= float64(allocatable) || requests > float64(allocatable) {
		return nil
	}
	part := (float64(allocatable) - requests) / (most - requests)
	fit := make([]int64, 0, len(asks))
	for _, a := range asks {
		fit = append(fit, a.Request+int64(float64(a.above(allocatable))*part))
	}
	return fit
}

// above is how much the pod may use beyond what it asked for, of what a node gives
// its pods or even, where its limit says so, of more.
func (a Ask) above(allocatable int64) int64 {
	if a.Unlimited {
		return max(0, allocatable-a.Request)
	}
	return max(0, a.Limit-a.Request)
}
