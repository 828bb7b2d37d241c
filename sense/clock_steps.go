package sense

import (
	"context"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

const (
	// clockEvery is how often the wall clock is compared with the one that nobody
	// can set; stepsFrom is the difference from which on it was set: between two
	// looks a disciplined clock drifts by a hundredth of that.
	clockEvery = 5 * time.Second
	stepsFrom  = 500 * time.Millisecond
)

// ClockSteps tells when somebody sets the wall clock: the times of facts before
// and after do not fit together then.
type ClockSteps struct {
	// apart gives the wall time less the time since boot; 0 where it is not known.
	apart func() time.Duration
	last  time.Duration
}

// NewClockSteps watches this machine's clock.
func NewClockSteps() *ClockSteps { return &ClockSteps{apart: clocksApart} }

// Run implements [Source].
func (c *ClockSteps) Run(ctx context.Context, _ pods.Registry, emit func(fact.Fact)) error {
	tick := time.NewTicker(clockEvery)
	defer tick.Stop()
	for c.compare(emit); ; c.compare(emit) {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (c *ClockSteps) compare(emit func(fact.Fact)) {
	now := c.apart()
	if by := now - c.last; c.last != 0 && now != 0 && by.Abs() >= stepsFrom {
		emit(fact.Fact{Body: fact.ClockStepped{By: by.Round(time.Millisecond)}})
	}
	if now != 0 {
		c.last = now
	}
}

// clocksApart reads both clocks as close together as can be: of several tries the
// quickest counts, since this thread may be put aside between the two.
func clocksApart() time.Duration {
	var best, quickest time.Duration
	for range 5 {
		var before, wall, after unix.Timespec
		if unix.ClockGettime(unix.CLOCK_BOOTTIME, &before) != nil || unix.ClockGettime(unix.CLOCK_REALTIME, &wall) != nil ||
			unix.ClockGettime(unix.CLOCK_BOOTTIME, &after) != nil {
			return 0
		}
		took := time.Duration(after.Nano() - before.Nano())
		if best == 0 || took < quickest {
			best, quickest = time.Duration(wall.Nano()-before.Nano()), took
		}
	}
	return best
}
