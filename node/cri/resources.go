package cri

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
	"k8s.io/kubernetes/pkg/kubelet/cm"
	"k8s.io/kubernetes/pkg/kubelet/qos"
)

// ContainerResources are the cgroup values of a container, for its creation and
// for a resize in place. They follow KEP-1287 (resize), KEP-2837 (pod-level
// resources) and kubelet's kuberuntime_container_linux.go.
func ContainerResources(pod *v1.Pod, c *v1.Container, m Machine) *runtimeapi.LinuxContainerResources {
	var cpuRequest *resource.Quantity
	if q, ok := c.Resources.Requests[v1.ResourceCPU]; ok {
		cpuRequest = &q
	}
	r := linuxResources(cpuRequest, limitOf(pod, c, v1.ResourceCPU), limitOf(pod, c, v1.ResourceMemory), m)
	r.OomScoreAdj = int64(qos.GetContainerOOMScoreAdjust(pod, c, m.memory()))
	r.HugepageLimits = hugePages(pod, c, m)
	if m.CgroupV2 {
		// No memory is reserved unless kubelet is configured to (memoryReservationPolicy).
		r.Unified[cm.Cgroup2MemoryMin], r.Unified[cm.Cgroup2MemoryLow] = "0", "0"
	}
	forbidSwap(r, m)
	return r
}

// limitOf takes the container's own limit, or the pod's where it has none.
func limitOf(pod *v1.Pod, c *v1.Container, name v1.ResourceName) resource.Quantity {
	own := c.Resources.Limits[name]
	if own.IsZero() && resourcehelper.IsPodLevelResourcesSet(pod) {
		return pod.Spec.Resources.Limits[name]
	}
	return own
}

// linuxResources turns quantities into shares, quota and bytes. A CPU limit
// without request means a request of the same size.
func linuxResources(cpuRequest *resource.Quantity, cpuLimit, memoryLimit resource.Quantity, m Machine) *runtimeapi.LinuxContainerResources {
	shares := cpuLimit
	if cpuRequest != nil {
		shares = *cpuRequest
	}
	r := &runtimeapi.LinuxContainerResources{
		CpuShares:          int64(cm.MilliCPUToShares(shares.MilliValue())),
		CpuPeriod:          cm.QuotaPeriod,
		CpuQuota:           cm.MilliCPUToQuota(cpuLimit.MilliValue(), cm.QuotaPeriod),
		MemoryLimitInBytes: memoryLimit.Value(),
	}
	if m.CgroupV2 {
		// One OOM kill takes the whole container, so that it never limps on without
		// one of its processes (kubelet's singleProcessOOMKill=false, its default on v2).
		r.Unified = map[string]string{"memory.oom.group": "1"}
	}
	return r
}

// forbidSwap is kubelet's default NoSwap behaviour.
func forbidSwap(r *runtimeapi.LinuxContainerResources, m Machine) {
	switch {
	case !m.SwapAccounting:
	case m.CgroupV2:
		r.Unified[cm.Cgroup2MaxSwapFilename] = "0"
	default:
		// Memory and swap together may be no more than memory alone.
		r.MemorySwapLimitInBytes = r.MemoryLimitInBytes
	}
}

// hugePages limits every page size there is: to what the container asks for,
// else to what the pod asks for, else to nothing.
func hugePages(pod *v1.Pod, c *v1.Container, m Machine) []*runtimeapi.HugepageLimit {
	wanted := map[string]uint64{}
	if resourcehelper.IsPodLevelResourcesSet(pod) {
		addHugePages(wanted, pod.Spec.Resources.Limits)
	}
	addHugePages(wanted, c.Resources.Limits)
	var limits []*runtimeapi.HugepageLimit
	for _, size := range m.HugePageSizes {
		limits = append(limits, &runtimeapi.HugepageLimit{PageSize: size, Limit: wanted[size]})
	}
	return limits
}

func addHugePages(wanted map[string]uint64, limits v1.ResourceList) {
	for name, amount := range limits {
		if !v1helper.IsHugePageResourceName(name) {
			continue
		}
		size, err := v1helper.HugePageSizeFromResourceName(name)
		if err != nil {
			continue // the API server accepts no such name
		}
		if unit, err := v1helper.HugePageUnitSizeFromByteSize(size.Value()); err == nil {
			wanted[unit] = uint64(amount.Value())
		}
	}
}

// sandboxResources sums up the pod. Runtimes that run pods in virtual machines
// size them by it; others only pass it on.
func sandboxResources(pod *v1.Pod, m Machine) *runtimeapi.LinuxContainerResources {
	opts := resourcehelper.PodResourcesOptions{ExcludeOverhead: true}
	requests, limits := resourcehelper.PodRequests(pod, opts), resourcehelper.PodLimits(pod, opts)
	var cpuRequest *resource.Quantity
	if q, ok := requests[v1.ResourceCPU]; ok {
		cpuRequest = &q
	}
	return linuxResources(cpuRequest, limits[v1.ResourceCPU], limits[v1.ResourceMemory], m)
}

// overhead is the same for what the sandbox itself costs (RuntimeClass overhead).
func overhead(pod *v1.Pod, m Machine) *runtimeapi.LinuxContainerResources {
	if pod.Spec.Overhead == nil {
		return &runtimeapi.LinuxContainerResources{}
	}
	cpu, memory := pod.Spec.Overhead[v1.ResourceCPU], pod.Spec.Overhead[v1.ResourceMemory]
	return linuxResources(&cpu, cpu, memory, m)
}
