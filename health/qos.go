package health

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// qos is the pod's quality of service class. k8s.io/kubernetes has the same
// (pkg/apis/core/v1/helper/qos, ComputePodQOS), but with it comes the API server.
func qos(spec *v1.PodSpec) v1.PodQOSClass {
	if resourcehelper.IsPodLevelResourcesSet(&v1.Pod{Spec: *spec}) {
		return qosOf(spec.Resources)
	}
	var all []v1.PodQOSClass
	for _, containers := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range containers {
			all = append(all, qosOf(&containers[i].Resources))
		}
	}
	return agreed(all)
}

// qosOf is the class that one set of resources alone would give.
func qosOf(r *v1.ResourceRequirements) v1.PodQOSClass {
	var all []v1.PodQOSClass
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
		request, limit := r.Requests[name], r.Limits[name]
		switch {
		case !request.Equal(limit):
			all = append(all, v1.PodQOSBurstable)
		case request.IsZero():
			all = append(all, v1.PodQOSBestEffort)
		default:
			all = append(all, v1.PodQOSGuaranteed)
		}
	}
	return agreed(all)
}

// agreed is the class that all have, Burstable where they differ.
func agreed(all []v1.PodQOSClass) v1.PodQOSClass {
	switch all = slices.Compact(all); len(all) {
	case 0:
		return v1.PodQOSBestEffort
	case 1:
		return all[0]
	}
	return v1.PodQOSBurstable
}
