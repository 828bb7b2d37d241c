package stats

import "time"

const (
	// window is the least time between two looks that a regular reader's rate is
	// taken over.
	window = 10 * time.Second
	// shortest is the least time that any rate is taken over: the kernel's
	// counters move in steps of a scheduler tick (4 ms).
	shortest = 200 * time.Millisecond
	// stale is how old the earlier look may be: what was a minute ago is not what
	// somebody means who asks for the use now.
	stale = time.Minute
)

// point is the reading of a cumulative counter.
type point struct {
	at    time.Time
	total time.Duration
}

// meter turns readings of one counter into a rate. base is what the rate is
// measured from, next what will be base when it is old enough.
type meter struct{ base, next point }

// read takes in a reading and gives CPU time per second, in nanoseconds (cores
// times 10^9). It is false when there is nothing fit to compare with.
func (m *meter) read(now point) (uint64, bool) {
	if now.total < m.base.total {
		*m = meter{}
	}
	if !m.next.at.IsZero() && now.at.Sub(m.next.at) >= window {
		m.base, m.next = m.next, now
	}
	if m.base.at.IsZero() || now.at.Sub(m.base.at) > stale {
		m.base, m.next = now, now
		return 0, false
	}
	over := now.at.Sub(m.base.at)
	if over < shortest {
		return 0, false
	}
	if m.next.at.IsZero() || m.next == m.base {
		m.next = now
	}
	return uint64(float64(now.total-m.base.total) / over.Seconds()), true
}

// startedAt gives a counter that began at zero a base to be measured from.
func (m *meter) startedAt(t time.Time) {
	if m.base.at.IsZero() && !t.IsZero() {
		m.base = point{at: t}
	}
}
