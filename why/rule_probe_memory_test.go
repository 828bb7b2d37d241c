package why

import (
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// A container over its memory.high looks busy, hung or slow. Only its cgroup tells why.
func TestMemoryHigh(t *testing.T) {
	const mib = 1 << 20
	sample := func(events int64, stalled time.Duration, working int64) fact.Sampled {
		return fact.Sampled{MemoryHigh: 90 * mib, HighEvents: events, MemorySome: stalled, CPUSome: 1, WorkingSet: working * mib, CPUUsage: time.Second}
	}
	noPSI := func(events, working int64) fact.Sampled {
		s := sample(events, 0, working)
		s.CPUSome = 0
		return s
	}
	look := func(state string, backlog int) fact.Looked {
		return fact.Looked{PID: 100, State: state, Processes: 1, Over: time.Second, Listeners: []fact.Listener{{Address: "[::]:8080", PID: 100, Backlog: backlog}}}
	}
	busy := look("S", 0)
	busy.CPUUsed = time.Second
	worked := func(s *tale) { s.probe("app", 3, good(fact.Liveness, time.Millisecond)) }
	failSilently := func(s *tale, bodies ...fact.Body) {
		id := s.in("app", noAnswer(fact.Liveness))
		s.wait(2 * time.Second)
		for _, b := range bodies {
			s.see("app", s.attempt("app"), b, id)
		}
		s.probe("app", 2, noAnswer(fact.Liveness))
	}
	late := fact.AskedAgain{Probe: fact.Liveness, Patience: 30 * time.Second, Timeout: time.Second, Verdict: fact.Success, Took: 4 * time.Second, Evidence: &fact.Evidence{Status: 200}}

	for _, q := range []question{
		{name: "throttled, it looks hung", cause: answer.MemoryThrottled, says: "it exceeded its memory.high of 90Mi", tale: func(s *tale) {
			worked(s)
			s.in("app", sample(10, time.Second, 89))
			failSilently(s, look("D", 3), sample(350, 6*time.Second, 91))
		}},
		{name: "throttled, it looks busy", cause: answer.MemoryThrottled, says: "stalled for memory for", tale: func(s *tale) {
			worked(s)
			s.in("app", sample(10, time.Second, 89))
			failSilently(s, busy, sample(350, 6*time.Second, 91))
		}},
		{name: "throttled, and answers late", cause: answer.MemoryThrottled, tale: func(s *tale) {
			worked(s)
			s.in("app", sample(10, time.Second, 89))
			failSilently(s, look("D", 0), late, sample(350, 6*time.Second, 91))
		}},
		{name: "a kernel without PSI", cause: answer.MemoryThrottled, tale: func(s *tale) {
			worked(s)
			s.in("app", noPSI(10, 89))
			failSilently(s, look("D", 0), noPSI(350, 91))
		}},
		{name: "it reclaims its cache, and stalls for nothing", cause: answer.AppOverloaded, ruledOut: []answer.Cause{answer.MemoryThrottled}, tale: func(s *tale) {
			worked(s)
			s.in("app", sample(10, time.Second, 40))
			failSilently(s, busy, sample(350, time.Second+50*time.Millisecond, 40))
		}},
		{name: "its cache is large, on a kernel without PSI", cause: answer.AppOverloaded, tale: func(s *tale) {
			worked(s)
			s.in("app", noPSI(10, 40))
			failSilently(s, busy, noPSI(350, 40))
		}},
		{name: "it stalls for memory, below its memory.high", cause: answer.AppHang, tale: func(s *tale) {
			worked(s)
			s.in("app", sample(10, time.Second, 40))
			failSilently(s, look("D", 3), sample(10, 6*time.Second, 40))
		}},
	} {
		if q.pod == nil {
			q.pod = web()
		}
		if q.symptom == "" {
			q.symptom = answer.Restarted
		}
		t.Run(q.name, q.run)
	}
}
