package record

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// attempt is what was seen of one run of a container.
type attempt struct {
	ran            bool
	ready, started []string
	end            *v1.ContainerStateTerminated
}

// track is the values that a field took, in order.
type track struct {
	name   string
	values []string
}

// shortest is how long an attempt has to last for its readiness to be compared:
// a poll and the publishing of what it found, on a machine under load.
const shortest = 4 * time.Second

// life gives the lines of one container.
func life(versions []*v1.Pod, name string) []Line {
	var attempts []attempt
	at := func(n int32) *attempt {
		for int(n) >= len(attempts) {
			attempts = append(attempts, attempt{})
		}
		return &attempts[n]
	}
	var final *v1.ContainerStatus
	for _, pod := range versions {
		c := statusOf(pod, name)
		if c == nil {
			continue
		}
		final = c
		observe(at, c)
	}
	last := versions[len(versions)-1]
	prefix := "container " + name
	if final == nil {
		return []Line{{prefix, "no status"}}
	}
	var lines []Line
	for n, a := range attempts {
		if !a.ran && a.end == nil {
			continue
		}
		key := fmt.Sprintf("%s #%d", prefix, n)
		lines = append(lines, Line{key, a.describe()})
		if readiness := a.readiness(); readiness != "" {
			lines = append(lines, Line{key + IfBoth, readiness})
		}
		if a.end != nil {
			lines = append(lines, Line{key + " message", normal(last, a.end.Message)})
		}
	}
	return append(lines, Line{prefix + " at last", atLast(last, final)})
}

// observe adds one status to the attempts it tells of.
func observe(at func(int32) *attempt, c *v1.ContainerStatus) {
	current := c.RestartCount
	switch state := c.State; {
	case state.Running != nil:
		a := at(current)
		a.ran = true
		a.ready = appendNew(a.ready, fmt.Sprint(c.Ready))
		a.started = appendNew(a.started, fmt.Sprint(c.Started != nil && *c.Started))
	case state.Terminated != nil:
		at(current).ended(state.Terminated)
	case state.Waiting != nil:
		// What waits has not begun its next attempt: the count is still the last one's.
		current++
	}
	if t := c.LastTerminationState.Terminated; t != nil && current > 0 {
		at(current - 1).ended(t)
	}
}

func (a *attempt) ended(t *v1.ContainerStateTerminated) {
	a.end = t
	a.ran = a.ran || hasRun(t)
}

func (a *attempt) describe() string {
	text := "never ran"
	if a.ran {
		text = "ran"
	}
	if a.end != nil {
		text += ", ended " + describeEnd(a.end)
	}
	return text
}

// readiness is what ready and started were, nothing for an attempt that was too short.
func (a *attempt) readiness() string {
	if !a.ran || a.end != nil && a.end.FinishedAt.Sub(a.end.StartedAt.Time) < shortest {
		return ""
	}
	var parts []string
	for _, track := range []track{{"ready", a.ready}, {"started", a.started}} {
		// False before the first true may be too short to be seen.
		if len(track.values) > 1 && track.values[0] == "false" {
			track.values = track.values[1:]
		}
		if len(track.values) > 0 {
			parts = append(parts, track.name+" "+strings.Join(track.values, "→"))
		}
	}
	return strings.Join(parts, ", ")
}

func describeEnd(t *v1.ContainerStateTerminated) string {
	text := fmt.Sprintf("%s(%d)", t.Reason, t.ExitCode)
	if t.Signal != 0 {
		text += fmt.Sprintf(" signal %d", t.Signal)
	}
	if !t.StartedAt.IsZero() && t.StartedAt.Unix() == 0 {
		text += " since 1970"
	}
	return text
}

// hasRun says whether the process came to run. kubelet tells it of one that never
// did as if it had begun at the epoch.
func hasRun(t *v1.ContainerStateTerminated) bool {
	return !t.StartedAt.IsZero() && t.StartedAt.Unix() != 0
}

// atLast describes the state that the recording ended with.
func atLast(pod *v1.Pod, c *v1.ContainerStatus) string {
	state := "no state"
	switch {
	case c.State.Waiting != nil:
		state = "waiting " + joinNonEmpty(": ", c.State.Waiting.Reason, normal(pod, c.State.Waiting.Message))
	case c.State.Running != nil:
		state = "running"
	case c.State.Terminated != nil:
		state = "terminated " + describeEnd(c.State.Terminated)
	}
	return fmt.Sprintf("%s, ready %t, started %t, restarts %d", state, c.Ready, c.Started != nil && *c.Started, c.RestartCount)
}

func statusOf(pod *v1.Pod, name string) *v1.ContainerStatus {
	for _, set := range [][]v1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range set {
			if set[i].Name == name {
				return &set[i]
			}
		}
	}
	return nil
}
