package health

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"whylet.dev/whylet/fact"
)

// Node is what is known of the node that pods are to run on.
type Node struct {
	// Object is nil while it is not known.
	Object     *v1.Node
	Conditions []v1.NodeConditionType // the pressures it is under, sorted
	HostIP     string
	// ShuttingDown is set while its machine is about to shut down.
	ShuttingDown bool
}

// counted are the resources that are given away by what is asked for.
var counted = []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage}

// SeeRoom is what a node has for a pod beside the others that it runs, in the form in
// which a decision about the pod rests on it: as much as is needed to come to the
// same decision again.
func SeeRoom(n Node, others []*v1.Pod, pod *v1.Pod) fact.RoomSeen {
	room := fact.RoomSeen{HostIP: n.HostIP, Conditions: n.Conditions, ShuttingDown: n.ShuttingDown}
	if n.Object == nil {
		return room
	}
	room.Node, room.Pods = n.Object.Name, int64(len(others))
	if choosesNode(pod) {
		room.Labels = n.Object.Labels
	}
	room.Allocatable, room.Requested = v1.ResourceList{}, v1.ResourceList{}
	for _, name := range append([]v1.ResourceName{v1.ResourcePods}, counted...) {
		if quantity, ok := n.Object.Status.Allocatable[name]; ok {
			room.Allocatable[name] = quantity
		}
	}
	holders := make([]fact.Holder, 0, len(others))
	for _, other := range others {
		h := fact.Holder{Pod: fact.Pod{Namespace: other.Namespace, Name: other.Name, UID: other.UID}, Requests: requests(other)}
		for name, quantity := range h.Requests {
			sum := room.Requested[name]
			sum.Add(quantity)
			room.Requested[name] = sum
		}
		h.Ports = colliding(pod, other)
		holders = append(holders, h)
	}
	room.Holders = inTheWay(room, holders, pod)
	return room
}

// maxHolders bounds who is named.
const maxHolders = 10

// inTheWay are the holders of what the pod does not get, most first.
func inTheWay(room fact.RoomSeen, holders []fact.Holder, pod *v1.Pod) []fact.Holder {
	name, _, isShort := shortOf(room, pod)
	slices.SortFunc(holders, func(a, b fact.Holder) int {
		return cmp.Or(
			cmp.Compare(amount(name, b.Requests), amount(name, a.Requests)),
			cmp.Compare(a.Pod.String(), b.Pod.String()), cmp.Compare(a.Pod.UID, b.Pod.UID),
		)
	})
	if !isShort {
		return holdingPorts(holders)
	}
	return slices.Clone(holders[:min(len(holders), maxHolders)])
}

func holdingPorts(holders []fact.Holder) []fact.Holder {
	return slices.DeleteFunc(slices.Clone(holders), func(h fact.Holder) bool { return len(h.Ports) == 0 })
}

// Admit decides whether a node refuses a pod, by the room that was seen. The
// scheduler has asked the same already; the node asks again because a static pod
// never met a scheduler, and because two schedulers' decisions can cross. Reasons
// and messages are kubelet's (lifecycle/predicate.go), and so is the order of the
// checks.
func Admit(room fact.RoomSeen, pod *v1.Pod, static bool) (fact.Refused, bool) {
	if room.ShuttingDown {
		return fact.Refused{Reason: fact.ShutdownReason, Message: "Pod was rejected as the node is shutting down."}, true
	}
	if refused, no := refusesUnder(room.Conditions, pod, static); no {
		return refused, true
	}
	if room.Node == "" {
		return fact.Refused{}, false // until it is known there is nothing to compare with
	}
	if pod.Spec.OS != nil && pod.Spec.OS.Name != v1.Linux {
		return fact.Refused{Reason: "PodOSNotSupported", Message: "Failed to admit pod as the OS field doesn't match node OS"}, true
	}
	if name := unsafeSysctl(pod); name != "" {
		return fact.Refused{Reason: "SysctlForbidden", Message: fmt.Sprintf("forbidden sysctl: %q not allowlisted", name)}, true
	}
	if name, message, isShort := shortOf(room, pod); isShort {
		return fact.Refused{Reason: "OutOf" + string(name), Message: message, Holders: room.Holders}, true
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: room.Node, Labels: room.Labels}}
	if matches, _ := nodeaffinity.GetRequiredNodeAffinity(pod).Match(node); !matches {
		return predicateFailed("NodeAffinity"), true
	}
	if pod.Spec.NodeName != "" && pod.Spec.NodeName != room.Node {
		return predicateFailed("NodeName"), true
	}
	if held := holdingPorts(room.Holders); len(held) > 0 {
		refused := predicateFailed("NodePorts")
		refused.Holders = held
		return refused, true
	}
	return fact.Refused{}, false
}

func predicateFailed(name string) fact.Refused {
	return fact.Refused{Reason: name, Message: fmt.Sprintf("Predicate %s failed", name)}
}

// choosesNode says whether a pod asks for certain labels.
func choosesNode(pod *v1.Pod) bool {
	a := pod.Spec.Affinity
	return len(pod.Spec.NodeSelector) > 0 || a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
}

// RefuseResize decides whether a node has no room for the resources that a running
// pod asks for now: it is Infeasible when it never will, Deferred when others have to
// go first (kubelet: allocation/allocation_manager.go, canResizePod).
func RefuseResize(room fact.RoomSeen, pod *v1.Pod) (fact.ResizeFailed, bool) {
	if room.Node == "" {
		return fact.ResizeFailed{}, false
	}
	empty := room
	empty.Requested, empty.Pods = nil, 0
	if _, message, isShort := shortOf(empty, pod); isShort {
		return fact.ResizeFailed{Reason: v1.PodReasonInfeasible, Message: message}, true
	}
	if _, message, isShort := shortOf(room, pod); isShort {
		return fact.ResizeFailed{Reason: v1.PodReasonDeferred, Message: message, Holders: room.Holders}, true
	}
	return fact.ResizeFailed{}, false
}

// NeedsRoom says whether the machine, before it takes the fact, wants to know what
// room there is (a fact.RoomSeen): a running pod is to get other resources, or a
// resize that waits for room is due again.
func NeedsRoom(s State, f fact.Fact) bool {
	p := &s.p
	if !p.settled() || p.Admission == rejected || p.Ending != nil {
		return false
	}
	switch b := f.Body.(type) {
	case fact.SpecSeen:
		return b.Object != nil && !maps.EqualFunc(wanted(p.Object), wanted(b.Object), sameResources)
	case fact.RoomMade, fact.ReferenceChanged:
		return p.deferred()
	}
	return p.deferred() && p.Room == nil && !p.beingResized() && !f.Seen.Before(p.Resize.RetryAt)
}

func (p *pod) beingResized() bool {
	return p.OwnResizing || slices.ContainsFunc(p.Containers, func(c container) bool { return c.Resizing })
}

// WaitsForRoom says whether the pod has a resize that others have to make room for.
func WaitsForRoom(s State) bool { return s.p.deferred() }

// MakesRoom says whether after a fact about one pod others may find room that did
// not before (kubelet: allocation/allocation_manager.go, RetryPendingResizes).
func MakesRoom(f fact.Fact) bool {
	switch b := f.Body.(type) {
	case fact.ObjectGone, fact.Resized:
		return true
	case fact.SetPhase:
		return terminal(b.Phase)
	}
	return false
}

// Settled says whether it is decided what becomes of the pod: one that is met for
// the first time is not.
func Settled(s State) bool { return s.p.settled() }

func (p *pod) deferred() bool {
	return p.Resize != nil && p.Resize.Pending && p.Resize.Reason == v1.PodReasonDeferred
}

// wanted are the resources that a spec gives its containers, by name, and the pod
// itself under none.
func wanted(pod *v1.Pod) map[string]v1.ResourceRequirements {
	all := map[string]v1.ResourceRequirements{}
	if pod.Spec.Resources != nil {
		all[""] = *pod.Spec.Resources
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		all[c.Name] = c.Resources
	}
	return all
}

// room is what was seen of it last, and not decided by yet.
type room struct {
	Fact fact.ID       `json:"fact"`
	Seen fact.RoomSeen `json:"seen"`
}

// roomSeen decides about a pod that is new, and keeps for a resize what was seen.
func (t *turn) roomSeen(b fact.RoomSeen) {
	switch {
	case t.Object == nil:
	case t.Admission == "":
		t.admit(b)
	default:
		t.Room = &room{Fact: t.fact.ID, Seen: b}
	}
}

func (t *turn) admit(seen fact.RoomSeen) {
	if refused, no := Admit(seen, t.Object, t.Static); no {
		refused.Room = t.fact.ID
		t.decide("", 0, refused, t.SpecFact)
		t.refused(refused)
		return
	}
	admitted := fact.Admitted{HostIP: seen.HostIP, Room: t.fact.ID}
	t.decide("", 0, admitted, t.SpecFact)
	t.admitted(admitted)
}

// refusesUnder says whether a node under such pressures takes a pod in: critical
// ones always; under memory pressure alone those that asked for something, or
// tolerate it (kubelet: eviction/eviction_manager.go, Admit).
func refusesUnder(conditions []v1.NodeConditionType, pod *v1.Pod, static bool) (fact.Refused, bool) {
	if len(conditions) == 0 || Critical(pod, static) {
		return fact.Refused{}, false
	}
	if slices.Equal(conditions, []v1.NodeConditionType{v1.NodeMemoryPressure}) && toleratesMemoryPressure(pod) {
		return fact.Refused{}, false
	}
	return fact.Refused{Reason: "Evicted", Message: fmt.Sprintf("The node had condition: %v. ", conditions)}, true
}

// toleratesMemoryPressure follows component-helpers/scheduling/corev1, which would
// bring a logger.
func toleratesMemoryPressure(pod *v1.Pod) bool {
	return qos(&pod.Spec) != v1.PodQOSBestEffort || slices.ContainsFunc(pod.Spec.Tolerations, func(t v1.Toleration) bool {
		if t.Effect != "" && t.Effect != v1.TaintEffectNoSchedule || t.Key != "" && t.Key != v1.TaintNodeMemoryPressure {
			return false
		}
		return t.Operator == v1.TolerationOpExists || t.Key != "" && (t.Operator == "" || t.Operator == v1.TolerationOpEqual) && t.Value == ""
	})
}

// shortOf compares what a pod requests with what the node has. It names the first
// resource of which there is too little, with kubelet's words for it.
func shortOf(room fact.RoomSeen, pod *v1.Pod) (v1.ResourceName, string, bool) {
	if most, ok := room.Allocatable[v1.ResourcePods]; ok && room.Pods+1 > most.Value() {
		return v1.ResourcePods, short(v1.ResourcePods, 1, room.Pods, most.Value()), true
	}
	asked := requests(pod)
	for _, name := range counted {
		want, taken, has := amount(name, asked), amount(name, room.Requested), amount(name, room.Allocatable)
		if want > 0 && want+taken > has {
			return name, short(name, want, taken, has), true
		}
	}
	return "", "", false
}

// requests is what a pod asks for of what is counted.
func requests(pod *v1.Pod) v1.ResourceList {
	all := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	maps.DeleteFunc(all, func(name v1.ResourceName, q resource.Quantity) bool {
		return q.IsZero() || !slices.Contains(counted, name)
	})
	return all
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

func short(name v1.ResourceName, requested, used, capacity int64) string {
	return fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", name, requested, used, capacity)
}

// colliding are the host ports of another pod that this one wants.
func colliding(pod, other *v1.Pod) []v1.ContainerPort {
	wanted := hostPorts(pod)
	return slices.DeleteFunc(hostPorts(other), func(held v1.ContainerPort) bool {
		return !slices.ContainsFunc(wanted, func(p v1.ContainerPort) bool { return portsCollide(p, held) })
	})
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
	"net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat",
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
