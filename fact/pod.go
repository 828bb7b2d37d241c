package fact

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// SpecSeen says how the pod looks to the API server (or in its static file):
// written when the pod is first seen, and whenever its spec, its deletion or
// the parts of its metadata that matter change.
type SpecSeen struct {
	// Object is the pod without status and without managed fields.
	Object *v1.Pod `json:"object"`
	// By is the field manager that made the change, where managed fields say so.
	By string `json:"by,omitempty"`
	// Changed are the fields that differ from the spec seen before, as paths
	// (spec.containers[web].image), bounded; empty when it was seen first.
	Changed []string     `json:"changed,omitempty"`
	Source  ConfigSource `json:"source"`
}

// ConditionsSeen carries the conditions that somebody other than this node set
// on the pod: readiness gates, DisruptionTarget, PodScheduled.
type ConditionsSeen struct {
	Conditions []v1.PodCondition `json:"conditions"`
}

// DeletionSeen says that the pod is to go: it was deleted through the API, its
// static file vanished, or the API server no longer knows it.
type DeletionSeen struct {
	// GraceSeconds is how long its containers may take to end.
	GraceSeconds int64 `json:"graceSeconds"`
	// By is who deleted it, where managed fields or the audit say so.
	By string `json:"by,omitempty"`
	// Gone is set when the object no longer exists: there is no status to report to.
	Gone bool `json:"gone,omitempty"`
	// Reason is set when something other than a person or controller asks for the
	// end: "Preempted", "TaintManager"…
	Reason string `json:"reason,omitempty"`
}

// Requested says who had the API server delete or evict the pod. A control plane that runs
// beside the node tells, or a webhook; Fact.At is when it got the request.
type Requested struct {
	Verb string `json:"verb"` // delete or evict
	// User is who asked, As whom they acted for, Agent what their client calls itself.
	User  string `json:"user"`
	As    string `json:"as,omitempty"`
	Agent string `json:"agent,omitempty"`
	// Asked is set where the request was seen before it was decided: one that was refused
	// looks the same.
	Asked bool `json:"asked,omitempty"`
}

// Admitted says that the node took the pod in, Refused that it did not.
type Admitted struct {
	// HostIP is the node's address, which the status names from here on.
	HostIP string `json:"hostIP,omitempty"`
	// Room is the RoomSeen that it was decided by; 0 where it was observed.
	Room ID `json:"room,omitempty"`
}

// Refused carries the words of the admission check, which become the status of
// the pod (phase Failed).
type Refused struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Room is the RoomSeen that it was decided by, Holders who holds what is missing.
	Room    ID       `json:"room,omitempty"`
	Holders []Holder `json:"holders,omitempty"`
}

// AdoptedStatus is what the API server knew of the pod when an agent without
// journal met it: the only memory left, and used only then.
type AdoptedStatus struct {
	Status v1.PodStatus `json:"status"`
}

// SetUpDone says that volumes, cgroup and sandbox stand, and containers can start.
type SetUpDone struct {
	SandboxID string   `json:"sandboxID"`
	IPs       []string `json:"ips,omitempty"`
	HostIPs   []string `json:"hostIPs,omitempty"`
	// Attempt counts the sandboxes of the pod, from 0.
	Attempt uint32        `json:"attempt"`
	Took    time.Duration `json:"took"`
}

// SetUpFailed says which step failed; the agent tries again when health says so.
type SetUpFailed struct {
	// Stage is "volumes", "cgroup", "sandbox" or "config".
	Stage string `json:"stage"`
	// Reason is the reason kubelet gives the event: FailedMount, FailedCreatePodSandBox…
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// SandboxLost says that the sandbox ended or vanished without having been told to.
type SandboxLost struct {
	SandboxID string `json:"sandboxID"`
	Message   string `json:"message,omitempty"`
}

// TornDown says that sandbox, volumes and cgroup of the pod are gone.
type TornDown struct{}

// ObjectGone says that the API object was removed: the pod's last fact.
type ObjectGone struct{}

// Resized says that a Resize took effect, or with Restart that it may.
type Resized struct {
	Resources v1.ResourceRequirements `json:"resources"`
	PodLimits v1.ResourceList         `json:"podLimits,omitempty"`
	Restart   bool                    `json:"restart,omitempty"`
}

// ResizeFailed says why they did not: for want of room (Reason is Deferred or
// Infeasible), which is decided, or because the runtime could not (Error).
type ResizeFailed struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Room is the RoomSeen that it was decided by, Holders who holds what is missing.
	Room    ID       `json:"room,omitempty"`
	Holders []Holder `json:"holders,omitempty"`
}

// EvictionNeeded says that the pod must go for a reason found outside it: node
// pressure, or a local storage limit of its own. Message is kubelet's wording.
type EvictionNeeded struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Signal is the node signal (memory.available…) or the pod's own limit
	// (emptydir, ephemeral-storage…).
	Signal string `json:"signal"`
	// GraceSeconds overrides the pod's grace period when not negative.
	GraceSeconds int64 `json:"graceSeconds"`
	// Ranking is the order that chose the pod for node pressure, worst first,
	// bounded; empty for a limit of the pod's own.
	Ranking []Ranked `json:"ranking,omitempty"`
	// Shortage is what the node had then; nil for a limit of the pod's own.
	Shortage *Shortage `json:"shortage,omitempty"`
}

// NodeShutdown says that the machine is about to shut down, or without a pod's name that it
// told the node so. The pod has to end before the machine does.
type NodeShutdown struct {
	// GraceSeconds is how long the pod may take; of the node's fact how long all may together.
	GraceSeconds int64 `json:"graceSeconds,omitempty"`
	// Cancelled is set where the machine stays up after all; only of the node's fact.
	Cancelled bool `json:"cancelled,omitempty"`
}

// ShutdownReason is the reason of a pod's end or refusal because its node shuts down, as
// kubelet has it (nodeshutdown_manager.go).
const ShutdownReason = "NodeShutdown"

// Shortage is how much a node had of what ran short, in the unit of the signal:
// bytes, inodes or processes.
type Shortage struct {
	Available int64 `json:"available"`
	Capacity  int64 `json:"capacity"`
	Threshold int64 `json:"threshold"`
	// Pods is what all pods together were last measured to use of it.
	Pods int64 `json:"pods"`
}

// ReferenceChanged says that an object which the pod refers to (a ConfigMap, a
// Secret, a claim) appeared, changed or went: what failed for want of it is worth
// another attempt. (Agents before RoomMade also said it when another pod made room.)
type ReferenceChanged struct{}

// ConfigChanged says that a ConfigMap or Secret which the pod refers to has other
// contents than before. Its values are not kept.
type ConfigChanged struct {
	Object string `json:"object"` // ConfigMap or Secret
	Name   string `json:"name"`
	// By is the field manager that made the change, where managed fields say so.
	By string `json:"by,omitempty"`
	// Keys are those that were added, changed or removed, sorted, bounded.
	Keys []string `json:"keys,omitempty"`
}

// TimePassed is the tick of the pod's clock: written only when it led to a
// decision, so that a replay sees the same time pass.
type TimePassed struct{}

func (SpecSeen) Kind() Kind         { return "SpecSeen" }
func (ConditionsSeen) Kind() Kind   { return "ConditionsSeen" }
func (DeletionSeen) Kind() Kind     { return "DeletionSeen" }
func (Requested) Kind() Kind        { return "Requested" }
func (Admitted) Kind() Kind         { return "Admitted" }
func (Refused) Kind() Kind          { return "Refused" }
func (AdoptedStatus) Kind() Kind    { return "AdoptedStatus" }
func (SetUpDone) Kind() Kind        { return "SetUpDone" }
func (SetUpFailed) Kind() Kind      { return "SetUpFailed" }
func (SandboxLost) Kind() Kind      { return "SandboxLost" }
func (TornDown) Kind() Kind         { return "TornDown" }
func (ObjectGone) Kind() Kind       { return "ObjectGone" }
func (Resized) Kind() Kind          { return "Resized" }
func (ResizeFailed) Kind() Kind     { return "ResizeFailed" }
func (EvictionNeeded) Kind() Kind   { return "EvictionNeeded" }
func (NodeShutdown) Kind() Kind     { return "NodeShutdown" }
func (TimePassed) Kind() Kind       { return "TimePassed" }
func (ReferenceChanged) Kind() Kind { return "ReferenceChanged" }

func (SpecSeen) observed()         {}
func (ConditionsSeen) observed()   {}
func (DeletionSeen) observed()     {}
func (Requested) observed()        {}
func (Admitted) observed()         {}
func (Refused) observed()          {}
func (AdoptedStatus) observed()    {}
func (SetUpDone) observed()        {}
func (SetUpFailed) observed()      {}
func (SandboxLost) observed()      {}
func (TornDown) observed()         {}
func (ObjectGone) observed()       {}
func (Resized) observed()          {}
func (ResizeFailed) observed()     {}
func (EvictionNeeded) observed()   {}
func (NodeShutdown) observed()     {}
func (TimePassed) observed()       {}
func (ReferenceChanged) observed() {}

func (ConfigChanged) Kind() Kind { return "ConfigChanged" }
func (ConfigChanged) observed()  {}
