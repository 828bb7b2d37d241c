package probe

import (
	"container/heap"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// Key names a probe of one run of a container.
type Key struct {
	Pod       types.UID
	Container string
	Kind      fact.ProbeKind
	// Attempt is the container's restart count.
	Attempt int32
}

// lateAfter is the lateness from which on an attempt counts as late.
const lateAfter = 100 * time.Millisecond

// Options says what a scheduler needs.
type Options struct {
	// Exec runs exec probes; nil where there are none.
	Exec ExecFunc
	// Result is given every result and when its attempt began, one after the
	// other. A probe is not attempted again before its result was taken, so a
	// Result that blocks makes probes late, and loses none. It may call Set
	// and Remove, but not Close. A success of a probe that has succeeded as
	// often as it has to may come up to 50 ms late, together with others.
	Result func(key Key, began time.Time, probed fact.Probed)
	Log    *slog.Logger
}

// Stats counts what a scheduler did.
type Stats struct {
	Probes   int    // probes that are set
	InFlight int    // attempts under way, or not yet delivered
	Attempts uint64 // attempts begun
	Late     uint64 // those that began more than 100 ms after they were due
	MaxLate  time.Duration
}

// Scheduler attempts every probe that is set when it is due. No probe has two
// attempts at once, and that is also the bound on what runs at once: an attempt
// on a hanging target occupies a socket, never a place that another one needs.
// All methods are safe for concurrent use.
type Scheduler struct {
	begin  func(*plan, doneFunc)
	stop   func()
	result func(Key, time.Time, fact.Probed)
	epoch  time.Time
	wg     sync.WaitGroup

	mu      sync.Mutex
	entries map[Key]*entry
	due     dueHeap
	results []result
	stats   Stats
	closed  bool
	wake    chan struct{} // the earliest due time changed, there are results, or closed
}

// entry is a probe's place in the schedule.
type entry struct {
	key    Key
	target Target
	plan   *plan
	due    time.Time
	late   time.Duration // of the attempt under way
	index  int           // in the heap, -1 while an attempt is under way
	life   int           // counts Sets after a Remove: a result of an earlier life is dropped
	row    int32         // successes in a row
	gone   bool          // removed while an attempt was under way
	parted bool          // the second attempt's extra distance was given
}

type result struct {
	entry  *entry
	life   int
	began  time.Time
	probed fact.Probed
}

// NewScheduler starts a scheduler without probes.
func NewScheduler(o Options) (*Scheduler, error) {
	prober, err := NewProber(o.Exec, o.Log)
	if err != nil {
		return nil, err
	}
	return newScheduler(o.Result, prober.begin, prober.Close), nil
}

func newScheduler(result func(Key, time.Time, fact.Probed), begin func(*plan, doneFunc), stop func()) *Scheduler {
	s := &Scheduler{
		begin: begin, stop: stop, result: result, epoch: time.Now(),
		entries: map[Key]*entry{},
		wake:    make(chan struct{}, 1),
	}
	s.wg.Go(s.run)
	return s
}

// Close ends all attempts and waits; Result is not called after it returned.
func (s *Scheduler) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	poke(s.wake)
	s.stop()
	s.wg.Wait()
}

// Set begins to attempt a probe, or changes what later attempts probe.
func (s *Scheduler) Set(key Key, t Target) {
	s.mu.Lock()
	e := s.entries[key]
	same := e != nil && !e.gone && e.target == t
	s.mu.Unlock()
	if same {
		return
	}
	pl := compile(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	e = s.entries[key]
	switch {
	case e == nil:
		e = &entry{key: key, index: -1}
		s.entries[key] = e
		s.stats.Probes++
	case e.gone:
		e.gone, e.parted, e.row = false, false, 0
		e.life++
		s.stats.Probes++
		e.target, e.plan = t, pl
		return // it is scheduled when the attempt of its earlier life is over
	default:
		e.target, e.plan = t, pl
		return
	}
	e.target, e.plan = t, pl
	s.begins(e, time.Now())
}

// begins schedules a probe's first attempt.
func (s *Scheduler) begins(e *entry, now time.Time) {
	s.schedule(e, firstDue(e.plan, now, now.Sub(s.epoch), e.key.share()))
}

// Remove ends a probe. An attempt under way runs out, and its result is dropped.
func (s *Scheduler) Remove(key Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e == nil || e.gone {
		return
	}
	s.stats.Probes--
	if e.index < 0 {
		e.gone = true
		return
	}
	heap.Remove(&s.due, e.index)
	delete(s.entries, key)
}

// Stats gives the counts so far.
func (s *Scheduler) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := s.stats
	stats.InFlight = len(s.entries) - len(s.due)
	return stats
}

// schedule puts an entry into the heap. The lock is held.
func (s *Scheduler) schedule(e *entry, due time.Time) {
	e.due = due
	heap.Push(&s.due, e)
	if e.index == 0 {
		poke(s.wake)
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run begins attempts when they are due, and hands over results. One goroutine
// does both because to be woken is what costs: see [Scheduler.waits].
func (s *Scheduler) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var batch []result
	for {
		batch = s.deliver(batch)
		e, wait := s.nextDue()
		switch {
		case e != nil:
			s.launch(e)
			continue
		case wait < 0:
			return
		case wait > 0:
			timer.Reset(wait)
		}
		select {
		case <-timer.C:
		case <-s.wake:
		}
	}
}

// nextDue takes the next entry that is due from the heap; without one it says
// how long to wait, 0 meaning until poked, and -1 that the scheduler is closed.
func (s *Scheduler) nextDue() (*entry, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, -1
	}
	if len(s.due) == 0 {
		return nil, s.atMost(0)
	}
	e := s.due[0]
	late := time.Since(e.due)
	if late < 0 {
		return nil, s.atMost(-late)
	}
	heap.Pop(&s.due)
	e.late = late
	s.stats.Attempts++
	s.stats.MaxLate = max(s.stats.MaxLate, late)
	if late > lateAfter {
		s.stats.Late++
	}
	return e, 0
}

// atMost shortens a wait (0: for ever) while there are results: the attempt that
// they wait for may have been removed. The lock is held.
func (s *Scheduler) atMost(wait time.Duration) time.Duration {
	if len(s.results) == 0 || wait > 0 && wait < patience {
		return wait
	}
	return patience
}

func (s *Scheduler) launch(e *entry) {
	s.mu.Lock()
	pl, life, late := e.plan, e.life, e.late
	s.mu.Unlock()
	s.begin(pl, func(began time.Time, probed fact.Probed) {
		probed.Late = late
		s.mu.Lock()
		s.results = append(s.results, result{entry: e, life: life, began: began, probed: probed})
		waits := s.waits(e, pl, probed.Verdict)
		s.mu.Unlock()
		if !waits {
			poke(s.wake)
		}
	})
}

// patience is how long a result may wait that changes nothing.
const patience = 50 * time.Millisecond

// waits says whether a result may wait for the next attempts that are due, so
// that nobody is woken for it: on a calm machine being woken costs more than all
// that is done then. It changes nothing, being one more success of a probe that
// succeeded as often as it has to, and they are due soon. The lock is held.
func (s *Scheduler) waits(e *entry, pl *plan, v fact.Verdict) bool {
	if v != fact.Success {
		e.row = 0
		return false
	}
	e.row = min(e.row+1, pl.enough+1)
	return e.row > pl.enough && len(s.due) > 0 && time.Until(s.due[0].due) < patience
}

// deliver calls Result with what has come, and schedules what comes next. It uses
// the memory of the batch before, and gives it back.
func (s *Scheduler) deliver(batch []result) []result {
	s.mu.Lock()
	batch, s.results = s.results, batch[:0]
	s.mu.Unlock()
	for i := range batch {
		if s.wanted(&batch[i]) {
			s.result(batch[i].entry.key, batch[i].began, batch[i].probed)
		}
		s.goOn(batch[i].entry, batch[i].life)
	}
	clear(batch)
	return batch
}

func (s *Scheduler) wanted(r *result) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && !r.entry.gone && r.entry.life == r.life
}

// goOn schedules an entry after its attempt of the given life.
func (s *Scheduler) goOn(e *entry, life int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case e.gone:
		delete(s.entries, e.key)
	case e.life != life:
		s.begins(e, now)
	default:
		due := nextDue(e.due, now, e.plan.period)
		if !e.parted {
			e.parted = true
			due = due.Add(parting(e.plan.period, e.key.share()))
		}
		s.schedule(e, onTick(s.epoch, due))
	}
}

// dueHeap orders entries by when they are due.
type dueHeap []*entry

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }

func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push and Pop are for container/heap only.
func (h *dueHeap) Push(x any) {
	e, ok := x.(*entry)
	if !ok {
		return
	}
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop removes the last entry.
func (h *dueHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = -1
	return e
}
