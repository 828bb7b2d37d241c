package report

import (
	"fmt"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/probe"
)

// The reasons of the events that kubelet has not (docs/differences.md).
const (
	reasonOOMKilling    = "OOMKilling"
	reasonContainerDied = "ContainerDied"
	reasonProbeAnswered = "ProbeAnswered"
)

// extraEvents are about what kubelet sees and does not say, or does not see: a
// process that was OOM-killed, a container that died, who answered a probe that
// failed. The messages hold nothing that differs from one time to the next, so
// that the API server counts them instead of keeping each.
func extraEvents(pod *v1.Pod, f fact.Fact) []event {
	switch b := f.Body.(type) {
	case fact.OOMKilled:
		if f.Container != "" {
			return []event{warning(reasonOOMKilling, "%s", oomMessage(pod, f.Container, b))}
		}
	case fact.Exited:
		// Of an end that the node ordered, the Killing event tells.
		if len(f.Because) == 0 && (b.ExitCode != 0 || b.Vanished) {
			return []event{warning(reasonContainerDied, "%s", deathMessage(b))}
		}
	case fact.Probed:
		if who := answeredBy(b); who != "" && b.Verdict == fact.Failure {
			return []event{warning(reasonProbeAnswered, "%s probe: the %d was answered by %s", b.Probe, b.Evidence.Status, who)}
		}
	}
	return nil
}

// oomMessage says which process was killed, and whose memory had run out.
func oomMessage(pod *v1.Pod, container string, b fact.OOMKilled) string {
	who := fmt.Sprintf("A child process (%s) of the container was OOM-killed", b.Command)
	if b.Main {
		who = fmt.Sprintf("The container's main process (%s) was OOM-killed", b.Command)
	}
	if b.Group {
		who += " together with all others (memory.oom.group)"
	}
	who += " by the kernel: " + oomLimit(pod, container, b)
	if !b.Main && !b.Group {
		who += ". Its main process was not killed: if the container lives on, it does so without that process"
	}
	return who
}

// oomLimit says whose memory had run out.
func oomLimit(pod *v1.Pod, container string, b fact.OOMKilled) string {
	limit := ""
	if b.Limit > 0 {
		limit = " of " + resource.NewQuantity(b.Limit, resource.BinarySI).String()
	}
	switch b.Scope(pod, container) {
	case fact.OfMachine:
		return "the node had run out of memory"
	case fact.OfContainer:
		return "the container had reached its memory limit" + limit
	case fact.OfPod:
		return "the pod's containers together had reached the pod's memory limit" + limit
	case fact.OfAllPods:
		return "all pods together had reached what the node has for them" + limit
	}
	return "a memory limit" + limit + " was reached"
}

// deathMessage says in a sentence how a container ended that nobody asked to.
func deathMessage(b fact.Exited) string {
	switch {
	case b.Vanished:
		return "The container is gone without a trace; how it ended is not known"
	case b.MainOOMKilled:
		return "The container died: its main process was OOM-killed"
	case b.Signal != 0:
		return fmt.Sprintf("The container died: its main process was ended by signal %d", b.Signal)
	case b.OOMKills > 0:
		return fmt.Sprintf("The container died: its main process exited with code %d after %s of it had been OOM-killed", b.ExitCode, children(b.OOMKills))
	case b.StatusKnown:
		return fmt.Sprintf("The container died: its main process exited by itself with code %d", b.ExitCode)
	}
	return fmt.Sprintf("The container died with exit code %d", b.ExitCode)
}

func children(n int64) string {
	if n == 1 {
		return "a child"
	}
	return "children"
}

// answeredBy says who answered a probe, in the words of the answer's own headers;
// empty where they do not say.
func answeredBy(b fact.Probed) string {
	if b.Evidence == nil || b.Evidence.Status == 0 {
		return ""
	}
	var said []string
	for _, name := range []string{probe.AnsweredBy, "Server", "Via"} {
		if value := b.Evidence.Header[name]; value != "" {
			said = append(said, name+": "+value)
		}
	}
	return strings.Join(said, ", ")
}

// eventLimiter posts each of the extra events at most once a minute for a container:
// a probe fails every few seconds, and a worker may be killed as often.
type eventLimiter struct {
	mu   sync.Mutex
	said map[string]time.Time
}

const sayEvery = time.Minute

// worth says whether an event is to be posted.
func (s *eventLimiter) worth(pod *v1.Pod, e event) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for k, at := range s.said {
		if now.Sub(at) >= sayEvery {
			delete(s.said, k)
		}
	}
	key := strings.Join([]string{string(pod.UID), e.container, e.reason, e.message}, "\x00")
	if _, lately := s.said[key]; lately {
		return false
	}
	if s.said == nil {
		s.said = map[string]time.Time{}
	}
	s.said[key] = now
	return true
}
