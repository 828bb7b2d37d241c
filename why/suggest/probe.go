package suggest

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/prose"
)

const (
	// enough is how many answers a proposal for a timeout should rest on: the
	// slowest of 300 is beyond the 99th percentile with a certainty of 95 %.
	enough = 300
	// headroom is what a proposal adds to the worst that was seen.
	headroom = 2
	// enoughStarts is how many starts a proposal for a startup probe should rest on.
	enoughStarts = 3
)

func (s subject) probes() []Suggestion {
	var all []Suggestion
	for _, kind := range []fact.ProbeKind{fact.Liveness, fact.Readiness, fact.Startup} {
		p, field := fact.ProbeOf(s.spec, kind), strings.ToLower(string(kind))+"Probe"
		if p == nil {
			continue
		}
		l := s.latencies(kind)
		all = append(all, s.timeout(field, p, l))
		if kind != fact.Startup {
			all = append(all, s.threshold(field, p, kind, l))
		}
	}
	if t, ok := s.startup(); ok {
		all = append(all, t)
	}
	return all
}

// latencies are the good answers to a probe.
type latencies struct {
	n, late     int64 // late: those that came after the timeout, to a patient request
	buckets     []int64
	max         time.Duration
	timeouts    int64 // attempts that timed out
	first, last time.Time
}

func (s subject) latencies(kind fact.ProbeKind) latencies {
	l := latencies{buckets: make([]int64, len(fact.LatencyBounds)+1)}
	for _, r := range s.runs {
		for _, f := range r.Probes {
			b, ok := f.Body.(fact.Probed)
			if !ok || b.Probe != kind {
				continue
			}
			if b.Verdict == fact.Success || b.Verdict == fact.Warning {
				l.add(b.Took, max(b.Count, 1), b.Latency)
				l.seen(f.When(), f.Seen)
			} else if b.Evidence != nil && b.Evidence.Timeout {
				l.timeouts++
			}
		}
		for _, f := range r.Again {
			if b, ok := f.Body.(fact.AskedAgain); ok && b.Probe == kind && !b.Cut && !b.Unfiltered && b.Verdict == fact.Success {
				l.add(b.Took, 1, nil)
				l.late++
			}
		}
	}
	return l
}

func (l *latencies) seen(from, to time.Time) {
	if l.first.IsZero() || from.Before(l.first) {
		l.first = from
	}
	if to.After(l.last) {
		l.last = to
	}
}

func (l *latencies) add(took time.Duration, n int64, histogram []int64) {
	l.n += n
	l.max = max(l.max, took)
	for i, m := range histogram[:min(len(histogram), len(l.buckets))] {
		l.buckets[i] += m
	}
	if len(histogram) == 0 {
		i, _ := slices.BinarySearch(fact.LatencyBounds, took) // the first bound that is not below
		l.buckets[i] += n
	}
}

// quantile is an upper bound of the time within which that share was answered.
func (l *latencies) quantile(q float64) time.Duration {
	var sum int64
	for i, n := range l.buckets {
		if sum += n; float64(sum) >= q*float64(l.n) && n > 0 {
			if i < len(fact.LatencyBounds) {
				return min(fact.LatencyBounds[i], l.max)
			}
			break
		}
	}
	return l.max
}

// timeout proposes twice the slowest good answer.
func (s subject) timeout(field string, p *v1.Probe, l latencies) Suggestion {
	g := Suggestion{Container: s.spec.Name, Field: field + ".timeoutSeconds", Now: number(p.TimeoutSeconds, 1), Observations: l.n, TooFew: l.n < enough}
	if l.n == 0 {
		g.Why = "it never succeeded, so nothing is known of its answers"
		return g
	}
	value := max(1, prose.Seconds(headroom*l.max))
	g.Value = strconv.Itoa(value)
	g.Why = fmt.Sprintf("%d good answers in %s: half within %s, 99 %% within %s, the slowest %s; twice that", l.n, prose.Span(l.last.Sub(l.first)), prose.Span(l.quantile(0.5)), prose.Span(l.quantile(0.99)), prose.Span(l.max))
	if l.late > 0 {
		g.Why += fmt.Sprintf("; %d of them came after the timeout, when the node asked once more", l.late)
	}
	if missing := l.timeouts - l.late; missing > 0 {
		g.Why += fmt.Sprintf("; %d attempts timed out, and how long their answers would have taken is not known: it may be more", missing)
	}
	g.settle(l.n, enough, "answers")
	return g
}

// settle says whether the proposal is what is set, and how far to trust it.
func (g *Suggestion) settle(n, wanted int64, what string) {
	g.Keep = g.Value == g.Now
	if n < wanted {
		g.TooFew = true
		g.Why += fmt.Sprintf("; the history is short: %d %s, where %d would do", n, what, wanted)
	}
}

// threshold proposes more failures in a row than it ever recovered from by itself.
func (s subject) threshold(field string, p *v1.Probe, kind fact.ProbeKind, l latencies) Suggestion {
	g := Suggestion{Container: s.spec.Name, Field: field + ".failureThreshold", Now: number(p.FailureThreshold, 3), Observations: l.n}
	longest, rows := s.recovered(kind)
	value := max(3, longest+1)
	g.Value = strconv.Itoa(value)
	switch {
	case l.n == 0:
		g.Value, g.Why, g.TooFew = "", "it never succeeded, so nothing is known of failures that pass", true
		return g
	case rows == 0:
		g.Why = fmt.Sprintf("it never failed and recovered in %d good answers; 3 is the default", l.n)
	default:
		g.Why = fmt.Sprintf("it failed at most %s in a row and recovered by itself (%s); one more than that", prose.Times(longest), prose.Times(rows))
	}
	g.settle(l.n, enough, "answers")
	return g
}

// recovered is the longest row of failures that a success followed in the same
// run, and how many rows there were.
func (s subject) recovered(kind fact.ProbeKind) (longest, rows int) {
	for _, r := range s.runs {
		row, worked := 0, false
		for _, f := range r.Probes {
			b, ok := f.Body.(fact.Probed)
			switch {
			case !ok || b.Probe != kind || b.Verdict == fact.Unknown:
			case b.Verdict == fact.Failure:
				row++
			default:
				if row > 0 && worked {
					longest = max(longest, row)
					rows++
				}
				row, worked = 0, true
			}
		}
	}
	return longest, rows
}

// startup proposes how long a start may take: twice the longest that was seen.
func (s subject) startup() (Suggestion, bool) {
	var longest time.Duration
	var starts, cut int64
	for _, r := range s.runs {
		took, ok := firstGood(r.Probes, r.Started)
		switch {
		case ok:
			starts++
			longest = max(longest, took)
		case r.Kill != nil:
			cut++
		}
	}
	p := s.spec.StartupProbe
	g := Suggestion{Container: s.spec.Name, Field: "startupProbe.failureThreshold", Observations: starts}
	period := 10
	if p != nil {
		g.Now = number(p.FailureThreshold, 3)
		period = max(1, int(cmp.Or(p.PeriodSeconds, 10)))
	}
	switch {
	case p == nil && (s.spec.LivenessProbe == nil || cut == 0 && longest < 30*time.Second):
		return g, false // nothing to gain
	case starts == 0:
		g.TooFew, g.Why = true, fmt.Sprintf("it was never healthy after a start (%s), so how long it needs is not known", prose.Times(int(cut)))
		return g, true
	}
	value := max(3, (prose.Seconds(headroom*longest)+period-1)/period)
	g.Value = strconv.Itoa(value)
	g.Why = fmt.Sprintf("from its start to the first good answer it took %s at most; twice that, in periods of %d s", prose.Span(longest), period)
	if cut > 0 {
		g.Why += fmt.Sprintf("; it was ended %s before it was healthy, and may need more", prose.Times(int(cut)))
	}
	if p == nil {
		g.Now = "no startupProbe"
	}
	g.settle(starts, enoughStarts, "starts")
	return g, true
}

// firstGood is how long after its start a run's first good answer came.
func firstGood(attempts []*fact.Fact, started *fact.Fact) (time.Duration, bool) {
	for _, f := range attempts {
		if b, ok := f.Body.(fact.Probed); ok && (b.Verdict == fact.Success || b.Verdict == fact.Warning) {
			return max(f.When().Sub(started.When()), 0), true
		}
	}
	return 0, false
}

func number(n, unset int32) string { return strconv.Itoa(int(cmp.Or(n, unset))) }
