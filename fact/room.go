package fact

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// RoomSeen is what a node had left when it met the pod, or when the pod wanted other
// resources than it has: what the decisions [Admitted], [Refused] and [ResizeFailed]
// rest on. Node and Allocatable are empty while the Node object is not known.
type RoomSeen struct {
	Node   string `json:"node,omitempty"`
	HostIP string `json:"hostIP,omitempty"`
	// Labels are the node's, for a pod that chooses its node by them.
	Labels map[string]string `json:"labels,omitempty"`
	// Conditions are the pressures that the node was under, sorted.
	Conditions []v1.NodeConditionType `json:"conditions,omitempty"`
	// ShuttingDown is set while the machine is about to shut down.
	ShuttingDown bool `json:"shuttingDown,omitempty"`
	// Allocatable is what the node gives its pods, Requested what the others asked for
	// together, of CPU, memory and ephemeral storage; Pods is how many there are. One
	// that waits for a resize counts with what it wants: several that are tried at once
	// must not be given the same room.
	Allocatable v1.ResourceList `json:"allocatable,omitempty"`
	Requested   v1.ResourceList `json:"requested,omitempty"`
	Pods        int64           `json:"pods,omitempty"`
	// Holders are others that hold what this pod does not get: the host ports that it
	// wants, or the most of what there is too little of, most first, bounded.
	Holders []Holder `json:"holders,omitempty"`
}

// Holder is a pod that holds room on the node.
type Holder struct {
	Pod      Pod                `json:"pod"`
	Requests v1.ResourceList    `json:"requests,omitempty"`
	Ports    []v1.ContainerPort `json:"ports,omitempty"`
}

// RoomMade says that another pod of the node made room: it ended, or was given other
// resources. What waits for room is worth another look. Because names the fact.
type RoomMade struct {
	By Pod `json:"by"`
}

// PressuresIn are the conditions of a node for which it refused a pod, by the message of the
// pod's status; nil: it failed for something else. The reason there is "Evicted", though the
// pod was never let in (pkg/kubelet/eviction/helpers.go, nodeConditionMessageFmt).
func PressuresIn(message string) []v1.NodeConditionType {
	_, rest, ok := strings.Cut(message, "The node had condition: [")
	list, _, closed := strings.Cut(rest, "]")
	if !ok || !closed {
		return nil
	}
	var all []v1.NodeConditionType
	for name := range strings.FieldsSeq(list) {
		all = append(all, v1.NodeConditionType(name))
	}
	return all
}

func (RoomSeen) Kind() Kind { return "RoomSeen" }
func (RoomMade) Kind() Kind { return "RoomMade" }

func (RoomSeen) observed() {}
func (RoomMade) observed() {}

// judged are the answers to a pod, or to a resize, that are decided where they name
// the room that was seen ([RoomSeen]). Without one they were observed: what runs
// already when an agent without a journal meets it was admitted by an earlier one,
// the runtime may fail to resize, and agents before RoomSeen wrote them down so.
type judged interface{ judgedBy() ID }

func (b Admitted) judgedBy() ID     { return b.Room }
func (b Refused) judgedBy() ID      { return b.Room }
func (b ResizeFailed) judgedBy() ID { return b.Room }

func (Admitted) decided()     {}
func (Refused) decided()      {}
func (ResizeFailed) decided() {}
