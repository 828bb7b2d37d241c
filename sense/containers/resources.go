package containers

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// resourcesOf reads a runtime's cgroup values back into requests and limits. A
// memory request leaves no trace in a cgroup, so it stays empty.
func resourcesOf(r *runtimeapi.ContainerResources) *v1.ResourceRequirements {
	l := r.GetLinux()
	if l == nil {
		return nil
	}
	out := &v1.ResourceRequirements{}
	if milli := quotaToMilli(l.CpuQuota, l.CpuPeriod); milli > 0 {
		set(&out.Limits, v1.ResourceCPU, resource.NewMilliQuantity(milli, resource.DecimalSI))
	}
	if l.MemoryLimitInBytes > 0 {
		set(&out.Limits, v1.ResourceMemory, resource.NewQuantity(l.MemoryLimitInBytes, resource.BinarySI))
	}
	if milli := sharesToMilli(l.CpuShares); milli > 0 {
		set(&out.Requests, v1.ResourceCPU, resource.NewMilliQuantity(milli, resource.DecimalSI))
	}
	if out.Limits == nil && out.Requests == nil {
		return nil
	}
	return out
}

func set(list *v1.ResourceList, name v1.ResourceName, q *resource.Quantity) {
	if *list == nil {
		*list = v1.ResourceList{}
	}
	(*list)[name] = *q
}

// quotaToMilli and sharesToMilli give thousandths of a CPU, as kubelet counts them
// (pkg/kubelet/cm/helpers_linux.go); 0 stands for no bound and for no request.
func quotaToMilli(quota, period int64) int64 {
	if quota <= 0 || period <= 0 {
		return 0
	}
	return quota * 1000 / period
}

func sharesToMilli(shares int64) int64 {
	const minShares, sharesPerCPU = 2, 1024
	if shares < minShares {
		return 0
	}
	return (shares*1000 + sharesPerCPU - 1) / sharesPerCPU
}
