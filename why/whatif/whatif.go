package whatif

import (
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// Kind of a result in JSON and YAML.
const Kind = "WhatIf"

// Outcome says what would have become of a restart.
type Outcome string

// What would have become of a restart.
const (
	// Avoided: it would not have been.
	Avoided Outcome = "would-not-have-been"
	// Remains: it would have been all the same, perhaps at another time.
	Remains Outcome = "would-have-been"
	// NotKnown: the record does not say.
	NotKnown Outcome = "not-known"
	// Added: there was none, and there would have been one.
	Added Outcome = "would-have-been-added"
)

// Result is what other settings would have changed. Its JSON form is an
// interface, as that of answer.Answer.
type Result struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Subject    answer.Subject  `json:"subject"`
	AsOf       time.Time       `json:"asOf"`
	Journal    answer.Coverage `json:"journal"`
	Changes    []Change        `json:"changes"`
	Restarts   []Restart       `json:"restarts"`
	// OutOfService is how long the containers that the changes are about were not
	// ready after they first had been.
	OutOfService Span `json:"outOfService"`
	// NotKnown says what cannot be known, and what would tell.
	NotKnown []string `json:"notKnown,omitempty"`
}

// Restart is an end of a container that the changes are about.
type Restart struct {
	Container string    `json:"container"`
	Attempt   int32     `json:"attempt"`
	At        time.Time `json:"at"`
	Outcome   Outcome   `json:"outcome"`
	Text      string    `json:"text"`
	Facts     []fact.ID `json:"facts,omitempty"`
}

// Span is a time in seconds as it was, and the least and the most that it would
// have been.
type Span struct {
	Was     float64 `json:"wasSeconds"`
	AtLeast float64 `json:"atLeastSeconds"`
	AtMost  float64 `json:"atMostSeconds"`
}

// ErrHalfSeen says that another node's attempts were not all seen.
var ErrHalfSeen = errors.New("another node makes this pod's probe attempts and only some of them were seen, so nothing can be replayed")

// ErrNoSpec says that the journal does not hold the pod's spec any more.
var ErrNoSpec = errors.New("the pod's spec is not kept in the journal any more, so nothing can be replayed")

// Ask says what the changes would have changed. It fails when the pod has no such
// settings, when the API server would refuse the values, and with [ErrNoSpec] or [ErrHalfSeen].
func Ask(h *history.History, changes []Change, o why.Options) (Result, error) {
	if h.Object == nil {
		return Result{}, ErrNoSpec
	}
	if h.HalfSeen() {
		return Result{}, ErrHalfSeen
	}
	changes, err := resolve(h.Object, changes)
	if err != nil {
		return Result{}, err
	}
	r := Result{
		APIVersion: answer.APIVersion, Kind: Kind, AsOf: o.Now, Journal: o.Journal, Changes: changes, Restarts: []Restart{},
		Subject: answer.Subject{Kind: "Pod", Namespace: h.Pod.Namespace, Name: h.Pod.Name, UID: h.Pod.UID},
	}
	var asked []string
	for _, c := range changes {
		name := c.Container
		if slices.Contains(asked, name) {
			continue
		}
		asked = append(asked, name)
		q := question{h: h, o: o, result: &r, changes: changes, old: *h.Spec(name)}
		q.old = changed(q.old, nil)
		q.now = changed(q.old, changes)
		q.ask()
	}
	slices.SortStableFunc(r.Restarts, func(a, b Restart) int { return a.At.Compare(b.At) })
	return r, nil
}

// question is about one container.
type question struct {
	h        *history.History
	o        why.Options
	result   *Result
	changes  []Change
	old, now v1.Container
}

func (q *question) ask() {
	runs := q.h.Runs(q.old.Name)
	for i, run := range runs {
		if run.Started == nil || !q.o.Since.IsZero() && run.Exit != nil && run.Exit.When().Before(q.o.Since) {
			continue
		}
		restart, told := q.probes(run)
		if !told {
			restart, told = q.limit(run)
		}
		if told {
			q.result.Restarts = append(q.result.Restarts, restart)
		}
		if i+1 < len(runs) {
			q.gap(run, runs[i+1], restart.Outcome)
		}
	}
}

// limit asks about the memory limit.
func (q *question) limit(run *history.Run) (Restart, bool) {
	for _, c := range q.changes {
		if c.Container == q.old.Name && c.probe == "" {
			r, ok := memory(q.h, run, q.old.Resources.Limits.Memory().Value(), c.bytes)
			if ok && r.Outcome == NotKnown {
				q.notKnown("how much memory it would have used past its limit; kubectl why --suggest shows how its use grew")
			}
			return r, ok
		}
	}
	return Restart{}, false
}

// probes replays the run's attempts with the old and with the new settings.
func (q *question) probes(run *history.Run) (Restart, bool) {
	if !slices.ContainsFunc(q.changes, func(c Change) bool { return c.Container == q.old.Name && c.probe != "" }) {
		return Restart{}, false
	}
	started, until := run.Started.When(), q.end(run)
	var was, now []attempt
	for _, kind := range []fact.ProbeKind{fact.Startup, fact.Liveness, fact.Readiness} {
		old, is := fact.ProbeOf(&q.old, kind), fact.ProbeOf(&q.now, kind)
		if old == nil {
			continue
		}
		was = append(was, recorded(run, kind, old, old)...)
		now = append(now, rescheduled(recorded(run, kind, old, is), old, is, until)...)
	}
	before := live(q.h.Object, q.old, q.o.Policy, started, until, slices.Clone(was), bad)
	best := live(q.h.Object, q.now, q.o.Policy, started, until, slices.Clone(now), good)
	worst := live(q.h.Object, q.now, q.o.Policy, started, until, slices.Clone(now), bad)
	q.result.OutOfService.Was += before.unready.Seconds()
	q.result.OutOfService.AtLeast += min(best.unready, worst.unready).Seconds()
	q.result.OutOfService.AtMost += max(best.unready, worst.unready).Seconds()
	return q.compare(run, before, best, worst)
}

// end is the last moment of a run about which its attempts say something: when it was ordered to end.
func (q *question) end(run *history.Run) time.Time {
	switch {
	case run.Kill != nil:
		return run.Kill.Seen
	case run.Exit != nil:
		return run.Exit.When()
	}
	return q.o.Now
}

// compare says what became of a run's end.
func (q *question) compare(run *history.Run, before, best, worst life) (Restart, bool) {
	r := Restart{Container: run.Container, Attempt: run.Attempt}
	why := fact.Of[fact.Kill](run.Kill).Reason
	killed := why == fact.KillLiveness || why == fact.KillStartup
	switch {
	case killed && before.kill.IsZero():
		r.At, r.Outcome, r.Facts = run.Kill.Seen, NotKnown, []fact.ID{run.Kill.ID}
		r.Text = "its attempts are not all kept, so it cannot be replayed"
		q.notKnown("how runs went of which attempts were dropped from the journal")
	case killed:
		r.At, r.Facts = run.Kill.Seen, append([]fact.ID{run.Kill.ID}, run.Kill.Because...)
		q.ofKill(&r, before, best, worst)
	case !best.kill.IsZero():
		r.At, r.Outcome = best.kill, Added
		r.Text = fmt.Sprintf("the node would have ended it for its %s probe", word(best.reason))
	case !worst.kill.IsZero():
		r.At, r.Outcome = worst.kill, NotKnown
		r.Text = fmt.Sprintf("the node might have ended it for its %s probe", word(worst.reason))
		q.notKnownAttempts()
	default:
		return r, false
	}
	return r, true
}

func (q *question) ofKill(r *Restart, before, best, worst life) {
	switch {
	case !best.kill.IsZero():
		r.Outcome, r.Text = Remains, "at the same attempt"
		if d := best.kill.Sub(before.kill); d != 0 {
			r.Text = fmt.Sprintf("%s %s", span(d), map[bool]string{true: "earlier", false: "later"}[d < 0])
		}
		if !worst.kill.Equal(best.kill) {
			r.Text += ", or before"
		}
	case !worst.kill.IsZero():
		r.Outcome, r.Text = NotKnown, "attempts on which it turns are not known with these settings"
		q.notKnownAttempts()
	case worst.row > 0:
		r.Outcome = NotKnown
		r.Text = fmt.Sprintf("not then: %d failures in a row would not yet have been enough; whether the next attempts would have failed too is not known, since the container was ended", worst.row)
		q.notKnown("how attempts would have gone that were never made, because the container had been ended")
	default:
		r.Outcome, r.Text = Avoided, "the attempts that ended it would have succeeded"
	}
}

func (q *question) notKnownAttempts() {
	q.notKnown("how attempts would have gone that timed out, or that would have been made at another time: the node asks once more after some timeouts, and had no such answer here")
}

func (q *question) notKnown(text string) {
	if !slices.Contains(q.result.NotKnown, text) {
		q.result.NotKnown = append(q.result.NotKnown, text)
	}
}

func word(r fact.KillReason) string {
	if r == fact.KillStartup {
		return "startup"
	}
	return "liveness"
}

// gap is the time from a run's end to the readiness of the next one.
func (q *question) gap(run, next *history.Run, o Outcome) {
	if run.Exit == nil || !slices.ContainsFunc(run.Marks, isReady) {
		return
	}
	ready := q.o.Now
	for _, m := range next.Marks {
		if isReady(m) {
			ready = m.Seen
			break
		}
	}
	d := max(ready.Sub(q.end(run)), 0).Seconds()
	q.result.OutOfService.Was += d
	if o != Avoided {
		q.result.OutOfService.AtMost += d
		if o != NotKnown {
			q.result.OutOfService.AtLeast += d
		}
	}
}

func isReady(mark *fact.Fact) bool { return fact.Of[fact.Marked](mark).Ready }
