package cri

import (
	"errors"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/api/v1/resource"
	podshelper "k8s.io/kubernetes/pkg/apis/core/pods"
	"k8s.io/kubernetes/pkg/fieldpath"
)

// fieldValue gives a field of the pod, of its status, or of the node it runs on.
func fieldValue(in EnvInput, ref *v1.ObjectFieldSelector) (string, error) {
	path, _, err := podshelper.ConvertDownwardAPIFieldLabel(ref.APIVersion, ref.FieldPath, "")
	if err != nil {
		return "", err
	}
	switch path {
	case "spec.nodeName":
		return in.Pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return in.Pod.Spec.ServiceAccountName, nil
	case "status.hostIP":
		if len(in.HostIPs) == 0 {
			return "", errors.New("the node has no address yet, so status.hostIP has no value")
		}
		return in.HostIPs[0], nil
	case "status.hostIPs":
		return strings.Join(in.HostIPs, ","), nil
	case "status.podIP":
		if ips := SortPodIPs(in.PodIPs, in.HostIPs); len(ips) > 0 {
			return ips[0], nil
		}
		return "", nil
	case "status.podIPs":
		return strings.Join(SortPodIPs(in.PodIPs, in.HostIPs), ","), nil
	}
	return fieldpath.ExtractFieldPathAsString(in.Pod, path)
}

// SortPodIPs picks the first address of the node's primary family, then the first
// of the other: the form of status.podIPs. Without host addresses IPv4 is primary.
func SortPodIPs(podIPs, hostIPs []string) []string {
	primary4 := true
	if len(hostIPs) > 0 {
		if ip, err := netip.ParseAddr(hostIPs[0]); err == nil {
			primary4 = ip.Unmap().Is4()
		}
	}
	var first, second string
	for _, s := range podIPs {
		ip, err := netip.ParseAddr(s)
		switch {
		case err != nil:
		case ip.Unmap().Is4() == primary4 && first == "":
			first = ip.Unmap().String()
		case ip.Unmap().Is4() != primary4 && second == "":
			second = ip.Unmap().String()
		}
	}
	var sorted []string
	for _, s := range []string{first, second} {
		if s != "" {
			sorted = append(sorted, s)
		}
	}
	return sorted
}

// resourceValue gives a request or limit of a container of the pod. A missing
// limit is the pod's, or else all that the node can give.
func resourceValue(in EnvInput, ref *v1.ResourceFieldSelector) (string, error) {
	allocatable := in.Allocatable
	if resourcehelper.IsPodLevelLimitsSet(in.Pod) {
		allocatable = allocatable.DeepCopy()
		for name, limit := range in.Pod.Spec.Resources.Limits {
			if _, known := allocatable[name]; known && !limit.IsZero() {
				allocatable[name] = limit
			}
		}
	}
	if ref.ContainerName == "" {
		c := in.Container.DeepCopy()
		resource.MergeContainerResourceLimits(c, allocatable)
		return resource.ExtractContainerResourceValue(ref, c)
	}
	pod := in.Pod.DeepCopy()
	for i := range pod.Spec.Containers {
		resource.MergeContainerResourceLimits(&pod.Spec.Containers[i], allocatable)
	}
	return resource.ExtractResourceValueByContainerName(ref, pod, ref.ContainerName)
}
