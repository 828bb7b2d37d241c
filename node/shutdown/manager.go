package shutdown

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// Bus is what a shutdown is heard of by, and delayed.
type Bus interface {
	// MaxDelay returns for how long a shutdown can be delayed, SetMaxDelay asks for more.
	// That takes effect a little later.
	MaxDelay() (time.Duration, error)
	SetMaxDelay(time.Duration) error
	// Delay takes a lock that delays each shutdown until it is closed.
	Delay() (io.Closer, error)
	// Begun returns whether a shutdown has begun, and was not cancelled.
	Begun() (bool, error)
	// Shutdowns has true when a shutdown begins, and false when it is cancelled. It is closed
	// when the bus is gone.
	Shutdowns() <-chan bool
	Close() error
}

// Config is what a manager works with.
type Config struct {
	// Periods are sorted by priority; none: the manager does nothing.
	Periods []Period
	Connect func(context.Context) (Bus, error)
	Known   pods.Registry
	// End asks for the end of a pod within so many seconds.
	End func(pod pods.Pod, grace int64)
	// Changed is told that a shutdown begins, or was cancelled. It must not wait.
	Changed func(begins bool)
	Log     *slog.Logger
	// Retry is how long the manager waits before it connects again; 0: 10 s.
	Retry time.Duration
}

// Manager ends the pods of a node before its machine shuts down.
type Manager struct {
	c      Config
	begun  atomic.Bool
	change chan struct{} // a pod may be down
}

// New makes a manager that does nothing until Run.
func New(c Config) *Manager {
	c.Retry = cmp.Or(c.Retry, 10*time.Second)
	return &Manager{c: c, change: make(chan struct{}, 1)}
}

// Begun says whether the machine is shutting down.
func (m *Manager) Begun() bool { return m.begun.Load() }

// Grace returns how long all pods may take to end.
func (m *Manager) Grace() time.Duration { return total(m.c.Periods) }

// Hear is told of recorded facts, and does not wait.
func (m *Manager) Hear(f fact.Fact) {
	switch f.Body.(type) {
	case fact.TornDown, fact.ObjectGone:
		select {
		case m.change <- struct{}{}:
		default:
		}
	}
}

// Run delays shutdowns of the machine until the pods have ended, until ctx ends.
func (m *Manager) Run(ctx context.Context) {
	if len(m.c.Periods) == 0 {
		return
	}
	said := ""
	for {
		err := m.watch(ctx)
		if ctx.Err() != nil {
			return
		}
		if err.Error() != said {
			said = err.Error()
			m.c.Log.Warn("a shutdown of the machine is not seen, so pods would end without their hooks; trying again", "every", m.c.Retry, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(m.c.Retry):
		}
	}
}

// errBusGone ends a watch whose bus ended.
var errBusGone = errors.New("the connection to systemd-logind ended")

// watch follows one connection to the bus until it or ctx ends.
func (m *Manager) watch(ctx context.Context) error {
	bus, err := m.c.Connect(ctx)
	if err != nil {
		return err
	}
	defer bus.Close()
	m.makeTime(ctx, bus)
	var lock io.Closer
	release := func() {
		if lock != nil {
			_ = lock.Close()
			lock = nil
		}
	}
	defer release()
	// What was announced while there was no connection was not heard.
	begins, err := bus.Begun()
	if err != nil {
		return err
	}
	heard := bus.Shutdowns()
	for {
		if isNew := begins && !m.Begun(); isNew {
			m.set(true)
			if m.endAll(ctx, heard) {
				release()
			} else {
				begins = false
			}
		}
		m.set(begins)
		if lock == nil && !begins {
			if lock, err = bus.Delay(); err != nil {
				return err
			}
		}
		if begins, err = next(ctx, heard, begins); err != nil {
			return err
		}
	}
}

// next waits until the bus announces something else than what is known.
func next(ctx context.Context, heard <-chan bool, begins bool) (bool, error) {
	for {
		select {
		case <-ctx.Done():
			return begins, ctx.Err()
		case now, ok := <-heard:
			if !ok {
				return begins, errBusGone
			}
			if now != begins {
				return now, nil
			}
		}
	}
}

// set tells that a shutdown begins or was cancelled, once.
func (m *Manager) set(begins bool) {
	if m.begun.Swap(begins) == begins {
		return
	}
	m.c.Log.Info("the machine shuts down, or does not any more", "shutsDown", begins)
	m.c.Changed(begins)
}

// tries is how often it is looked whether more time was given, each time after twice as long.
const (
	tries    = 5
	firstTry = 100 * time.Millisecond
)

// makeTime asks for as much time as the periods need. With less the pods of the last periods
// end with the machine, which is still better than no time at all.
func (m *Manager) makeTime(ctx context.Context, bus Bus) {
	most, err := bus.MaxDelay()
	if err == nil && most < m.Grace() {
		err = bus.SetMaxDelay(m.Grace())
		for wait, n := firstTry, 0; err == nil && most < m.Grace() && n < tries; wait, n = 2*wait, n+1 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			most, err = bus.MaxDelay()
		}
	}
	if err == nil && most < m.Grace() {
		err = fmt.Errorf("a shutdown is delayed for at most %s, and the pods were to have %s; set InhibitDelayMaxSec in /etc/systemd/logind.conf", most, m.Grace())
	}
	if err != nil {
		m.c.Log.Warn("the pods may have less time to end when the machine shuts down", "error", err)
	}
}

// endAll ends the pods, period by period. It returns false where the shutdown was cancelled
// meanwhile.
func (m *Manager) endAll(ctx context.Context, heard <-chan bool) (done bool) {
	var active []pods.Pod
	for _, p := range m.c.Known.All() {
		if p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed {
			active = append(active, p)
		}
	}
	for _, g := range groups(m.c.Periods, active) {
		if len(g.pods) == 0 {
			continue
		}
		for _, p := range g.pods {
			m.c.End(p, g.grace(p))
		}
		if !m.wait(ctx, heard, g) {
			return false
		}
	}
	return true
}

// wait waits until all pods of a group are down or their time is over; false where the shutdown
// was cancelled.
func (m *Manager) wait(ctx context.Context, heard <-chan bool, g group) bool {
	over := time.NewTimer(g.Grace)
	defer over.Stop()
	for {
		left := 0
		for _, p := range g.pods {
			if m.isUp(p) {
				left++
			}
		}
		if left == 0 {
			return true
		}
		select {
		case <-m.change:
		case <-over.C:
			m.c.Log.Warn("pods were not down in time for the machine's shutdown", "pods", left, "priority", g.Priority, "grace", g.Grace)
			return true
		case begins, ok := <-heard:
			if ok && !begins {
				return false
			}
			if !ok {
				return true // nobody waits for the lock any more
			}
		case <-ctx.Done():
			return true
		}
	}
}

// isUp says whether anything of a pod runs.
func (m *Manager) isUp(p pods.Pod) bool {
	now, ok := m.c.Known.Get(p.Key.UID)
	return ok && now.Sandbox.ID != ""
}
