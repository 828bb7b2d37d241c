package runtime

import (
	"fmt"
	"time"
)

// EventKind names a change in containerd's life.
type EventKind string

const (
	// Started: a new containerd answers.
	Started EventKind = "Started"
	// Adopted: a containerd that an earlier agent started answers, and is kept.
	Adopted EventKind = "Adopted"
	// Replaced: a containerd that an earlier agent started was ended, because
	// its binary, configuration or network namespace is not the present one, or
	// because it does not answer. Containers are not touched by it.
	Replaced EventKind = "Replaced"
	// Exited: containerd ended without being told to, or was ended for not answering.
	Exited EventKind = "Exited"
	// StartFailed: a start did not succeed; another follows after Delay.
	StartFailed EventKind = "StartFailed"
)

// Event is one change in containerd's life.
type Event struct {
	Kind EventKind
	// PID is containerd's process, 0 where there is none.
	PID int
	// Err says why it ended or did not start, or why it was replaced.
	Err error
	// Delay is how long the supervisor waits before it starts the next one.
	Delay time.Duration
}

func (e Event) String() string {
	s := fmt.Sprintf("containerd %s", e.Kind)
	if e.PID != 0 {
		s += fmt.Sprintf(" pid=%d", e.PID)
	}
	if e.Err != nil {
		s += fmt.Sprintf(": %v", e.Err)
	}
	if e.Delay > 0 {
		s += fmt.Sprintf("; next start in %s", e.Delay)
	}
	return s
}
