package health

import (
	"slices"
	"time"

	"whylet.dev/whylet/fact"
)

// deadline is the earliest moment at which something follows from nothing but
// the passing of time. What waits is listed first; then each moment is tried,
// because what waits may have to wait for something else too (a back-off in a
// pod whose sandbox is being made anew). So a tick at the deadline always
// leads to a decision, and nobody is woken in vain.
func (p *pod) deadline() time.Time {
	if !p.settled() || p.Gone {
		return time.Time{}
	}
	moments := p.moments()
	slices.SortFunc(moments, time.Time.Compare)
	for i, at := range moments {
		if (i == 0 || !at.Equal(moments[i-1])) && p.actsAt(at) {
			return at
		}
	}
	return time.Time{}
}

// actsAt says whether a tick at that time would lead to a decision.
func (p *pod) actsAt(at time.Time) bool {
	t := turn{pod: p.clone(), fact: fact.Fact{Seen: at, Body: fact.TimePassed{}}, now: at}
	t.plan()
	t.report()
	return len(t.decisions) > 0
}

// moments lists the times that anything waits for.
func (p *pod) moments() []time.Time {
	var all []time.Time
	add := func(times ...time.Time) {
		for _, at := range times {
			if !at.IsZero() {
				all = append(all, at)
			}
		}
	}
	for i := range p.Containers {
		c := &p.Containers[i]
		if c.Kill != nil {
			add(c.Kill.RetryAt)
		}
		if c.Pause != nil {
			add(c.Pause.Turn, c.Pause.Until)
		}
	}
	if !p.AdoptedAt.IsZero() {
		add(p.AdoptedAt.Add(p.Policy.Retry))
	}
	if p.Ending != nil {
		add(p.Ending.Until)
		return all
	}
	add(p.activeUntil(), p.Sandbox.RetryAt)
	if p.Resize != nil {
		add(p.Resize.RetryAt)
	}
	return all
}
