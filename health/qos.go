package health

import (
	v1 "k8s.io/api/core/v1"
)

// qos is the pod's quality of service class. k8s.io/kubernetes has the same
// (pkg/apis/core/v1/helper/qos, ComputePodQOS), but with it comes the API server.
func qos(spec *v1.PodSpec) v1.PodQOSClass {
	requests, limits := v1.ResourceList{}, v1.ResourceList{}
	bounded := true
	add := func(r *v1.ResourceRequirements) {
		collect(requests, r.Requests)
		if collect(limits, r.Limits) < 2 {
			bounded = false
		}
	}
	if spec.Resources != nil {
		collect(requests, spec.Resources.Requests)
		if len(spec.Resources.Limits) > 0 && collect(limits, spec.Resources.Limits) < 2 {
			bounded = false
		}
	} else {
		for i := range spec.Containers {
			add(&spec.Containers[i].Resources)
		}
		for i := range spec.InitContainers {
			add(&spec.InitContainers[i].Resources)
		}
	}
	switch {
	case len(requests) == 0 && len(limits) == 0:
		return v1.PodQOSBestEffort
	case bounded && sameAmounts(requests, limits):
		return v1.PodQOSGuaranteed
	}
	return v1.PodQOSBurstable
}

// collect adds up CPU and memory, and says how many of the two were named.
func collect(sum, list v1.ResourceList) (named int) {
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		q, ok := list[name]
		if !ok || q.Sign() <= 0 {
			continue
		}
		named++
		total := sum[name]
		total.Add(q)
		sum[name] = total
	}
	return named
}

func sameAmounts(a, b v1.ResourceList) bool {
	if len(a) != len(b) {
		return false
	}
	for name, q := range a {
		if other, ok := b[name]; !ok || other.Cmp(q) != 0 {
			return false
		}
	}
	return true
}
