package health

import "time"

// deadline is the earliest moment that something waits for.
func (p *pod) deadline() time.Time {
	if !p.settled() || p.Gone {
		return time.Time{}
	}
	var next time.Time
	add := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for i := range p.Containers {
		p.Containers[i].deadlines(add)
	}
	if p.Ending == nil {
		add(p.activeUntil())
		if p.Sandbox.Stage == sandboxNone {
			add(p.Sandbox.RetryAt)
		}
		p.resizeDeadlines(add)
	}
	if p.sidecarsWait() {
		add(p.Ending.Until)
	}
	return next
}

func (c *container) deadlines(add func(time.Time)) {
	if c.alive() && c.Kill != nil {
		add(c.Kill.RetryAt)
	}
	if c.Pause != nil && !c.alive() {
		add(c.Pause.Turn)
		add(c.Pause.Until)
	}
}

// sidecarsWait says whether a sidecar waits for its turn to end.
func (p *pod) sidecarsWait() bool {
	if p.Ending == nil {
		return false
	}
	for _, c := range p.each(sidecar) {
		if c.alive() && c.Kill == nil {
			return true
		}
	}
	return false
}
