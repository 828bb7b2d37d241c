package why

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// moment is a history at a question of a story, with the failing probe that one of the verdicts is about.
type moment struct {
	name  string
	s     tale
	cause answer.Cause
	about answer.Symptom
	run   *history.Run
	kind  fact.ProbeKind
	well  *fact.Fact // the last good attempt of the run before the decision; nil where there was none
}

// moments are those of all stories.
func moments(t *testing.T) (all []moment) {
	for rule, path := range stories(t) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(raw), "## ")
		for _, text := range strings.Split(rest, "\n## ") {
			name, _, _ := strings.Cut(text, "\n")
			retell(t, text, func(s *tale, a answer.Answer) {
				all = append(all, momentsOf(rule+": "+name, s, a)...)
			})
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return strings.Compare(a.name, b.name) })
	return all
}

func momentsOf(name string, s *tale, a answer.Answer) (all []moment) {
	h := history.New(s.key, s.facts, s.node, s.near)
	for i, symptom := range a.Symptoms {
		m := moment{name: name, cause: a.Verdicts[i].Cause, about: symptom, s: *s}
		m.s.facts = slices.Clone(s.facts)
		if m.run = h.Last(symptom.Container); m.run == nil {
			continue
		}
		switch symptom.Kind {
		case answer.NotReady:
			m.kind = fact.Readiness
		case answer.Restarted:
			for _, r := range slices.Backward(h.Runs(symptom.Container)) {
				if r.Kill == nil {
					continue
				}
				m.run = r
				m.kind = map[fact.KillReason]fact.ProbeKind{fact.KillLiveness: fact.Liveness, fact.KillStartup: fact.Startup}[fact.Of[fact.Kill](r.Kill).Reason]
				break
			}
		}
		if m.kind == "" || m.cause == answer.CauseUnknown {
			continue
		}
		for _, f := range m.run.Probes {
			if b := fact.Of[fact.Probed](f); b.Probe == m.kind && !bad(b) && (m.run.Kill == nil || f.Seen.Before(m.run.Kill.Seen)) {
				m.well = f
			}
		}
		all = append(all, m)
	}
	return all
}

// with returns the facts with another put before the one with that id, at a time of its own.
func (m moment) with(before fact.ID, at time.Time, more fact.Body) []fact.Fact {
	var facts []fact.Fact
	for _, f := range m.s.facts {
		if f.ID == before {
			facts = append(facts, fact.Fact{ID: 2*f.ID - 1, At: at, Seen: at, Pod: f.Pod, Container: m.run.Container, Attempt: m.run.Attempt, Body: more})
		}
		f.ID *= 2
		f.Because = slices.Clone(f.Because)
		for i := range f.Because {
			f.Because[i] *= 2
		}
		facts = append(facts, f)
	}
	return facts
}

func (m moment) ask(facts []fact.Fact) answer.Cause {
	a := Explain(history.New(m.s.key, facts, m.s.node, m.s.near), Options{Now: m.s.now})
	for i, symptom := range a.Symptoms {
		if symptom.Kind == m.about.Kind && symptom.Container == m.about.Container {
			return a.Verdicts[i].Cause
		}
	}
	return "no such symptom"
}

// lateLines explain failures of the time at which they are said.
var lateLines = []string{
	"ERROR cannot connect to database prod-db:5432: Connection refused",
	"FATAL: java.lang.OutOfMemoryError: Java heap space",
	"ERROR No space left on device",
	"error: too many open files",
	"waiting for redis:6379 to come up",
	"migrating step 3 of 10",
}

// alsoSaid returns the facts with one more line in a log: said a while before the first of its lines in the looks since
// the container was last well, or, where it is ended, after the order to end.
func (m moment) alsoSaid(line string) (early, late []fact.Fact) {
	early, late = slices.Clone(m.s.facts), slices.Clone(m.s.facts)
	for i, f := range m.s.facts {
		if f.Container != m.run.Container || f.Attempt != m.run.Attempt {
			continue
		}
		switch b := f.Body.(type) {
		case fact.Looked:
			if len(b.SaidAt) == len(b.Said) && m.well != nil && f.Seen.After(m.well.Seen) {
				b.Said, b.SaidAt = append([]string{line}, b.Said...), append([]time.Time{m.well.When().Add(-20 * time.Second)}, b.SaidAt...)
				early[i].Body = b
			}
		case fact.Exited:
			if m.run.Kill == nil || !f.Seen.After(m.run.Kill.Seen) {
				break
			}
			if len(b.LastLinesAt) != len(b.LastLines) {
				b.LastLinesAt = slices.Repeat([]time.Time{m.run.Kill.Seen.Add(-time.Second)}, len(b.LastLines))
			}
			b.LastLines, b.LastLinesAt = append(slices.Clone(b.LastLines), line), append(slices.Clone(b.LastLinesAt), f.Seen)
			late[i].Body = b
		}
	}
	return early, late
}

// elsewhen returns evidence that would explain a failure, if it were of its time.
func (m moment) elsewhen(at time.Time) (all []fact.Body) {
	look := fact.Looked{PID: 100, State: "S", Processes: 1, Over: time.Second}
	if n := len(m.run.Looks); n > 0 {
		look = fact.Of[fact.Looked](m.run.Looks[n-1])
	}
	look.Open, look.Dialing = nil, nil
	asked := fact.Evidence{Handler: fact.HTTPGet, Target: "http://10.0.0.1:8080/"}
	if n := len(m.run.Probes); n > 0 && fact.Of[fact.Probed](m.run.Probes[n-1]).Evidence != nil {
		was := fact.Of[fact.Probed](m.run.Probes[n-1]).Evidence
		asked = fact.Evidence{Handler: was.Handler, Target: was.Target, Remote: was.Remote}
	}
	with := func(change func(*fact.Evidence)) *fact.Evidence {
		e := asked
		change(&e)
		return &e
	}
	for _, line := range lateLines {
		said := look
		said.Said, said.SaidAt = []string{line}, []time.Time{at}
		all = append(all, said)
	}
	look.Dialing = []fact.Dial{{Remote: "10.0.0.9:5432", Command: "app", PID: 100}}
	patient := fact.AskedAgain{Probe: m.kind, Patience: 30 * time.Second, Timeout: time.Second}
	came, silent := patient, patient
	came.Verdict, came.Took, came.Evidence = fact.Success, 5500*time.Millisecond, with(func(e *fact.Evidence) { e.Status = 200 })
	silent.Verdict, silent.Took, silent.Evidence = fact.Failure, patient.Patience, with(func(e *fact.Evidence) { e.Timeout = true })
	refused, down := connectionRefused(m.kind), status(m.kind, 503, "")
	refused.Evidence = with(func(e *fact.Evidence) { e.Errno = "ECONNREFUSED" })
	down.Evidence = with(func(e *fact.Evidence) { e.Status, e.Output = 503, "database prod-db:5432 is down" })
	return append(all, look, came, silent, refused, down)
}

// Only evidence of the failing streak explains it: what was seen before the container was last well, and after the
// node decided to end it, changes no cause.
func TestEvidenceOfAnotherTime(t *testing.T) {
	tries, turn := 0, 0
	try := func(m moment, when string, before *fact.Fact, at time.Time) {
		for _, body := range m.elsewhen(at) {
			if turn++; turn%3 != 0 { // each of them in every third place
				continue
			}
			tries++
			if got := m.ask(m.with(before.ID, at, body)); got != m.cause {
				t.Errorf("%s: a %s of %s changes %s to %s: %+v", m.name, body.Kind(), when, m.cause, got, body)
			}
		}
	}
	for _, m := range moments(t) {
		for i := range 2 {
			turn++
			line := lateLines[(turn+3*i)%len(lateLines)]
			early, late := m.alsoSaid(line)
			if got := m.ask(early); got != m.cause {
				t.Errorf("%s: %q of before it was well changes %s to %s", m.name, line, m.cause, got)
			}
			if got := m.ask(late); got != m.cause {
				t.Errorf("%s: %q of after the decision changes %s to %s", m.name, line, m.cause, got)
			}
		}
		if m.well != nil {
			try(m, "before it was well", m.well, m.well.When().Add(-time.Millisecond))
		}
		if m.run.Kill != nil && m.run.Exit != nil && m.run.Exit.Seen.After(m.run.Kill.Seen) {
			try(m, "after the decision", m.run.Exit, m.run.Exit.Seen)
		}
	}
	if tries < 300 {
		t.Errorf("only %d tries", tries)
	}
}
