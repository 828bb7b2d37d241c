package sense

import (
	"slices"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
)

func TestClockSteps(t *testing.T) {
	var told []time.Duration
	var apart time.Duration
	c := ClockSteps{
		apart: func() time.Duration { return apart },
	}
	for _, at := range []time.Duration{
		time.Hour, time.Hour + 3*time.Millisecond, // drift
		2 * time.Hour, 0, 2 * time.Hour, // a step, then a clock that could not be read
		2*time.Hour - time.Second,
	} {
		apart = at
		c.compare(func(f fact.Fact) { told = append(told, f.Body.(fact.ClockStepped).By) })
	}
	if want := []time.Duration{time.Hour - 3*time.Millisecond, -time.Second}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	if clocksApart() == 0 {
		t.Error("this machine's clocks cannot be read")
	}
}
