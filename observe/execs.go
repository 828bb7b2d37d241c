package observe

import (
	"sync"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// execs remembers how commands ended that were run in containers: kubelet tells what a
// probe's command said, and not its exit code. Safe for concurrent use.
type execs struct {
	mu  sync.Mutex
	all map[string][]execEnd // by container id
}

type execEnd struct {
	code int32
	at   time.Time
}

// mostExecs bounds what is remembered of one container, mostExecIn of how many.
const (
	mostExecs  = 64
	mostExecIn = 1024
)

func (e *execs) ended(id string, code int32, at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil || len(e.all) > mostExecIn {
		e.all = map[string][]execEnd{}
	}
	list := append(e.all[id], execEnd{code, at})
	e.all[id] = list[max(0, len(list)-mostExecs):]
}

// code is the one with which the commands ended that failed between two moments, which
// are known to the second; ok is false where they differ: then they are not all a
// probe's.
func (e *execs) code(id string, from, to time.Time) (code int32, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, one := range e.all[id] {
		switch {
		case one.code == 0, one.at.Before(from.Add(-second)), one.at.After(to.Add(second)):
		case !ok:
			code, ok = one.code, true
		case one.code != code:
			return 0, false
		}
	}
	return code, ok
}

// withCode adds to a failed attempt by command how the command ended, where that was
// seen and no other probe of the container is by command.
func (e *execs) withCode(b fact.Probed, pod pods.Pod, id, container string, from, to time.Time) fact.Probed {
	ev := b.Evidence
	if ev == nil || ev.Handler != fact.Exec || ev.ExitCode != nil || ev.Timeout || b.Verdict != fact.Failure {
		return b
	}
	byCommand := 0
	for _, kind := range []fact.ProbeKind{fact.Startup, fact.Liveness, fact.Readiness} {
		if p := probeOf(pod, container, kind); p != nil && p.Exec != nil {
			byCommand++
		}
	}
	if code, ok := e.code(id, from, to); ok && byCommand == 1 {
		exit := int(code)
		ev.ExitCode = &exit
	}
	return b
}
