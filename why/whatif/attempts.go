package whatif

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/history"
)

// outcome is how an attempt would have gone.
type outcome int

const (
	notKnown outcome = iota
	good
	bad
	neither // the attempt could not be made: it counts for nothing
)

// attempt is one attempt of a probe, as recorded or as it would have been.
type attempt struct {
	kind fact.ProbeKind
	at   time.Time
	out  outcome
}

// mostOfARun bounds how many attempts a folded run of successes is taken apart
// into: what matters is how it begins and how it ends.
const mostOfARun = 200

// recorded are the attempts of one probe in a run, judged by a timeout.
func recorded(run *history.Run, kind fact.ProbeKind, old, now *v1.Probe) []attempt {
	was, is := time.Duration(old.TimeoutSeconds)*time.Second, time.Duration(now.TimeoutSeconds)*time.Second
	var all []attempt
	for _, f := range run.Probes {
		b, ok := f.Body.(fact.Probed)
		if !ok || b.Probe != kind {
			continue
		}
		a := attempt{kind: kind, at: f.When()}
		switch b.Verdict {
		case fact.Unknown:
			a.out = neither
		case fact.Failure:
			a.out = failed(run, f, b, was, is)
		default:
			a.out = succeeded(b, is)
		}
		all = append(all, unfold(a, b)...)
	}
	return all
}

// failed: what was answered with a failure stays one. What timed out is not
// known with a longer timeout, unless the node asked once more.
func failed(run *history.Run, f *fact.Fact, b fact.Probed, was, is time.Duration) outcome {
	if b.Evidence == nil || !b.Evidence.Timeout || is <= was {
		return bad
	}
	for _, g := range run.Again {
		a, ok := g.Body.(fact.AskedAgain)
		if !ok || a.Cut || !slices.Contains(g.Because, f.ID) {
			continue
		}
		switch {
		case a.Verdict == fact.Success || a.Verdict == fact.Warning:
			if a.Took <= is {
				return good
			}
			return bad
		case a.Evidence != nil && a.Evidence.Timeout && a.Patience < is:
			return notKnown
		}
		return bad
	}
	return notKnown
}

// succeeded: what took longer than a shorter timeout allows would have failed. Of
// a folded run only a histogram is kept, and not in which order they came.
func succeeded(b fact.Probed, is time.Duration) outcome {
	switch {
	case b.Took <= is:
		return good
	case b.Count > 1:
		return notKnown
	}
	return bad
}

// unfold takes a folded run of attempts apart, evenly over its time.
func unfold(a attempt, b fact.Probed) []attempt {
	n := max(b.Count, 1)
	if n == 1 || !b.Until.After(a.at) {
		return []attempt{a}
	}
	step := b.Until.Sub(a.at) / time.Duration(n-1)
	var all []attempt
	for i := range n {
		if i < mostOfARun/2 || i >= n-mostOfARun/2 {
			all = append(all, attempt{a.kind, a.at.Add(time.Duration(i) * step), a.out})
		}
	}
	return all
}

// rescheduled are the attempts that another period or delay would have made: each
// is known where the recorded ones before and after it went the same way.
func rescheduled(all []attempt, old, now *v1.Probe, until time.Time) []attempt {
	if len(all) == 0 || old.PeriodSeconds == now.PeriodSeconds && old.InitialDelaySeconds == now.InitialDelaySeconds {
		return all
	}
	period := time.Duration(now.PeriodSeconds) * time.Second
	at := all[0].at.Add(time.Duration(now.InitialDelaySeconds-old.InitialDelaySeconds) * time.Second)
	if last := all[len(all)-1].at; until.After(last.Add(time.Duration(old.PeriodSeconds) * time.Second)) {
		until = last.Add(time.Duration(old.PeriodSeconds) * time.Second)
	}
	var made []attempt
	next := 0
	for ; !at.After(until); at = at.Add(period) {
		for next < len(all) && all[next].at.Before(at) {
			next++
		}
		a := attempt{kind: all[0].kind, at: at}
		if next < len(all) && (all[next].at.Equal(at) || next > 0 && all[next-1].out == all[next].out) {
			a.out = all[next].out
		}
		made = append(made, a)
		if len(made) > 100*mostOfARun {
			break
		}
	}
	return made
}
