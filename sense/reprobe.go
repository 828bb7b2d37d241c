package sense

import (
	"context"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/lanes"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/probe"
)

// Reprobe makes one more request, with patience, after a probe attempt has timed
// out: whether the answer comes late or never is what tells an application that
// is slow from one that hangs, and the probe itself never waits to see it. What
// is learnt is a fact and counts for no threshold.
type Reprobe struct {
	manned
	// Ask makes one request and waits for the answer so long; false: it was cut short.
	Ask func(context.Context, probe.Target, time.Duration) (fact.Probed, bool)
	// Target finds what a probe asks.
	Target func(probe.Key) (probe.Target, bool)

	mu sync.Mutex
	// asked is when each probe was last asked again; busy are those under way.
	asked map[probe.Key]time.Time
	busy  map[probe.Key]bool
	lanes *lanes.Lanes[probe.Key]
}

const (
	// patienceTimes and maxPatience say how much longer than the probe's timeout an
	// answer is waited for; where that is not at least twice as long, nothing would
	// be learnt.
	patienceTimes = 10
	maxPatience   = 30 * time.Second
	// askEvery bounds what one failing probe is asked, maxAsks what goes on at once.
	askEvery = time.Minute
	maxAsks  = 16
)

// Run implements [Source].
func (a *Reprobe) Run(ctx context.Context, known pods.Registry, emit func(fact.Fact)) error {
	a.mu.Lock()
	a.asked, a.busy, a.lanes = map[probe.Key]time.Time{}, map[probe.Key]bool{}, lanes.New[probe.Key](ctx)
	a.mu.Unlock()
	leave := a.man(ctx, known, emit)
	<-ctx.Done()
	leave()
	a.lanes.Wait()
	return nil
}

// Hear asks again after an attempt that timed out.
func (a *Reprobe) Hear(f fact.Fact) {
	b, ok := f.Body.(fact.Probed)
	at := a.Load()
	if at == nil || !ok || b.Verdict != fact.Failure || b.Evidence == nil || !b.Evidence.Timeout || b.Evidence.Handler == fact.Exec {
		return
	}
	key := probe.Key{Pod: f.Pod.UID, Container: f.Container, Kind: b.Probe, Attempt: f.Attempt}
	t, ok := a.Target(key)
	if !ok || t.Spec == nil {
		return
	}
	timeout := time.Duration(max(t.Spec.TimeoutSeconds, 1)) * time.Second
	patience := min(patienceTimes*timeout, maxPatience)
	if patience < 2*timeout || !a.begin(key) {
		return
	}
	a.lanes.Do(key, func(ctx context.Context) {
		defer a.end(key)
		began := time.Now()
		said, whole := a.Ask(ctx, t, patience)
		again := fact.AskedAgain{
			Probe: b.Probe, Patience: patience, Timeout: timeout,
			Verdict: said.Verdict, Message: said.Message, Took: time.Since(began), Evidence: said.Evidence,
		}
		again.Cut = !whole || disturbed(at.known, f, again)
		at.emit(fact.Fact{
			At: began.UTC(), Pod: f.Pod, Container: f.Container, Attempt: f.Attempt, Because: []fact.ID{f.ID}, Body: again,
		})
	})
}

// disturbed says whether a request that failed early did so because the container
// was being ended meanwhile, so that it says nothing about the application.
func disturbed(known pods.Registry, f fact.Fact, again fact.AskedAgain) bool {
	if again.Verdict == fact.Success || again.Verdict == fact.Warning {
		return false
	}
	if e := again.Evidence; e != nil && (e.Timeout || e.Status != 0) {
		return false
	}
	p, _ := known.Get(f.Pod.UID)
	c, ok := p.Containers[f.Container]
	return !ok || c.Attempt != f.Attempt || !c.Running || c.Kill != 0
}

func (a *Reprobe) begin(key probe.Key) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	for k, at := range a.asked {
		if now.Sub(at) >= askEvery {
			delete(a.asked, k)
		}
	}
	if _, lately := a.asked[key]; lately || a.busy[key] || len(a.busy) >= maxAsks {
		return false
	}
	a.asked[key], a.busy[key] = now, true
	return true
}

func (a *Reprobe) end(key probe.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.busy, key)
}
