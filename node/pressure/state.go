package pressure

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
)

// state remembers since when thresholds are met, and when conditions last held.
// It is a function of what it was shown, with no clock of its own.
type state struct {
	thresholds []Threshold
	// transition is how long a condition goes on after it was last seen, so that it
	// does not come and go.
	transition time.Duration

	since map[int]time.Time // by the threshold's index
	// acting says for which of them something was to be done at the last look.
	acting map[int]bool
	last   map[v1.NodeConditionType]time.Time
}

func newState(thresholds []Threshold, transition time.Duration) *state {
	return &state{
		thresholds: withAllocatable(thresholds), transition: transition,
		since: map[int]time.Time{}, acting: map[int]bool{}, last: map[v1.NodeConditionType]time.Time{},
	}
}

// observe takes a look in. It gives the conditions that hold, sorted, and the
// thresholds for which something must be done now: memory first, because it does
// not wait (kubelet: helpers.go, byEvictionPriority). What could not be read is
// neither met nor resolved: it leaves what was known as it was.
func (s *state) observe(now time.Time, readings Readings) (conditions []v1.NodeConditionType, due []Threshold) {
	for i, t := range s.thresholds {
		r, read := readings[t.Signal]
		if !read {
			continue
		}
		if !t.met(r) && (!s.acting[i] || t.relieved(r)) {
			delete(s.since, i)
			delete(s.acting, i)
			continue
		}
		if _, before := s.since[i]; !before {
			s.since[i] = now
		}
		s.last[t.Signal.Condition()] = now
		if now.Sub(s.since[i]) >= t.Grace {
			s.acting[i] = true
			due = append(due, t)
		}
	}
	for c, at := range s.last {
		if now.Sub(at) < s.transition || now.Equal(at) {
			conditions = append(conditions, c)
		}
	}
	slices.Sort(conditions)
	slices.SortStableFunc(due, func(a, b Threshold) int { return cmp.Compare(urgency(a), urgency(b)) })
	return conditions, due
}

// urgency orders what is due: memory first, and what is hard before what is soft.
func urgency(t Threshold) int {
	n := 0
	if !t.Signal.Memory() {
		n += 2
	}
	if !t.Hard() {
		n++
	}
	return n
}

const (
	// fastest is how many bytes of memory a program can touch in a second: the
	// kernel has to clear each page first, and does some 2 GiB a second.
	fastest = 2 << 30
	// soonest and latest bound the time between two looks; the latter is kubelet's
	// (evictionMonitoringPeriod in kubelet.go).
	soonest = 20 * time.Millisecond
	latest  = 10 * time.Second
)

// pause is how long the next look can wait: until memory could have fallen to a
// threshold.
func (s *state) pause(readings Readings) time.Duration {
	wait := latest
	for _, t := range s.thresholds {
		r, read := readings[t.Signal]
		if !read || !t.Signal.Memory() {
			continue
		}
		left := r.Available - t.Amount(r.Capacity).Value()
		if left < fastest*int64(latest/time.Second) {
			// In milliseconds: in nanoseconds what is left overflows from 9 GiB on.
			wait = min(wait, time.Duration(left*1000/fastest)*time.Millisecond)
		}
	}
	return max(wait, soonest)
}
