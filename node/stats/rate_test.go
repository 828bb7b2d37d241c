package stats

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// after is a reading of a counter that runs at half a core since t0.
func after(d time.Duration) point { return point{at: t0.Add(d), total: d / 2} }

func TestRate(t *testing.T) {
	for name, looks := range map[string][]struct {
		at   time.Duration
		over time.Duration // the window that the rate should be over; 0: none
	}{
		"the first look":       {{0, 0}},
		"too soon":             {{0, 0}, {100 * time.Millisecond, 0}, {200 * time.Millisecond, 200 * time.Millisecond}},
		"every 15 s":           {{0, 0}, {15 * time.Second, 15 * time.Second}, {30 * time.Second, 15 * time.Second}, {45 * time.Second, 15 * time.Second}},
		"every 5 s":            {{0, 0}, {5 * time.Second, 5 * time.Second}, {10 * time.Second, 10 * time.Second}, {15 * time.Second, 10 * time.Second}, {20 * time.Second, 15 * time.Second}, {25 * time.Second, 10 * time.Second}},
		"after a pause":        {{0, 0}, {15 * time.Second, 15 * time.Second}, {5 * time.Minute, 0}, {5*time.Minute + time.Second, time.Second}},
		"twice after a pause":  {{0, 0}, {time.Hour, 0}, {2 * time.Hour, 0}, {2*time.Hour + 500*time.Millisecond, 500 * time.Millisecond}, {2*time.Hour + 15*time.Second, 14500 * time.Millisecond}},
		"just at the boundary": {{0, 0}, {time.Minute, time.Minute}},
	} {
		var m meter
		for _, look := range looks {
			base := m
			rate, ok := m.read(after(look.at))
			if ok != (look.over > 0) {
				t.Errorf("%s, at %s: %d, %v", name, look.at, rate, ok)
				continue
			}
			if !ok {
				continue
			}
			if rate != 5e8 {
				t.Errorf("%s, at %s: %d nanocores", name, look.at, rate)
			}
			if over := t0.Add(look.at).Sub(m.base.at); over != look.over {
				t.Errorf("%s, at %s: over %s, want %s (%+v)", name, look.at, over, look.over, base)
			}
		}
	}
}

func TestRateOfAYoungContainerIsSinceItsStart(t *testing.T) {
	var m meter
	m.startedAt(t0)
	if rate, ok := m.read(after(3 * time.Second)); !ok || rate != 5e8 {
		t.Errorf("%d, %v", rate, ok)
	}
	m = meter{}
	m.startedAt(t0)
	if rate, ok := m.read(after(time.Hour)); ok {
		t.Errorf("an average over an hour: %d", rate)
	}
}

func TestCounterThatStartsOverIsNotNegative(t *testing.T) {
	var m meter
	m.read(point{t0, time.Hour})
	m.read(point{t0.Add(20 * time.Second), 2 * time.Hour})
	if rate, ok := m.read(point{t0.Add(40 * time.Second), time.Second}); ok {
		t.Errorf("%d", rate)
	}
}

// For any readings of a growing counter: the rate lies between the least and the
// greatest use between two looks, and never rests on looks a minute apart.
func TestRateIsWithinWhatWasUsed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m meter
		now := point{at: t0}
		least, most := math.Inf(1), 0.0
		m.read(now)
		for range rapid.IntRange(1, 30).Draw(t, "looks") {
			pause := time.Duration(rapid.Int64Range(1, int64(90*time.Second)).Draw(t, "pause"))
			cores := rapid.Float64Range(0, 64).Draw(t, "cores")
			used := time.Duration(float64(pause) * cores)
			now = point{now.at.Add(pause), now.total + used}
			least, most = min(least, float64(used)/pause.Seconds()), max(most, float64(used)/pause.Seconds())
			rate, ok := m.read(now)
			over := now.at.Sub(m.base.at)
			if ok && (float64(rate) < least-1 || float64(rate) > most+1) {
				t.Fatalf("%d outside %f..%f", rate, least, most)
			}
			if ok && (over > stale || over < shortest) {
				t.Fatalf("over %s", over)
			}
		}
	})
}
