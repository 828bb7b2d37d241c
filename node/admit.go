package node

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	v1qos "k8s.io/kubernetes/pkg/apis/core/v1/helper/qos"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
)

// refuses decides whether the node refuses a pod beside the others it runs. The
// scheduler has asked the same already; the node asks again because a static pod
// never met a scheduler, and because two schedulers' decisions can cross.
// Reasons and messages are kubelet's (lifecycle/predicate.go), and so is the
// order of the checks.
func refuses(node *v1.Node, others []*v1.Pod, pod *v1.Pod) (fact.Refused, bool) {
	if pod.Spec.OS != nil && pod.Spec.OS.Name != v1.Linux {
		return fact.Refused{Reason: "PodOSNotSupported", Message: "Failed to admit pod as the OS field doesn't match node OS"}, true
	}
	if name := unsafeSysctl(pod); name != "" {
		return fact.Refused{Reason: "SysctlForbidden", Message: fmt.Sprintf("forbidden sysctl: %q not allowlisted", name)}, true
	}
	if refused, short := outOf(node, others, pod); short {
		return refused, true
	}
	if matches, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); !matches {
		return predicateFailed("NodeAffinity"), true
	}
	if pod.Spec.NodeName != "" && pod.Spec.NodeName != node.Name {
		return predicateFailed("NodeName"), true
	}
	if portTaken(others, pod) {
		return predicateFailed("NodePorts"), true
	}
	return fact.Refused{}, false
}

func predicateFailed(name string) fact.Refused {
	return fact.Refused{Reason: name, Message: fmt.Sprintf("Predicate %s failed", name)}
}

// refusesUnder says whether a node under such pressures takes a pod in: critical
// ones always; under memory pressure alone those that asked for something, or
// tolerate it (kubelet: eviction/eviction_manager.go, Admit).
func refusesUnder(conditions []v1.NodeConditionType, pod *v1.Pod, static bool) (fact.Refused, bool) {
	if len(conditions) == 0 || health.Critical(pod, static) {
		return fact.Refused{}, false
	}
	if slices.Equal(conditions, []v1.NodeConditionType{v1.NodeMemoryPressure}) && toleratesMemoryPressure(pod) {
		return fact.Refused{}, false
	}
	return fact.Refused{Reason: "Evicted", Message: fmt.Sprintf("The node had condition: %v. ", conditions)}, true
}

func toleratesMemoryPressure(pod *v1.Pod) bool {
	taint := &v1.Taint{Key: v1.TaintNodeMemoryPressure, Effect: v1.TaintEffectNoSchedule}
	return v1qos.GetPodQOS(pod) != v1.PodQOSBestEffort ||
		corev1helpers.TolerationsTolerateTaint(klog.Background(), pod.Spec.Tolerations, taint, false)
}

// outOf compares what is requested with what the node has.
func outOf(node *v1.Node, others []*v1.Pod, pod *v1.Pod) (fact.Refused, bool) {
	if most, ok := node.Status.Allocatable[v1.ResourcePods]; ok && int64(len(others))+1 > most.Value() {
		return short(v1.ResourcePods, 1, int64(len(others)), most.Value()), true
	}
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	used := v1.ResourceList{}
	for _, other := range others {
		for name, quantity := range resourcehelper.PodRequests(other, resourcehelper.PodResourcesOptions{}) {
			sum := used[name]
			sum.Add(quantity)
			used[name] = sum
		}
	}
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage} {
		want, taken, has := amount(name, requests), amount(name, used), amount(name, node.Status.Allocatable)
		if want > 0 && want+taken > has {
			return short(name, want, taken, has), true
		}
	}
	return fact.Refused{}, false
}

// amount is millicores for the CPU and units otherwise, as the scheduler counts.
func amount(name v1.ResourceName, list v1.ResourceList) int64 {
	quantity, ok := list[name]
	if !ok {
		quantity = resource.Quantity{}
	}
	if name == v1.ResourceCPU {
		return quantity.MilliValue()
	}
	return quantity.Value()
}

func short(name v1.ResourceName, requested, used, capacity int64) fact.Refused {
	return fact.Refused{
		Reason: "OutOf" + string(name),
		Message: fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d",
			name, requested, used, capacity),
	}
}

// portTaken says whether another pod holds a host port that this one wants.
func portTaken(others []*v1.Pod, pod *v1.Pod) bool {
	wanted := hostPorts(pod)
	for _, other := range others {
		for _, held := range hostPorts(other) {
			if slices.ContainsFunc(wanted, func(p v1.ContainerPort) bool { return portsCollide(p, held) }) {
				return true
			}
		}
	}
	return false
}

func portsCollide(a, b v1.ContainerPort) bool {
	anywhere := func(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
	return a.HostPort == b.HostPort && a.Protocol == b.Protocol &&
		(a.HostIP == b.HostIP || anywhere(a.HostIP) || anywhere(b.HostIP))
}

func hostPorts(pod *v1.Pod) []v1.ContainerPort {
	var ports []v1.ContainerPort
	for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			for _, p := range containers[i].Ports {
				if p.HostPort > 0 {
					ports = append(ports, p)
				}
			}
		}
	}
	return ports
}

// safeSysctls are namespaced and harmless to others (kubelet:
// sysctl/safe_sysctls.go).
var safeSysctls = []string{
	"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies",
	"net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start", "net.ipv4.ip_local_reserved_ports",
	"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
	"net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
}

func unsafeSysctl(pod *v1.Pod) string {
	if pod.Spec.SecurityContext == nil {
		return ""
	}
	for _, s := range pod.Spec.SecurityContext.Sysctls {
		name := strings.ReplaceAll(s.Name, "/", ".")
		if !slices.Contains(safeSysctls, name) {
			return s.Name
		}
		if pod.Spec.HostNetwork && strings.HasPrefix(name, "net.") {
			return s.Name
		}
	}
	return ""
}
