package pressure

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/clock"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
)

// Config is what the manager needs of the node.
type Config struct {
	Thresholds []Threshold
	// Transition is how long a condition goes on after it was last seen.
	Transition time.Duration
	// SoftGrace is the most time, in seconds, that a pod has to end for a soft
	// threshold.
	SoftGrace int64

	// Read looks at the machine.
	Read func() Readings
	// Wake ends a pause before its time; nil: nothing does. Looked hears each look,
	// so that who wakes knows when to; it may be nil.
	Wake   <-chan struct{}
	Looked func(Readings)
	// Pods measures the pods that have something running.
	Pods func(context.Context, Signal) []health.MeasuredPod
	// Evict asks for the end of a pod, Ended says whether it came.
	Evict func(fact.Pod, fact.EvictionNeeded)
	Ended func(fact.Pod, Signal) bool
	// Reclaim removes what nobody needs from a disk.
	Reclaim func(context.Context, Signal) error

	// Changed hears that the conditions are others than before, Tell of what was
	// seen then and around each eviction.
	Changed func()
	Tell    func(fact.NodeSignals)
	// Event records a warning on the Node object.
	Event func(reason, message string)
	Clock clock.WithTicker
	Log   *slog.Logger
}

// Manager watches over one node. Run is its loop; Conditions may be called from
// anywhere.
type Manager struct {
	c     Config
	state *state

	mu         sync.RWMutex
	conditions []v1.NodeConditionType

	// The rest belongs to Run's goroutine.
	eventAt  map[v1.ResourceName]time.Time
	helpless time.Time
	asked    map[fact.Pod]bool // to go, and still there
	// relieving says that the last look found something to do.
	relieving bool
}

// New makes a manager that does nothing until Run.
func New(c Config) *Manager {
	return &Manager{c: c, state: newState(c.Thresholds, c.Transition), eventAt: map[v1.ResourceName]time.Time{}, asked: map[fact.Pod]bool{}}
}

// Conditions are the pressures that the node is under, sorted. The slice is not
// to be changed.
func (m *Manager) Conditions() []v1.NodeConditionType {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.conditions
}

// Run looks, and does what has to be done, until ctx ends.
func (m *Manager) Run(ctx context.Context) {
	for ctx.Err() == nil {
		pause := m.c.Clock.NewTimer(m.round(ctx))
		wake := m.c.Wake
		if m.relieving {
			wake = nil // what was just done is given its time to show
		}
		select {
		case <-ctx.Done():
		case <-pause.C():
		case <-wake:
		}
		pause.Stop()
	}
}

func (m *Manager) sleep(ctx context.Context, d time.Duration) {
	timer := m.c.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	}
}

// round is one look and what follows from it. It returns how long the next one
// can wait.
func (m *Manager) round(ctx context.Context) time.Duration {
	readings := m.c.Read()
	conditions, due := m.state.observe(m.c.Clock.Now(), readings)
	m.set(conditions, readings)
	if m.c.Looked != nil {
		m.c.Looked(readings)
	}
	m.relieving = len(due) > 0
	if m.relieving {
		return m.relieve(ctx, due[0], readings)
	}
	return m.state.pause(readings)
}

// set makes the conditions known if they are others than before.
func (m *Manager) set(conditions []v1.NodeConditionType, readings Readings) {
	m.mu.Lock()
	changed := !slices.Equal(m.conditions, conditions)
	m.conditions = conditions
	m.mu.Unlock()
	if changed {
		m.c.Log.Info("the pressure on the node changed", "conditions", conditions)
		m.c.Tell(signals(readings, conditions))
		m.c.Changed()
	}
}

const (
	// unhurried is the pause where nothing can be done, or only slowly.
	unhurried = time.Second
	// goneWithin is how long an evicted pod may take to end before the next is
	// asked to go (kubelet: podCleanupTimeout); it is looked at every goneEvery.
	goneWithin = 30 * time.Second
	goneEvery  = 50 * time.Millisecond
	// eventEvery keeps one pressure from filling the node's events; kubelet's come
	// every 10 s.
	eventEvery = 10 * time.Second
)

// relieve takes back what nobody needs, and if that is not enough asks one pod to
// go, and waits for its end.
func (m *Manager) relieve(ctx context.Context, t Threshold, readings Readings) time.Duration {
	m.announce(t)
	if t.Signal.Disk() {
		if err := m.reclaim(ctx, t.Signal); err != nil {
			m.c.Log.Warn("not all that nobody needs could be removed", "signal", t.Signal, "error", err)
		}
		readings = m.c.Read()
		if r, read := readings[t.Signal]; read && t.relieved(r) {
			return 0 // the next look says so
		}
	}
	victim, ok := m.evict(ctx, t, readings)
	if !ok {
		return unhurried
	}
	m.await(ctx, victim, t)
	if t.Signal.Memory() {
		return 0
	}
	return unhurried
}

func (m *Manager) announce(t Threshold) {
	now, what := m.c.Clock.Now(), t.Signal.Resource()
	if now.Sub(m.eventAt[what]) < eventEvery {
		return
	}
	m.eventAt[what] = now
	m.c.Event("EvictionThresholdMet", fmt.Sprintf("Attempting to reclaim %s", what))
}

// evict asks the pod to go whose turn it is. It is false when there is none.
func (m *Manager) evict(ctx context.Context, t Threshold, readings Readings) (fact.Pod, bool) {
	pods, r := m.c.Pods(ctx, t.Signal), readings[t.Signal]
	victim, needed, ok := health.ChooseToEvict(health.Need{
		Signal: string(t.Signal), Shortage: shortage(t, r), Seen: seen(t, r, pods), Hard: t.Hard(), SoftGrace: m.c.SoftGrace,
	}, m.candidates(pods))
	if !ok {
		m.sayHelpless(t, readings)
		return fact.Pod{}, false
	}
	m.asked[victim] = true
	m.c.Evict(victim, needed)
	m.c.Tell(signals(readings, m.Conditions()))
	m.c.Log.Info("pod evicted", "pod", victim.String(), "signal", t.Signal, "available", r.Available, "message", needed.Message)
	return victim, true
}

// candidates are the pods that were not asked to go yet.
func (m *Manager) candidates(pods []health.MeasuredPod) []health.MeasuredPod {
	candidates, asked := make([]health.MeasuredPod, 0, len(pods)), map[fact.Pod]bool{}
	for i := range pods {
		if m.asked[pods[i].Pod] {
			asked[pods[i].Pod] = true
			continue
		}
		candidates = append(candidates, pods[i])
	}
	m.asked = asked
	return candidates
}

func (m *Manager) sayHelpless(t Threshold, readings Readings) {
	if now := m.c.Clock.Now(); now.Sub(m.helpless) >= time.Minute {
		m.helpless = now
		m.c.Log.Warn("the node runs short, and no pod may be evicted", "signal", t.Signal, "available", readings[t.Signal].Available)
	}
}

// reclaim gives back what nobody needs of a disk. Memory does not wait for it.
func (m *Manager) reclaim(ctx context.Context, s Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- m.c.Reclaim(ctx, s) }()
	look := m.c.Clock.NewTicker(goneEvery)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-look.C():
			if m.memoryIsShort() {
				cancel()
			}
		}
	}
}

// await waits for the end of a pod that was asked to go. Where it has its time for
// that, or goes for something else, memory that becomes short does not wait for it.
func (m *Manager) await(ctx context.Context, pod fact.Pod, t Threshold) {
	deadline := m.c.Clock.Now().Add(goneWithin)
	urgent := t.Signal.Memory() && t.Hard()
	for ctx.Err() == nil && !m.c.Ended(pod, t.Signal) {
		if !urgent && m.memoryIsShort() {
			return
		}
		if !m.c.Clock.Now().Before(deadline) {
			m.c.Log.Warn("an evicted pod takes long to end; the next one may have to go", "pod", pod.String())
			return
		}
		m.sleep(ctx, goneEvery)
	}
}

// memoryIsShort takes a look at memory alone, for its hard threshold.
func (m *Manager) memoryIsShort() bool {
	readings := m.c.Read()
	return slices.ContainsFunc(m.state.thresholds, func(t Threshold) bool {
		r, read := readings[t.Signal]
		return read && t.Signal.Memory() && t.Hard() && t.met(r)
	})
}

// shortage is in the units in which kubelet shows it.
func shortage(t Threshold, r Reading) health.Shortage {
	format := resource.BinarySI
	if what := t.Signal.Resource(); what == health.ResourceInodes || what == health.ResourcePIDs {
		format = resource.DecimalSI
	}
	return health.Shortage{
		Resource: t.Signal.Resource(), Threshold: t.Amount(r.Capacity), Available: resource.NewQuantity(r.Available, format),
	}
}

// seen is the shortage in the form in which it is kept.
func seen(t Threshold, r Reading, pods []health.MeasuredPod) fact.Shortage {
	threshold := t.Amount(r.Capacity)
	s := fact.Shortage{Available: r.Available, Capacity: r.Capacity, Threshold: threshold.Value()}
	for i := range pods {
		s.Pods += pods[i].Usage
	}
	return s
}

// signals is a look in the form in which it is kept. Of the two memories it tells
// the one that is scarcer.
func signals(readings Readings, conditions []v1.NodeConditionType) fact.NodeSignals {
	memory := readings[MemoryAvailable]
	if pods, read := readings[AllocatableMemory]; read && pods.Available < memory.Available {
		memory = pods
	}
	disk := readings[NodeFSAvailable]
	s := fact.NodeSignals{
		MemoryAvailable: memory.Available, MemoryCapacity: memory.Capacity,
		NodeFSAvailable: disk.Available, NodeFSCapacity: disk.Capacity, NodeFSInodes: readings[NodeFSInodesFree].Available,
		PIDsAvailable: readings[PIDAvailable].Available,
	}
	for _, c := range conditions {
		s.Conditions = append(s.Conditions, string(c))
	}
	return s
}
