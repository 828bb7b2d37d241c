package fact

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// ImagePulling says that a pull began.
type ImagePulling struct {
	Image string `json:"image"`
}

// ImageReady says that the image of a container is on the node.
type ImageReady struct {
	Image string `json:"image"`
	// Present is set when it was there already and nothing was pulled.
	Present bool          `json:"present,omitempty"`
	Took    time.Duration `json:"took,omitempty"`
	// Waited includes the time spent behind other pulls.
	Waited time.Duration `json:"waited,omitempty"`
	Bytes  int64         `json:"bytes,omitempty"`
}

// ImageFailed says why there is no image.
type ImageFailed struct {
	Image string `json:"image"`
	// Reason is the waiting reason of Kubernetes: ErrImagePull, ErrImageNeverPull,
	// InvalidImageName, ImageInspectError, RegistryUnavailable…
	Reason string `json:"reason"`
	// Message has the registry's or the runtime's own words.
	Message string `json:"message"`
	// OnNode is set when the node has an image of that name, and only the pull policy
	// Always sent it to the registry.
	OnNode bool `json:"onNode,omitempty"`
}

// Created says that the runtime made the container; it does not run yet.
type Created struct {
	ContainerID string `json:"containerID"` // with the runtime's scheme: containerd://…
	Image       string `json:"image,omitempty"`
	ImageID     string `json:"imageID,omitempty"`
}

// Started says that the main process runs. Fact.At is the runtime's start time.
type Started struct {
	ContainerID string `json:"containerID"`
	// PID is the main process on the host, 0 where the runtime does not say.
	PID          int                      `json:"pid,omitempty"`
	Image        string                   `json:"image,omitempty"`
	ImageID      string                   `json:"imageID,omitempty"`
	Resources    *v1.ResourceRequirements `json:"resources,omitempty"`
	User         *v1.ContainerUser        `json:"user,omitempty"`
	VolumeMounts []v1.VolumeMountStatus   `json:"volumeMounts,omitempty"`
	StopSignal   *v1.Signal               `json:"stopSignal,omitempty"`
	// Adopted is set when an earlier agent started it, and this one found it running.
	Adopted bool `json:"adopted,omitempty"`
	// Compared says that its variables were compared with those of the run before, and
	// OtherVariables names those that differ, sorted, bounded. Their values are not kept.
	Compared       bool     `json:"compared,omitempty"`
	OtherVariables []string `json:"otherVariables,omitempty"`
}

// StartFailed says that the container could not be made or started.
type StartFailed struct {
	// Reason is the waiting reason of Kubernetes: CreateContainerConfigError,
	// CreateContainerError, RunContainerError, PreCreateHookError…
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// ContainerID is set when it was created but did not start; ExitCode and
	// Exited are set when the runtime left an ended container behind (128, 127…).
	ContainerID string `json:"containerID,omitempty"`
	Exited      bool   `json:"exited,omitempty"`
	ExitCode    int32  `json:"exitCode,omitempty"`
}

// MostLastLines and MostLastBytes are how much is kept of the end of a log.
const MostLastLines, MostLastBytes = 10, 1 << 10

// Exited says that the main process ended. Fact.At is the runtime's finish time.
type Exited struct {
	ContainerID string `json:"containerID"`
	ExitCode    int32  `json:"exitCode"`
	Signal      int32  `json:"signal,omitempty"` // only when the kernel told; never derived from 128+n
	// StatusKnown is set when the kernel's own wait status of the main process was
	// seen: without Signal, ExitCode is then what it gave exit(2), 137 and 143 too.
	StatusKnown bool      `json:"statusKnown,omitempty"`
	StartedAt   time.Time `json:"startedAt,omitzero"`
	// RuntimeReason is the runtime's own word (Completed, Error, OOMKilled,
	// ContainerStatusUnknown). It is evidence, not truth: see law 5.
	RuntimeReason string `json:"runtimeReason,omitempty"`
	// Message is what the container wrote to its termination log.
	Message string `json:"message,omitempty"`
	// LastLines are the last lines of its log, oldest first: at most [MostLastLines] and
	// [MostLastBytes] together, without what looks like a secret. The frames of a stack trace give way to
	// the reason above it. Empty also where nobody kept them.
	LastLines []string `json:"lastLines,omitempty"`
	// LastLinesAt is when the runtime wrote each of LastLines down; none where that is not
	// known, or where all were said within the last 5 s before the end.
	LastLinesAt []time.Time `json:"lastLinesAt,omitempty"`
	// LogEnd is the end of the log of a run that failed, as it is, where that is more than LastLines: who reads it
	// later may choose other lines than who kept those.
	LogEnd *LogEnd `json:"logEnd,omitempty"`
	// OOMKills counts the kernel's OOM kills in the container's cgroup while it
	// ran; MainOOMKilled is set when the main process was among the victims.
	// OOMKnown is false where nobody could look.
	OOMKnown      bool  `json:"oomKnown,omitempty"`
	OOMKills      int64 `json:"oomKills,omitempty"`
	MainOOMKilled bool  `json:"mainOOMKilled,omitempty"`
	// ByKernel is set when the kernel itself was seen to send the main process its
	// SIGKILL: its OOM killer, or a limit of CPU time (RLIMIT_CPU).
	ByKernel bool `json:"byKernel,omitempty"`
	// Vanished is set when the container is gone without a trace, so that no exit
	// code is known (kubelet reports 137, ContainerStatusUnknown).
	Vanished bool `json:"vanished,omitempty"`
}

// atTheEnd is how long before its end what a container said needs no time of its own.
const atTheEnd = 5 * time.Second

// Say takes the last lines of its log, and when each was written down; at is nil where that
// is not known.
func (b *Exited) Say(lines []string, at []time.Time, end time.Time) {
	b.LastLines, b.LastLinesAt = lines, nil
	if len(at) > 0 && len(at) == len(lines) && !at[0].After(end.Add(-atTheEnd)) {
		b.LastLinesAt = at
	}
}

// HookKind is a lifecycle hook.
type HookKind string

// The lifecycle hooks of Kubernetes.
const (
	PostStart HookKind = "PostStart"
	PreStop   HookKind = "PreStop"
)

// HookRan says how a lifecycle hook went. Error is empty when it succeeded.
type HookRan struct {
	Hook    HookKind      `json:"hook"`
	Took    time.Duration `json:"took"`
	Error   string        `json:"error,omitempty"`
	Timeout bool          `json:"timeout,omitempty"`
}

// KillFailed says that the runtime could not end a container; it is asked again.
type KillFailed struct {
	Message string `json:"message"`
}

// Removed says that a dead container was removed from the runtime.
type Removed struct {
	ContainerID string `json:"containerID"`
}

func (ImagePulling) Kind() Kind { return "ImagePulling" }
func (ImageReady) Kind() Kind   { return "ImageReady" }
func (ImageFailed) Kind() Kind  { return "ImageFailed" }
func (Created) Kind() Kind      { return "Created" }
func (Started) Kind() Kind      { return "Started" }
func (StartFailed) Kind() Kind  { return "StartFailed" }
func (Exited) Kind() Kind       { return "Exited" }
func (HookRan) Kind() Kind      { return "HookRan" }
func (KillFailed) Kind() Kind   { return "KillFailed" }
func (Removed) Kind() Kind      { return "Removed" }

func (ImagePulling) observed() {}
func (ImageReady) observed()   {}
func (ImageFailed) observed()  {}
func (Created) observed()      {}
func (Started) observed()      {}
func (StartFailed) observed()  {}
func (Exited) observed()       {}
func (HookRan) observed()      {}
func (KillFailed) observed()   {}
func (Removed) observed()      {}

// TakesVariables says whether a container takes variables from ConfigMaps or Secrets.
func TakesVariables(c *v1.Container) bool {
	return c != nil && (len(c.EnvFrom) > 0 || slices.ContainsFunc(c.Env, func(e v1.EnvVar) bool {
		return e.ValueFrom != nil && (e.ValueFrom.ConfigMapKeyRef != nil || e.ValueFrom.SecretKeyRef != nil)
	}))
}
