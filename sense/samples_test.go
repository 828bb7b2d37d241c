package sense

import (
	"testing"
	"time"

	"whylet.dev/whylet/fact"
)

// A container that stays far from its limits is read less often after a while, and again as
// often as at first once it moves.
func TestSteadyContainersAreReadLess(t *testing.T) {
	calm := fact.Sampled{MemoryLimit: 64 << 20, WorkingSet: 20 << 20, PIDLimit: 100, PIDs: 3, Periods: 500}
	for name, change := range map[string]func(*fact.Sampled){
		"throttled":         func(s *fact.Sampled) { s.ThrottledPeriods++ },
		"an OOM kill":       func(s *fact.Sampled) { s.OOMKills++ },
		"over memory.high":  func(s *fact.Sampled) { s.HighEvents++ },
		"near the limit":    func(s *fact.Sampled) { s.WorkingSet = 50 << 20 },
		"memory that rises": func(s *fact.Sampled) { s.WorkingSet += 8 << 20 },
		"many processes":    func(s *fact.Sampled) { s.PIDs = 80 },
	} {
		t.Run(name, func(t *testing.T) {
			a, at := &attention{}, time.Now()
			for range int(steadyAfter / sampleEvery) {
				if a.settle(calm, at); !a.next.Equal(at.Add(sampleEvery)) {
					t.Fatalf("at first it is read again after %v", a.next.Sub(at))
				}
				at = at.Add(sampleEvery)
			}
			if a.settle(calm, at); !a.next.Equal(at.Add(steadyEvery)) {
				t.Errorf("a steady one is read again after %v", a.next.Sub(at))
			}
			moved := calm
			change(&moved)
			at = at.Add(steadyEvery)
			if a.settle(moved, at); !a.next.Equal(at.Add(sampleEvery)) {
				t.Errorf("one that moves is read again after %v", a.next.Sub(at))
			}
		})
	}
}

// New containers are read at once, those in trouble each time, those that are gone not at all.
func TestWhoseTurnItIs(t *testing.T) {
	now := time.Now()
	l := &Inspector{seen: map[string]*attention{
		"new": {}, "steady": {next: now.Add(time.Minute)}, "troubled": {next: now.Add(time.Minute), trouble: now.Add(-time.Second)},
	}}
	if ids := l.due(now); len(ids) != 2 {
		t.Errorf("%v", ids)
	}
	if ids := l.due(now.Add(2 * time.Second)); len(ids) != 1 || ids[0] != "troubled" {
		t.Errorf("two seconds later %v", ids)
	}
	l.meet(nil)
	if ids := l.due(now.Add(time.Hour)); len(ids) > 0 {
		t.Errorf("of those that are gone %v", ids)
	}
}
