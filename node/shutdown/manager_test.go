package shutdown

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// machine is a stand-in for logind, and for the node that ends the pods.
type machine struct {
	t         *testing.T
	known     *pods.Projection
	manager   *Manager
	shutdowns chan bool

	mu       sync.Mutex
	most     time.Duration
	asked    time.Duration // for how long it was asked to delay
	locks    int           // how many are held
	delays   int           // how often one was taken
	begun    bool          // what who connects is told
	changed  []bool
	ended    []string         // in their order
	graces   map[string]int64 // by pod
	stubborn map[string]bool  // pods that do not end
	moved    chan struct{}    // closed and replaced with each change
}

func newMachine(t *testing.T, periods []Period) *machine {
	m := &machine{
		t: t, known: pods.New(), shutdowns: make(chan bool, 1), most: 5 * time.Second,
		graces: map[string]int64{}, stubborn: map[string]bool{}, moved: make(chan struct{}),
	}
	m.manager = New(Config{
		Periods: periods, Connect: func(context.Context) (Bus, error) { return m, nil }, Known: m.known,
		End: m.end, Changed: func(begins bool) { m.change(func() { m.changed = append(m.changed, begins) }) },
		Log: slog.New(slog.DiscardHandler), Retry: time.Millisecond,
	})
	return m
}

func (m *machine) run() {
	ctx, cancel := context.WithCancel(m.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.manager.Run(ctx) }()
	m.t.Cleanup(func() { cancel(); <-done })
}

// change does something to the machine, and wakes who waits for that.
func (m *machine) change(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
	close(m.moved)
	m.moved = make(chan struct{})
}

// until waits for something to come true of the machine.
func (m *machine) until(what string, holds func() bool) {
	m.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		m.mu.Lock()
		ok, moved := holds(), m.moved
		m.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-moved:
		case <-deadline:
			m.t.Fatalf("%s: not within 30 s; ended %v, locks %d, changed %v", what, m.ended, m.locks, m.changed)
		}
	}
}

// pod lets a pod run on the machine.
func (m *machine) pod(name string, priority int32, grace int64) {
	p := podOf(name, priority, grace)
	p.Object.Name, p.Object.UID = name, types.UID(name)
	m.known.Take(fact.Fact{Pod: pods.KeyOf(p.Object), Body: fact.SpecSeen{Object: p.Object}})
	m.known.Take(fact.Fact{Pod: pods.KeyOf(p.Object), Body: fact.SetUpDone{SandboxID: "s"}})
}

func (m *machine) end(p pods.Pod, grace int64) {
	m.change(func() { m.ended, m.graces[p.Key.Name] = append(m.ended, p.Key.Name), grace })
	if m.stubborn[p.Key.Name] {
		return
	}
	down := fact.Fact{Pod: p.Key, Body: fact.TornDown{}}
	m.known.Take(down)
	m.manager.Hear(down)
}

func (m *machine) MaxDelay() (time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most, nil
}

func (m *machine) SetMaxDelay(d time.Duration) error {
	m.change(func() { m.asked, m.most = d, d })
	return nil
}

type lock struct{ m *machine }

func (l lock) Close() error { l.m.change(func() { l.m.locks-- }); return nil }

func (m *machine) Delay() (io.Closer, error) {
	m.change(func() { m.locks, m.delays = m.locks+1, m.delays+1 })
	return lock{m}, nil
}

func (m *machine) Begun() (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.begun, nil
}

func (m *machine) Shutdowns() <-chan bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.shutdowns
}

func (m *machine) Close() error { return nil }

// The pods end by priority, each in its time or its group's, and only then the machine may go on.
func TestPodsEndBeforeTheMachine(t *testing.T) {
	m := newMachine(t, []Period{{0, 20 * time.Second}, {1000, 10 * time.Second}, {SystemCritical, 5 * time.Second}})
	m.pod("dns", SystemCritical, 30)
	m.pod("web", 0, 15)
	m.pod("batch", -10, 600)
	m.pod("done", 0, 30)
	m.known.SetStatus("done", v1.PodStatus{Phase: v1.PodSucceeded})
	m.run()
	m.until("a lock is taken, with enough time", func() bool { return m.locks == 1 && m.asked == 35*time.Second })
	if m.manager.Begun() {
		t.Error("it shuts down before it was told to")
	}
	m.shutdowns <- true
	m.until("the machine may go on", func() bool { return m.locks == 0 })
	if !m.manager.Begun() {
		t.Error("it does not know that the machine shuts down")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.ended) != 3 || m.ended[2] != "dns" || slices.Contains(m.ended, "done") {
		t.Errorf("ended in the order %v", m.ended)
	}
	if m.graces["web"] != 15 || m.graces["batch"] != 20 || m.graces["dns"] != 5 {
		t.Errorf("grace periods %v", m.graces)
	}
	if !slices.Equal(m.changed, []bool{true}) {
		t.Errorf("told %v", m.changed)
	}
}

// A pod that does not end holds up the next group for its own group's time, and no longer.
func TestAStubbornPod(t *testing.T) {
	m := newMachine(t, []Period{{0, 50 * time.Millisecond}, {SystemCritical, 50 * time.Millisecond}})
	m.pod("stubborn", 0, 30)
	m.pod("dns", SystemCritical, 30)
	m.stubborn["stubborn"], m.stubborn["dns"] = true, true
	m.run()
	m.until("a lock is taken", func() bool { return m.locks == 1 })
	m.shutdowns <- true
	m.until("the machine may go on", func() bool { return m.locks == 0 })
	if !slices.Equal(m.ended, []string{"stubborn", "dns"}) {
		t.Errorf("ended in the order %v", m.ended)
	}
}

// A shutdown that is cancelled spares the pods of later groups, and the next one is delayed again.
func TestCancelled(t *testing.T) {
	m := newMachine(t, []Period{{0, time.Hour}, {SystemCritical, time.Hour}})
	m.pod("stubborn", 0, 30)
	m.pod("dns", SystemCritical, 30)
	m.stubborn["stubborn"] = true
	m.run()
	m.until("a lock is taken", func() bool { return m.locks == 1 })
	m.shutdowns <- true
	m.until("the first group ends", func() bool { return len(m.ended) == 1 })
	m.shutdowns <- false
	m.until("it is told", func() bool { return slices.Equal(m.changed, []bool{true, false}) })
	if m.manager.Begun() || m.locks != 1 {
		t.Errorf("it shuts down: %t, locks %d", m.manager.Begun(), m.locks)
	}
	if slices.Contains(m.ended, "dns") {
		t.Error("the later group was ended, too")
	}
	m.stubborn["stubborn"] = false
	m.shutdowns <- true
	m.until("the machine may go on the next time", func() bool { return m.locks == 0 })
	m.shutdowns <- false
	m.until("a lock is taken again", func() bool { return m.locks == 1 })
}

// A bus that is away is tried again; no lock is left over.
func TestBusComesBack(t *testing.T) {
	m := newMachine(t, []Period{{0, time.Second}})
	var once sync.Once
	connect := m.manager.c.Connect
	m.manager.c.Connect = func(ctx context.Context) (b Bus, err error) {
		once.Do(func() { err = errors.New("no bus") })
		if err != nil {
			return nil, err
		}
		return connect(ctx)
	}
	m.run()
	m.until("a lock is taken", func() bool { return m.locks == 1 })
	m.change(func() { close(m.shutdowns); m.shutdowns = make(chan bool, 1) })
	m.until("the lock goes with the bus, and another is taken", func() bool { return m.locks == 1 && m.delays == 2 })
}

// A shutdown that is cancelled while there is no connection is over; one that began meanwhile ends the pods.
func TestWhatTheBusSaysAfterItsLoss(t *testing.T) {
	m := newMachine(t, []Period{{0, time.Hour}})
	m.pod("web", 0, 30)
	m.pod("stubborn", 0, 30)
	m.stubborn["stubborn"] = true
	m.run()
	m.until("a lock is taken", func() bool { return m.locks == 1 })
	lose := func(begun bool) {
		m.change(func() { close(m.shutdowns); m.shutdowns, m.begun = make(chan bool, 1), begun })
	}
	m.shutdowns <- true
	m.until("the pods are ended", func() bool { return len(m.ended) == 2 })
	lose(false)
	m.until("its end is told, and a lock is taken", func() bool { return slices.Equal(m.changed, []bool{true, false}) && m.locks == 1 })
	lose(true)
	m.until("the beginning is told", func() bool { return slices.Equal(m.changed, []bool{true, false, true}) })
	m.until("what runs is ended", func() bool { return slices.Contains(m.ended[2:], "stubborn") })
}

func TestNothingWithoutPeriods(t *testing.T) {
	m := New(Config{Connect: func(context.Context) (Bus, error) { t.Error("it connects"); return nil, errors.New("no") }})
	m.Run(t.Context())
}
