package observe

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/shadow"
)

// memory is what the loop needs of the journal.
type memory interface {
	Next(n int) fact.ID
	Append(facts ...fact.Fact) error
}

// loop takes facts from all sources, one after the other. Only its goroutine touches
// what it keeps, but for pods and runs, which others may ask.
type loop struct {
	memory memory
	clock  clock
	log    *slog.Logger
	pods   *pods.Projection
	runs   *runs
	// heard is called with each fact that was written, in order, and must not wait.
	heard func(fact.Fact)
	// keep takes the log lines out of a fact that its namespace does not let be kept; nil: it lets all. It may wait for
	// the API server.
	keep func(fact.Fact) fact.Fact

	shed    shedding
	facts   chan fact.Fact
	done    chan struct{}
	shadows map[types.UID]shadow.State
	// since counts what was written of a pod after its checkpoint.
	since map[types.UID]int
	// early are facts about pods that the API server has not told of yet.
	early map[types.UID][]fact.Fact
	// once is what happens once and was told.
	once map[types.UID]map[string]bool
	// images are the newest words of why an image could not be pulled.
	images map[containerOf]string
	gone   map[types.UID]gone
	lost   bool
}

// gone is a pod of which the last was heard.
type gone struct {
	at time.Time
	// lines says that its own object allowed to keep lines of its logs.
	lines bool
}

// containerOf names a container.
type containerOf struct {
	pod       types.UID
	container string
}

func newLoop(m memory, c clock, log *slog.Logger) *loop {
	return &loop{
		memory: m, clock: c, log: log, pods: pods.New(), runs: newRuns(), heard: func(fact.Fact) {},
		facts: make(chan fact.Fact, 4096), done: make(chan struct{}),
		shadows: map[types.UID]shadow.State{}, since: map[types.UID]int{}, early: map[types.UID][]fact.Fact{}, once: map[types.UID]map[string]bool{}, images: map[containerOf]string{}, gone: map[types.UID]gone{},
	}
}

// submit hands a fact to the loop. It waits where the loop is far behind. The fact
// loses its secrets here, before it is written.
func (l *loop) submit(f fact.Fact) {
	if l.shed.drops(f) {
		return
	}
	f = fact.RedactedBeside(f)
	l.clock.stamp(&f)
	select {
	case l.facts <- f:
	case <-l.done:
	}
}

// sweepEvery is how often early facts of pods that nobody knows are looked through.
const sweepEvery = 5 * time.Second

// run takes facts until ctx ends and no source is left that could send any.
func (l *loop) run(ctx context.Context) {
	defer close(l.done)
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case f := <-l.facts:
			l.take(f)
		case now := <-ticker.C:
			l.sweep(now)
		case <-ctx.Done():
			for {
				select {
				case f := <-l.facts:
					l.take(f)
				default:
					return
				}
			}
		}
	}
}

const (
	mostEarly = 64
	keepEarly = 10 * time.Second
	keepGone  = 2 * time.Minute
)

// take takes one fact.
func (l *loop) take(f fact.Fact) {
	uid := f.Pod.UID
	if uid == "" {
		l.write(f)
		return
	}
	_, known := l.pods.Get(uid)
	_, isGone := l.gone[uid]
	_, first := f.Body.(fact.SpecSeen)
	if !known && !first && !isGone {
		if held := l.early[uid]; len(held) < mostEarly {
			l.early[uid] = append(held, f)
		}
		return
	}
	l.step(f)
	for _, held := range l.early[uid] {
		l.step(held)
	}
	delete(l.early, uid)
}

// kept returns a fact without lines of a log that may not be kept: not of a pod whose annotations are not known.
func (l *loop) kept(f fact.Fact) fact.Fact {
	if fact.HasLogLines(f) && !l.allowsLines(f.Pod.UID) {
		return fact.WithoutLogLines(f)
	}
	if l.keep != nil {
		f = l.keep(f)
	}
	return f
}

// allowsLines reports whether a pod's own object allows, or allowed until it was gone, to keep lines of its logs.
func (l *loop) allowsLines(uid types.UID) bool {
	if p, known := l.pods.Get(uid); known {
		return fact.KeepsLogLines(p.Object)
	}
	return l.gone[uid].lines
}

// step takes a fact of a known pod: what follows from it is written with it.
func (l *loop) step(f fact.Fact) {
	if l.toldBefore(f) {
		return
	}
	f.ID = l.memory.Next(1)
	state, decisions := shadow.Step(l.shadows[f.Pod.UID], f)
	l.shadows[f.Pod.UID] = state
	written := []fact.Fact{f}
	if len(decisions) > 0 {
		first := l.memory.Next(len(decisions))
		for i, d := range decisions {
			written = append(written, d.Fact(first+fact.ID(i), f))
		}
	}
	lines := l.allowsLines(f.Pod.UID)
	l.pods.Take(f)
	l.runs.take(f)
	if b, ok := f.Body.(fact.StatusSeen); ok {
		l.pods.SetStatus(f.Pod.UID, b.Status)
	}
	if c, due := l.checkpoint(f, state, len(written)); due {
		written = append(written, c)
	}
	l.write(written...)
	if _, ok := f.Body.(fact.ObjectGone); ok {
		l.forget(f.Pod.UID, lines)
	}
}

func (l *loop) write(facts ...fact.Fact) {
	for i := range facts {
		facts[i] = l.kept(facts[i])
		if facts[i].ID == 0 {
			facts[i].ID = l.memory.Next(1)
		}
	}
	err := l.memory.Append(facts...)
	if err != nil && !l.lost {
		l.log.Error("facts are not kept", "error", err)
	}
	l.lost = err != nil
	for _, f := range facts {
		l.heard(f)
	}
}

// forget drops what is kept of a pod that is gone, but whether lines of its logs may be kept.
func (l *loop) forget(uid types.UID, lines bool) {
	delete(l.shadows, uid)
	delete(l.since, uid)
	delete(l.once, uid)
	maps.DeleteFunc(l.images, func(of containerOf, _ string) bool { return of.pod == uid })
	l.gone[uid] = gone{at: time.Now(), lines: lines}
}

// sweep writes what was told of pods that the API server does not tell of, and drops
// what is remembered of pods that are gone.
func (l *loop) sweep(now time.Time) {
	for uid, held := range l.early {
		if now.Sub(held[0].Seen) > keepEarly {
			l.write(held...)
			delete(l.early, uid)
			l.gone[uid] = gone{at: now} // until it is heard of, what comes is written at once
		}
	}
	for uid, g := range l.gone {
		if now.Sub(g.at) > keepGone {
			delete(l.gone, uid)
			delete(l.shadows, uid)
			delete(l.once, uid)
		}
	}
}

// checkpointEvery bounds what a restart has to read of one pod.
const checkpointEvery = 200

func (l *loop) checkpoint(f fact.Fact, state shadow.State, written int) (fact.Fact, bool) {
	uid := f.Pod.UID
	if l.since[uid] += written; l.since[uid] < checkpointEvery {
		return fact.Fact{}, false
	}
	pod, ok := l.pods.Get(uid)
	kept, err := json.Marshal(state)
	rest, err2 := json.Marshal(pod)
	if !ok || err != nil || err2 != nil {
		return fact.Fact{}, false
	}
	l.since[uid] = 0
	c := fact.Fact{ID: l.memory.Next(1), Pod: f.Pod, Body: fact.Checkpoint{State: kept, Node: rest}}
	c.Seen, c.Mono, c.Boot = f.Seen, f.Mono, f.Boot
	return c, true
}
