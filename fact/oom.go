package fact

import (
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
)

// Scope says whose memory had run out when the kernel killed a process. It is empty
// where that is not known: only counters told, or a kernel that names no cgroup.
type Scope string

// The scopes of an OOM kill, from the narrowest.
const (
	OfContainer Scope = "Container" // the container's own limit
	OfPod       Scope = "Pod"       // the limit of the pod's cgroup, which its containers share
	OfAllPods   Scope = "AllPods"   // what all pods of the node together, or of a QoS class, may have
	OfMachine   Scope = "Machine"   // there was no memory left at all
)

// Scope says whose memory had run out when a process of the named container of pod
// was killed. A nil pod is one of which nothing else is known.
//
// The kernel names the cgroup that was full. Where that is the pod's, and the pod has
// no limit but that of this one container, the two are the same limit: the kernel
// only finds the pod's full first, because the sandbox counts to it. Several
// containers' limits make a sum that none of them needs to have reached by itself
// (files in memory that an ended run left count to the pod alone).
func (k OOMKilled) Scope(pod *v1.Pod, container string) Scope {
	// mm/oom_kill.c: CONSTRAINT_MEMCG is the only one that is about a cgroup.
	if k.Constraint != "" && !strings.Contains(k.Constraint, "MEMCG") {
		return OfMachine
	}
	if k.OOMCgroup == "" {
		return ""
	}
	switch full := ParseCgroup(k.OOMCgroup); {
	case full.Container != "":
		return OfContainer
	case full.Pod != "" && limitedByOne(pod, container):
		return OfContainer
	case full.Pod != "":
		return OfPod
	case k.TaskCgroup == "":
		return ""
	}
	switch task, full := rooted(k.TaskCgroup), rooted(k.OOMCgroup); {
	case task == full:
		return OfContainer
	case full == "/" || strings.HasPrefix(task, full+"/"):
		return OfAllPods
	case ParseCgroup(k.TaskCgroup).Pod != "" && strings.Contains(full, "kubepods"):
		return OfAllPods // the two paths were seen from different cgroup namespaces
	}
	return ""
}

// rooted takes off what a path has in front that was read in a cgroup namespace
// below ("/../../kubepods", cgroup_namespaces(7)).
func rooted(cgroup string) string { return path.Clean("/" + cgroup) }

// LimitedTogether says whether the pod's cgroup has a memory limit beside that of the
// named container: its own, or the sum of several.
func LimitedTogether(pod *v1.Pod, container string) bool {
	return LimitsMemory(pod) || allLimited(pod) && !limitedByOne(pod, container)
}

// limitedByOne says whether the limit of the pod's cgroup is the memory limit of the
// named container and nothing else: it counts neither others nor an overhead, and
// the pod has none of its own.
func limitedByOne(pod *v1.Pod, container string) bool {
	if pod == nil || LimitsMemory(pod) || !allLimited(pod) {
		return false
	}
	sum := resource.PodLimits(pod, resource.PodResourcesOptions{SkipPodLevelResources: true})
	return slices.ContainsFunc(slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers), func(c v1.Container) bool {
		return c.Name == container && c.Resources.Limits.Memory().Cmp(*sum.Memory()) == 0
	})
}

// allLimited says whether all containers have a memory limit: only then does the
// pod's cgroup get their sum (pkg/kubelet/cm/helpers_linux.go, ResourceConfigForPod).
func allLimited(pod *v1.Pod) bool {
	return !slices.ContainsFunc(slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers), func(c v1.Container) bool {
		return c.Resources.Limits.Memory().IsZero()
	})
}

// LimitsMemory says whether a pod has a memory limit of its own (spec.resources), and
// not only the sum of its containers'.
func LimitsMemory(pod *v1.Pod) bool {
	return pod.Spec.Resources != nil && !pod.Spec.Resources.Limits.Memory().IsZero()
}
