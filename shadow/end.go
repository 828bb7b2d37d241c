package shadow

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
)

// goes notes that the pod as a whole has to go: kubelet ends all that runs.
func (s *stepper) goes(reason fact.KillReason, grace int64, at time.Time) {
	if s.Going == 0 {
		s.Going, s.For, s.Grace, s.Since = s.fact.ID, reason, grace, at
	}
	for _, name := range s.names() {
		s.judge(name)
	}
}

// said takes kubelet's word about a run.
func (s *stepper) said(r Run, b fact.Said) Run {
	if b.Component != By {
		return r
	}
	switch b.Reason {
	case SaidKilling, LogKilling, LogMessage:
		r = r.ordered(s.fact, true)
		if reason, ok := reasonOf(b.Message); ok {
			r = s.told(s.fact.Container, r, reason, b)
		} else if r.Hook != 0 && b.Reason == LogKilling && s.Going == 0 {
			// kubelet says at once that the hook failed and that it ends the container.
			r = s.told(s.fact.Container, r, fact.KillHook, b)
		} else if r.Kill == "" && strings.HasPrefix(b.Message, stopping) && s.withSandbox(r.Ordered) {
			r = s.endsWithSandbox(s.fact.Container, r)
		}
	}
	return r
}

// sandboxLost takes the loss of the pod's sandbox: what kubelet ends then without another
// reason it ends for that. Its word of the ends may have come before.
func (s *stepper) sandboxLost() {
	s.Lost, s.LostAt = s.fact.ID, s.fact.When()
	for _, name := range s.names() {
		for _, r := range []Run{s.Before[name], s.Runs[name]} {
			if r.ByKubelet && r.Kill == "" && s.withSandbox(r.Ordered) {
				s.endsWithSandbox(name, r)
			}
		}
	}
}

// withSandbox says whether an end that kubelet ordered at a time belongs to the loss of the
// sandbox: it says both within one sync.
func (s *stepper) withSandbox(ordered time.Time) bool {
	return s.Lost != 0 && s.Going == 0 && ordered.Sub(s.LostAt).Abs() <= slack
}

func (s *stepper) endsWithSandbox(name string, r Run) Run {
	r.Kill = fact.Told
	if s.Runs[name].Attempt == r.Attempt {
		s.set(name, r)
	} else {
		s.Before = maps.Clone(s.Before)
		s.Before[name] = r
	}
	s.act(fact.Told, s.before(r.Ordered, r), name, r.Attempt, fact.Kill{Reason: fact.KillSandbox, Message: stopping + name, GraceSeconds: s.graceOf(fact.KillSandbox, name)}, s.Lost, r.Order)
	return r
}

// stopping is what kubelet says of a container that it ends for its pod's sake.
const stopping = "Stopping container "

// lateWord takes kubelet's word about the end of a run that another one followed.
func (s *stepper) lateWord() {
	b, ok := s.fact.Body.(fact.Said)
	if !ok || b.Component != By {
		return
	}
	if reason, ok := reasonOf(b.Message); ok {
		s.told(s.fact.Container, Run{Attempt: s.fact.Attempt}, reason, b)
	}
	r, known := s.Before[s.fact.Container]
	if b.Reason != SaidKilling && b.Reason != LogKilling || !known || r.Attempt != s.fact.Attempt || r.Kill != "" || !strings.HasPrefix(b.Message, stopping) {
		return
	}
	s.Before = maps.Clone(s.Before)
	s.Before[s.fact.Container] = r.ordered(s.fact, true)
	if r = s.Before[s.fact.Container]; s.withSandbox(r.Ordered) {
		s.endsWithSandbox(s.fact.Container, r)
	}
}

// told makes an act of what kubelet itself gave as its reason.
func (s *stepper) told(name string, r Run, reason fact.KillReason, b fact.Said) Run {
	if r.Kill == fact.Told {
		return r
	}
	because := []fact.ID{s.fact.ID, r.Hook}
	grace := s.graceOf(reason, name)
	if n, err := strconv.ParseInt(b.Values["gracePeriod"], 10, 64); err == nil {
		grace = n
	}
	if kind, ok := probeOf(reason); ok {
		because = append(because, s.decisive(name, r, kind)...)
	}
	r.Kill = fact.Told
	s.act(fact.Told, s.before(s.fact.When(), r), name, r.Attempt, fact.Kill{Reason: reason, Message: b.Message, GraceSeconds: grace}, because...)
	return r
}

// decisive are the attempts that made the threshold full.
func (s *stepper) decisive(name string, r Run, kind fact.ProbeKind) []fact.ID {
	ids := r.Rows[kind].IDs
	if spec := s.spec(name); spec != nil {
		probe := spec.LivenessProbe
		if kind == fact.Startup {
			probe = spec.StartupProbe
		}
		if probe != nil {
			ids = ids[max(0, len(ids)-int(max(1, probe.FailureThreshold))):]
		}
	}
	return ids
}

// before is a moment, or the run's end where that came first: an event's time is
// that of a whole second, and an order comes before its effect.
func (s *stepper) before(at time.Time, r Run) time.Time {
	if r.Exit != 0 && r.At.Before(at) {
		return r.At
	}
	return at
}

func (s *stepper) graceOf(reason fact.KillReason, name string) int64 {
	spec := s.spec(name)
	if kind, ok := probeOf(reason); ok && spec != nil {
		probe := spec.LivenessProbe
		if kind == fact.Startup {
			probe = spec.StartupProbe
		}
		return int64(s.State.grace(probe) / time.Second)
	}
	if s.Going != 0 {
		return s.Grace
	}
	return int64(s.State.grace(nil) / time.Second)
}

// judge says what is to be said of a run's end from all that is known by now.
func (s *stepper) judge(name string) {
	r := s.Runs[name]
	if r.Kill == fact.Told {
		return
	}
	if s.Going != 0 && (r.Exit == 0 || !r.At.Before(s.Since.Add(-slack))) && r.Start+r.Exit != 0 {
		s.podGoes(name, r)
		return
	}
	if r.Exit == 0 || r.Kill != "" && !better(s.basis(r), r.Kill) {
		return
	}
	at := r.At
	if r.Order != 0 {
		at = r.Ordered
	}
	reason, row, due := s.due(name, r, at)
	if !due {
		return
	}
	r.Kill = s.basis(r)
	s.set(name, r)
	kind, _ := probeOf(reason)
	because := append(s.decisive(name, r, kind), r.Order, r.Exit)
	if row.Counted {
		because = append(row.IDs, r.Order, r.Exit)
	}
	s.act(r.Kill, s.before(at, r), name, r.Attempt, fact.Kill{Reason: reason, GraceSeconds: s.graceOf(reason, name), Message: "Container " + name + " failed " + strings.ToLower(string(kind)) + " probe"}, because...)
}

// basis is how sure it is that an end that was due was ordered.
func (s *stepper) basis(r Run) fact.Basis {
	if r.Order != 0 {
		return fact.Matched
	}
	return fact.Deduced
}

func better(a, b fact.Basis) bool {
	rank := map[fact.Basis]int{fact.Told: 3, fact.Matched: 2, fact.Deduced: 1}
	return rank[a] > rank[b]
}

// podGoes is the end of a run with its pod: kubelet ends what still runs.
func (s *stepper) podGoes(name string, r Run) {
	if r.Exit != 0 && r.Order == 0 && r.At.Before(s.Since) && s.For == fact.KillDeletion {
		return // it had ended before
	}
	r.Kill = fact.Told
	s.set(name, r)
	s.act(fact.Told, s.before(s.Since, r), name, r.Attempt, fact.Kill{Reason: s.For, GraceSeconds: s.Grace, Message: stopping + name}, s.Going, r.Order)
}
