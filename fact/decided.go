package fact

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// SetUp asks for the pod's volumes, cgroup and sandbox.
// Its effect comes back as SetUpDone or SetUpFailed.
type SetUp struct {
	// Attempt counts the sandboxes of the pod, from 0.
	Attempt uint32 `json:"attempt"`
}

// Start asks for a container: pull the image if needed, create, start, run the
// postStart hook. Its effect comes back as ImagePulling, ImageReady or
// ImageFailed, Created, Started or StartFailed, HookRan.
type Start struct {
	// Previous is the container that this one replaces, to be kept as the only
	// dead one; empty for a first start.
	Previous string `json:"previous,omitempty"`
}

// KillReason says on whose account a container is ended.
type KillReason string

// Why a container is killed.
const (
	KillLiveness  KillReason = "LivenessProbe"
	KillStartup   KillReason = "StartupProbe"
	KillHook      KillReason = "FailedPostStartHook"
	KillDeletion  KillReason = "Deletion"
	KillEviction  KillReason = "Eviction"
	KillDeadline  KillReason = "DeadlineExceeded"
	KillSpec      KillReason = "SpecChanged"
	KillResize    KillReason = "Resize"
	KillPodDone   KillReason = "PodFinished"    // a sidecar whose main containers ended
	KillSandbox   KillReason = "SandboxChanged" // its sandbox ended
	KillRestart   KillReason = "RestartAllContainers"
	KillPreempted KillReason = "Preemption"
	KillShutdown  KillReason = "NodeShutdown"
)

// Kill asks for the end of a container: preStop hook, stop signal, and SIGKILL
// after the grace period. Its effect comes back as HookRan and Exited.
type Kill struct {
	Reason KillReason `json:"reason"`
	// Message is kubelet's wording of the Killing event.
	Message      string `json:"message"`
	GraceSeconds int64  `json:"graceSeconds"`
	// SkipHook is set when no preStop hook may run any more.
	SkipHook bool `json:"skipHook,omitempty"`
}

// BackOff says that the next attempt has to wait. What is "container",
// "image" or "setup".
type BackOff struct {
	What    BackOffOf     `json:"what"`
	Delay   time.Duration `json:"delay"`
	Until   time.Time     `json:"until"`
	Message string        `json:"message"`
}

// Marked says that a container became ready or unready, started or not.
type Marked struct {
	Ready   bool `json:"ready"`
	Started bool `json:"started"`
}

// SetPhase moves the pod to another phase.
type SetPhase struct {
	Phase   v1.PodPhase `json:"phase"`
	Reason  string      `json:"reason,omitempty"`
	Message string      `json:"message,omitempty"`
}

// ResizeCompleted is the reason of SetCondition where PodResizeInProgress goes
// because all is as the spec wants it.
const ResizeCompleted = "Completed"

// SetCondition moves one of the pod's conditions.
type SetCondition struct {
	Condition v1.PodCondition `json:"condition"`
}

// Evict says that the pod has to go for the node's or its own storage's sake.
type Evict struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Signal  string `json:"signal"`
	// Ranking shows the order that chose it, worst first, bounded.
	Ranking []Ranked `json:"ranking,omitempty"`
	// Shortage is what the node had then; nil for a limit of the pod's own.
	Shortage *Shortage `json:"shortage,omitempty"`
}

// Ranked is a pod in the eviction order.
type Ranked struct {
	Pod      Pod    `json:"pod"`
	QoS      string `json:"qos"`
	Priority int32  `json:"priority"`
	Usage    int64  `json:"usage"`
	Request  int64  `json:"request"`
	// Unmeasured says that its usage is not known.
	Unmeasured bool `json:"unmeasured,omitempty"`
}

// Resize asks for new resources of a running container; without a container, of
// the pod as a whole (spec.resources).
type Resize struct {
	Resources v1.ResourceRequirements `json:"resources"`
	// PodLimits are what a container has where it has no limit of its own.
	PodLimits v1.ResourceList `json:"podLimits,omitempty"`
	// Restart is set where the container gets them by a restart: the node only says
	// whether there is room.
	Restart bool `json:"restart,omitempty"`
}

// Remove asks for the removal of a dead container that is no longer needed.
type Remove struct {
	ContainerID string `json:"containerID"`
}

// TearDown asks for the end of sandbox, volumes and cgroup; containers are gone.
// Its effect comes back as TornDown.
type TearDown struct{}

// Release asks the API server to remove the object: nothing of the pod is left
// on the node. Its effect comes back as ObjectGone.
type Release struct{}

func (SetUp) Kind() Kind        { return "SetUp" }
func (Start) Kind() Kind        { return "Start" }
func (Kill) Kind() Kind         { return "Kill" }
func (BackOff) Kind() Kind      { return "BackOff" }
func (Marked) Kind() Kind       { return "Marked" }
func (SetPhase) Kind() Kind     { return "SetPhase" }
func (SetCondition) Kind() Kind { return "SetCondition" }
func (Evict) Kind() Kind        { return "Evict" }
func (Resize) Kind() Kind       { return "Resize" }
func (Remove) Kind() Kind       { return "Remove" }
func (TearDown) Kind() Kind     { return "TearDown" }
func (Release) Kind() Kind      { return "Release" }

func (SetUp) decided()        {}
func (Start) decided()        {}
func (Kill) decided()         {}
func (BackOff) decided()      {}
func (Marked) decided()       {}
func (SetPhase) decided()     {}
func (SetCondition) decided() {}
func (Evict) decided()        {}
func (Resize) decided()       {}
func (Remove) decided()       {}
func (TearDown) decided()     {}
func (Release) decided()      {}
