package health

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
)

// oomVictim is a process of the container that the kernel's OOM killer ended.
type oomVictim struct {
	PID     int    `json:"pid"`
	Command string `json:"command,omitempty"`
	Main    bool   `json:"main,omitempty"`
	Limit   int64  `json:"limit,omitempty"` // bytes, 0 where the kernel did not say
	// Scope is whose limit that is; empty where it is not known, and in checkpoints of
	// agents that did not ask.
	Scope fact.Scope `json:"scope,omitempty"`
	At    time.Time  `json:"at"`
	Fact  fact.ID    `json:"fact"`
}

// keptVictims bounds how many OOM kills of one run are remembered: the first
// ones explain little that the last does not.
const keptVictims = 8

func (t *turn) oomKilled(c *container, b fact.OOMKilled) {
	v := oomVictim{PID: b.PID, Command: b.Command, Main: b.Main, Limit: b.Limit, Scope: b.Scope(t.Object, c.Name), At: t.when(), Fact: t.fact.ID}
	switch {
	case c.Run.ID != "" && t.fact.Attempt == c.Attempt:
		c.Run.OOMs = withVictim(c.Run.OOMs, v)
	case t.underWay(c):
		c.Early = withVictim(c.Early, v)
	}
	if c.Run.Ended != nil && t.fact.Attempt == c.Attempt {
		c.Run.Ended = t.terminated(c, c.Run.Exit) // the kernel's record came after the runtime's
	}
}

// withVictim gives a new list, for the old one belongs to the state before.
func withVictim(kept []oomVictim, v oomVictim) []oomVictim {
	if len(kept) >= keptVictims {
		kept = kept[1:]
	}
	return append(append([]oomVictim(nil), kept...), v)
}

// endReason is the reason of an end as Kubernetes knows it. Law 5: the runtime
// says OOMKilled once any process of the container was OOM-killed at any time
// (and containerd says so with exit code 0). Here the OOM killer is named only
// where it ended the container: it took the main process, or a child whose end
// the main process followed at once with an error of its own. Where nobody could
// look, the runtime's word is taken if the exit code agrees.
func (c *container) endReason(b fact.Exited) string {
	switch {
	case b.MainOOMKilled, b.ExitCode != 0 && c.endedByOOM():
		return "OOMKilled"
	case !b.OOMKnown && b.RuntimeReason == "OOMKilled" && b.ExitCode == 137:
		return "OOMKilled"
	case b.RuntimeReason != "" && b.RuntimeReason != "OOMKilled":
		return b.RuntimeReason
	case b.ExitCode == 0:
		return "Completed"
	}
	return "Error"
}

// endedByOOM says whether an OOM kill was seen that this end follows from.
func (c *container) endedByOOM() bool {
	v := c.lastVictim()
	if v == nil {
		return false
	}
	return v.Main || c.Run.Killed == nil && c.Run.FinishedAt.Sub(v.At).Abs() <= fact.OOMFollowedWithin
}

func (c *container) lastVictim() *oomVictim {
	if n := len(c.Run.OOMs); n > 0 {
		return &c.Run.OOMs[n-1]
	}
	return nil
}

// endCause says in one sentence what ended a container that left no message
// itself; empty where its exit code says all that is known.
func (c *container) endCause(b fact.Exited) string {
	v := c.lastVictim()
	switch {
	case v != nil && v.Main:
		return fmt.Sprintf("The main process (%s) was OOM-killed%s.", v.name(), v.at())
	case b.MainOOMKilled:
		return "The main process was OOM-killed."
	case c.Run.Killed != nil:
		return c.killCause(b)
	case v != nil:
		return fmt.Sprintf("A child process (%s) was OOM-killed%s %s; the main process then exited with code %d.",
			v.name(), v.at(), ago(c.Run.FinishedAt.Sub(v.At)), b.ExitCode)
	case b.Signal != 0:
		return fmt.Sprintf("The main process was ended by signal %d%s.", b.Signal, inBrackets(b.Signal))
	}
	return ""
}

// inBrackets is a signal's name behind its number, where it has one.
func inBrackets(signal int32) string {
	if name, ok := fact.SignalNames[signal]; ok {
		return " (" + name + ")"
	}
	return ""
}

// killCause says on whose account the node ended the container, and how it went.
func (c *container) killCause(b fact.Exited) string {
	k := c.Run.Killed
	grace := time.Duration(k.Grace) * time.Second
	if b.ExitCode == 137 && c.Run.FinishedAt.Sub(k.At) >= grace {
		return fmt.Sprintf("Ended by the node: %s; the process was still there after its grace period of %d s, and was killed.", k.Cause, k.Grace)
	}
	text := fmt.Sprintf("Ended by the node: %s; the process then exited with code %d.", k.Cause, b.ExitCode)
	if v := c.lastVictim(); v != nil {
		text += fmt.Sprintf(" A child process (%s) had been OOM-killed%s %s.", v.name(), v.at(), ago(c.Run.FinishedAt.Sub(v.At)))
	}
	return text
}

func (v *oomVictim) name() string {
	switch {
	case v.PID == 0:
		return "which one is not known"
	case v.Command == "":
		return fmt.Sprintf("pid %d", v.PID)
	}
	return fmt.Sprintf("pid %d, %s", v.PID, v.Command)
}

// at words whose memory had run out.
func (v *oomVictim) at() string {
	limit := resource.NewQuantity(v.Limit, resource.BinarySI).String() + " limit"
	switch {
	case v.Scope == fact.OfMachine:
		return " because the node had run out of memory"
	case v.Limit == 0:
		return ""
	case v.Scope == fact.OfContainer:
		return " at its " + limit
	case v.Scope == fact.OfPod:
		return " at the pod's " + limit
	case v.Scope == fact.OfAllPods:
		return " at the " + limit + " of all pods together"
	}
	return " at a " + limit
}

// ago words a time before as a person would.
func ago(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return "right before"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s before", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s before", int(d.Seconds()))
	}
	return d.Round(time.Second).String() + " before"
}
