package fact

import "time"

// ProcessEnded says how one process of a container ended, by the kernel's own
// wait status. Processes that end well and lived shortly are not told.
type ProcessEnded struct {
	PID     int    `json:"pid"`
	Parent  int    `json:"parent,omitempty"`
	Command string `json:"command,omitempty"`
	// Main is set for the container's main process.
	Main bool `json:"main,omitempty"`
	// Signal is what ended it; 0 when it ended by itself, with ExitCode.
	Signal     int32 `json:"signal,omitempty"`
	ExitCode   int32 `json:"exitCode"`
	CoreDumped bool  `json:"coreDumped,omitempty"`
	// Lived is how long it ran; 0 where nobody saw it begin.
	Lived time.Duration `json:"lived,omitempty"`
	// Alike is how many more processes of the container ended in the same way (same
	// command and status) since the last such fact; they are only counted.
	Alike int64 `json:"alike,omitempty"`
}

// SignalOrigin says where a signal came from.
type SignalOrigin string

// The origins of signals.
const (
	// FromNode is the container runtime. What it does on the node's order is told by
	// the decision: a signal of this origin is one that somebody else ordered.
	FromNode SignalOrigin = "node"
	// FromContainer is a process of a pod: of the same container or another.
	FromContainer SignalOrigin = "container"
	// FromHost is a process of the machine that belongs to no pod.
	FromHost SignalOrigin = "host"
	// FromKernel is the kernel itself, its OOM killer above all.
	FromKernel SignalOrigin = "kernel"
)

// Signalled says that a signal which may end it was sent to a process of a container,
// and by whom: SIGKILL, SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1 or SIGUSR2.
type Signalled struct {
	Signal  int32  `json:"signal"`
	PID     int    `json:"pid"` // the receiver
	Command string `json:"command,omitempty"`
	// Main is set when the receiver is the container's main process.
	Main bool `json:"main,omitempty"`

	Origin        SignalOrigin `json:"origin"`
	SenderPID     int          `json:"senderPID,omitempty"`
	SenderCommand string       `json:"senderCommand,omitempty"`
	// SenderPod and SenderContainer are set when the origin is a container that
	// this node knows.
	SenderPod       *Pod   `json:"senderPod,omitempty"`
	SenderContainer string `json:"senderContainer,omitempty"`
	// SenderStray is set when the sender does not descend from its container's main
	// process: somebody put it there, as kubectl exec, a probe or a hook does.
	SenderStray bool `json:"senderStray,omitempty"`
}

func (ProcessEnded) Kind() Kind { return "ProcessEnded" }
func (Signalled) Kind() Kind    { return "Signalled" }

func (ProcessEnded) observed() {}
func (Signalled) observed()    {}
