package object

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is one to be recorded on the Node object.
type Event struct {
	Type    string // v1.EventTypeNormal or Warning
	Reason  string
	Message string
}

// Problems that kubelet words in one way, for State.Problems.
const (
	// RuntimeNotSeen holds until the runtime has answered for the first time.
	RuntimeNotSeen = "container runtime status check may not have completed yet"
	// NetworkNotSeen holds until it has said whether it has a network.
	NetworkNotSeen = "container runtime network not ready: network state unknown"
	// ShuttingDown holds while the machine is about to shut down.
	ShuttingDown = "node is shutting down"
)

// RuntimeDown words that the runtime does not answer, or cannot start pods; why may
// be nil or say nothing.
func RuntimeDown(why error) string {
	if why == nil || why.Error() == "" {
		return "container runtime is down"
	}
	return fmt.Sprintf("container runtime is down: %v", why)
}

// NetworkNotReady words that the runtime says that its network cannot be used;
// reason and message are the runtime's.
func NetworkNotReady(reason, message string) string {
	return fmt.Sprintf("container runtime network not ready: NetworkReady=false reason:%s message:%s", reason, message)
}

// pressure is one of the three conditions that are False when all is well.
type pressure struct {
	condition              v1.NodeConditionType
	under                  func(State) bool
	reason, message, event [2]string // of False, of True
}

// pressures has kubelet's wordings (pkg/kubelet/nodestatus/setters.go).
var pressures = []pressure{
	{
		v1.NodeMemoryPressure, func(s State) bool { return s.MemoryPressure },
		[2]string{"KubeletHasSufficientMemory", "KubeletHasInsufficientMemory"},
		[2]string{"kubelet has sufficient memory available", "kubelet has insufficient memory available"},
		[2]string{"NodeHasSufficientMemory", "NodeHasInsufficientMemory"},
	},
	{
		v1.NodeDiskPressure, func(s State) bool { return s.DiskPressure },
		[2]string{"KubeletHasNoDiskPressure", "KubeletHasDiskPressure"},
		[2]string{"kubelet has no disk pressure", "kubelet has disk pressure"},
		[2]string{"NodeHasNoDiskPressure", "NodeHasDiskPressure"},
	},
	{
		v1.NodePIDPressure, func(s State) bool { return s.PIDPressure },
		[2]string{"KubeletHasSufficientPID", "KubeletHasInsufficientPID"},
		[2]string{"kubelet has sufficient PID available", "kubelet has insufficient PID available"},
		[2]string{"NodeHasSufficientPID", "NodeHasInsufficientPID"},
	},
}

// setConditions writes the node's conditions as they are now, and gives the
// events of those that turned; a new object's Ready tells nothing, as in kubelet. Conditions that others set stay.
func setConditions(name string, status *v1.NodeStatus, s State, now metav1.Time) []Event {
	var events []Event
	tell := func(reason string) {
		events = append(events, Event{v1.EventTypeNormal, reason, fmt.Sprintf("Node %s status is now: %s", name, reason)})
	}
	for _, p := range pressures {
		i := 0
		if p.under(s) {
			i = 1
		}
		if setCondition(status, v1.NodeCondition{
			Type: p.condition, Status: truth(i == 1), Reason: p.reason[i], Message: p.message[i],
		}, now) {
			tell(p.event[i])
		}
	}
	for _, extra := range s.Conditions {
		setCondition(status, extra, now)
	}
	ready := v1.NodeCondition{Type: v1.NodeReady, Status: v1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"}
	if len(s.Problems) > 0 {
		ready.Status, ready.Reason, ready.Message = v1.ConditionFalse, "KubeletNotReady", aggregate(s.Problems)
	}
	fresh := conditionOf(status, v1.NodeReady) == nil
	if setCondition(status, ready, now) && !fresh {
		tell(map[v1.ConditionStatus]string{v1.ConditionTrue: "NodeReady", v1.ConditionFalse: "NodeNotReady"}[ready.Status])
	}
	return events
}

// aggregate words several errors as Kubernetes' aggregated errors do.
func aggregate(problems []string) string {
	if len(problems) == 1 {
		return problems[0]
	}
	return "[" + strings.Join(problems, ", ") + "]"
}

func truth(b bool) v1.ConditionStatus {
	if b {
		return v1.ConditionTrue
	}
	return v1.ConditionFalse
}

func conditionOf(status *v1.NodeStatus, kind v1.NodeConditionType) *v1.NodeCondition {
	i := slices.IndexFunc(status.Conditions, func(c v1.NodeCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &status.Conditions[i]
}

// setCondition writes one condition. Its transition time moves only when its
// status does; whether it did is returned.
func setCondition(status *v1.NodeStatus, c v1.NodeCondition, now metav1.Time) bool {
	c.LastHeartbeatTime, c.LastTransitionTime = now, now
	old := conditionOf(status, c.Type)
	if old == nil {
		status.Conditions = append(status.Conditions, c)
		return true
	}
	turned := old.Status != c.Status
	if !turned {
		c.LastTransitionTime = old.LastTransitionTime
	}
	*old = c
	return turned
}
