package health

import (
	"fmt"
	"time"

	"whylet.dev/whylet/fact"
)

// backOff is a delay that doubles (client-go/util/flowcontrol/backoff.go, with
// the expiry that kubelet.go gives crashLoopBackOff).
type backOff struct {
	Delay time.Duration `json:"delay,omitempty"`
	// Moved is when Delay was last changed: when the try began that it led to.
	Moved time.Time `json:"moved,omitzero"`
}

// limits of a backOff: what it begins with, what it ends at, and after how long
// without trouble it begins again.
type limits struct{ initial, most, reset time.Duration }

// imageBackOff are kubelet's limits for image pulls; they cannot be configured
// there either (kubelet.go: imageBackOffPeriod, MaxImageBackOff).
var imageBackOff = limits{initial: 10 * time.Second, most: 300 * time.Second, reset: 600 * time.Second}

func (p Policy) crashBackOff() limits {
	return limits{initial: p.BackOffInitial, most: p.BackOffMax, reset: p.BackOffReset}
}

// until is when the back-off that counts from since is over; zero if none is due.
func (b backOff) until(l limits, since, now time.Time) time.Time {
	if b.Delay == 0 || since.Sub(b.Moved) > l.reset || now.Sub(since) >= b.Delay {
		return time.Time{}
	}
	return since.Add(b.Delay)
}

// grow moves to the next delay after trouble at since, and gives it.
func (b *backOff) grow(l limits, since, now time.Time) time.Duration {
	if b.Delay == 0 || since.Sub(b.Moved) > l.reset {
		b.Delay = l.initial
	} else {
		b.Delay = min(b.Delay*2, l.most)
	}
	b.Moved = now
	return b.Delay
}

// pause is what the next start of a container waits for.
type pause struct {
	What  fact.BackOffOf `json:"what,omitempty"` // empty: just tried again later
	Delay time.Duration  `json:"delay,omitempty"`
	Until time.Time      `json:"until"`
	// Turn is when the status turns from what happened to Shown, zero once it has:
	// kubelet shows the end of a container first, and that it backs off when it
	// looks again.
	Turn  time.Time `json:"turn,omitzero"`
	Shown wait      `json:"shown"`
	Facts []fact.ID `json:"facts,omitempty"`
}

// pause makes the next start wait, and says so.
func (t *turn) pause(c *container, p pause) {
	if p.Turn.IsZero() {
		p.Turn = t.now.Add(min(t.Policy.Retry, p.Delay/2))
	}
	c.Pause = &p
	t.sayBackOff(c)
	t.turnStatus(c)
}

func (t *turn) sayBackOff(c *container) {
	p := c.Pause
	t.decide(c.Name, c.Attempt, fact.BackOff{What: p.What, Delay: p.Delay, Until: p.Until, Message: p.Shown.Message}, p.Facts...)
}

// turnStatus lets the status say that the container backs off, when it is time.
func (t *turn) turnStatus(c *container) (turned bool) {
	p := *c.Pause
	if p.Turn.IsZero() || t.now.Before(p.Turn) {
		return false
	}
	p.Turn = time.Time{}
	c.Pause, c.Wait = &p, p.Shown
	return true
}

// mayStart says whether a container that is wanted has waited long enough.
func (t *turn) mayStart(c *container) bool {
	if c.Stage == ended && c.Begun && !c.Run.Counted && c.Pause == nil {
		t.backOffAfter(c)
	}
	p := c.Pause
	switch {
	case p == nil:
	case t.now.Before(p.Until):
		if t.turnStatus(c) {
			t.sayBackOff(c) // as kubelet does each time it looks
		}
		return false
	}
	if c.Stage == ended && !c.Run.Counted {
		c.Run.Counted = true
		if since, counts := c.since(); counts {
			c.Crash.grow(t.Policy.crashBackOff(), since, t.now)
		}
	}
	return true
}

// since is the end from which the back-off counts. A container that the node
// ended in order to start it again is started in the same breath; kubelet then
// looks at the end before that one (kuberuntime/kuberuntime_manager.go,
// doBackOff sees the state from before the kill), and at none if it was the
// first run. RestartAllContainers removes the containers, and with them the
// reason to wait.
func (c *container) since() (at time.Time, counts bool) {
	switch k := c.Run.Killed; {
	case c.Run.Anew:
		return time.Time{}, false
	case k != nil && k.Restart:
		return c.Before, !c.Before.IsZero()
	}
	return c.Run.FinishedAt, true
}

// backOffAfter looks at the newest end and makes the next start wait if a
// back-off is due.
func (t *turn) backOffAfter(c *container) {
	since, counts := c.since()
	l := t.Policy.crashBackOff()
	if !counts || c.Crash.until(l, since, t.now).IsZero() {
		return
	}
	until := c.Crash.until(l, c.Run.FinishedAt, t.now)
	if until.IsZero() {
		return
	}
	p := pause{
		What: fact.BackOffContainer, Delay: c.Crash.Delay, Until: until,
		Shown: wait{"CrashLoopBackOff", fmt.Sprintf("back-off %s restarting failed container=%s pod=%s_%s(%s)",
			c.Crash.Delay, c.Name, t.Object.Name, t.Object.Namespace, t.Object.UID)},
		Facts: []fact.ID{c.Run.End},
	}
	if k := c.Run.Killed; k != nil && k.Restart {
		p.Turn = t.now // the start was refused in the same breath as the kill
	}
	t.pause(c, p)
}

// backOffPulling is the waiting message of ImagePullBackOff (images/image_manager.go).
func backOffPulling(b fact.ImageFailed) string {
	return fmt.Sprintf("Back-off pulling image %q: %s: %s", b.Image, b.Reason, b.Message)
}
