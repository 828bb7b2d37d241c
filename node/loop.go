package node

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/pods"
)

// memory is what the loop needs of the journal.
type memory interface {
	// Next reserves n consecutive ids.
	Next(n int) fact.ID
	// Append writes facts before it returns; a disk that fails is the journal's to
	// handle, and never stops pods. A fact that comes alone may be folded into the
	// run of equal ones before it.
	Append(facts ...fact.Fact) error
}

// world is everything outside the loop that a turn touches, always after the
// turn's facts are in the journal, and never waiting.
type world interface {
	// act attempts the effect of a decision; what comes of it is submitted as facts.
	act(p pods.Pod, decision fact.Fact)
	// publish shows the pod's status to the API server.
	publish(pod fact.Pod, status v1.PodStatus)
	// probe makes the given set the probes that run for the pod.
	probe(p pods.Pod, wanted []health.Probe)
	// record hears of each fact about a pod.
	record(f fact.Fact)
	// announce posts the Kubernetes events of a fact.
	announce(pod *v1.Pod, f fact.Fact)
	// changed hears of a pod whose object is another than before.
	changed(p pods.Pod)
	// gone says that nothing of the pod is left.
	gone(p pods.Pod)
}

// inbox takes what is observed. It is apart from the loop that empties it, because the
// parts that the loop acts through hand in facts themselves.
type inbox struct {
	clock clock
	// allowed takes out of a fact what may not be kept. It may wait for the API server.
	allowed func(fact.Fact) fact.Fact
	facts   chan fact.Fact
	beats   chan struct{} // taken between turns, to show that there is progress
	done    chan struct{} // closed when nobody takes facts any more
}

func newInbox(c clock, allowed func(fact.Fact) fact.Fact) inbox {
	return inbox{clock: c, allowed: allowed, facts: make(chan fact.Fact, 1024), beats: make(chan struct{}), done: make(chan struct{})}
}

// submit hands a fact to the loop. It blocks when the loop is far behind (back
// pressure, not loss), and must not be called from the loop itself. The fact loses its
// secrets here, and the log lines that its namespace does not let be kept, before anything
// is decided by it or written.
func (i inbox) submit(f fact.Fact) {
	i.clock.stamp(&f)
	f = i.allowed(fact.Redacted(f))
	select {
	case i.facts <- f: // first of all: what is said at the end is still taken
		return
	default:
	}
	select {
	case i.facts <- f:
	case <-i.done:
	}
}

// waiting drains what has come meanwhile, so that one write serves many facts.
func (i inbox) waiting() []fact.Fact {
	var more []fact.Fact
	for len(more) < 255 {
		select {
		case f := <-i.facts:
			more = append(more, f)
		default:
			return more
		}
	}
	return more
}

// loopConfig is what a loop works with.
type loopConfig struct {
	inbox
	memory memory
	world  world
	known  *pods.Projection
	policy health.Policy
	log    *slog.Logger
	// node is what is known of the node: what room there is rests on it. It is asked
	// during a turn and must not wait.
	node func() health.Node
	// first is what the runtime had when the agent started.
	first cri.Snapshot
}

// loop is the one place where facts become decisions. Nobody but its maker holds it:
// the others have the registry that it keeps, and the inbox to hand in facts.
type loop struct {
	loopConfig

	// busy is when the turn under way began, in Unix nanoseconds; 0 between turns.
	busy atomic.Int64

	pods map[types.UID]*pod // of the goroutine that turns
	// told are the statuses that the API server knows of pods whose spec comes next.
	told map[types.UID]fact.Fact
}

func newLoop(c loopConfig) *loop {
	return &loop{loopConfig: c, pods: map[types.UID]*pod{}, told: map[types.UID]fact.Fact{}}
}

// take takes one fact at once, in place of the loop: only before it runs, or
// after it ended.
func (l *loop) take(f fact.Fact) {
	l.clock.stamp(&f)
	f = l.allowed(fact.Redacted(f))
	l.turn([]fact.Fact{f})
}

// finish takes what the last effects said, after run has returned and nobody
// submits any more, and tells that the agent ends.
func (l *loop) finish(stopped fact.AgentStopped) {
	for more := l.waiting(); len(more) > 0; more = l.waiting() {
		l.turn(more)
	}
	l.take(fact.Fact{Body: stopped})
}

// run takes facts until ctx ends.
func (l *loop) run(ctx context.Context) {
	defer close(l.done)
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-l.facts:
			l.turn(append([]fact.Fact{f}, l.waiting()...))
		case <-l.beats:
		}
	}
}

// keep writes what led to something in one call, and each fact that led to
// nothing in one of its own, so that it can be folded.
func (l *loop) keep(written, lone []fact.Fact) {
	var errs []error
	if len(written) > 0 {
		errs = append(errs, l.memory.Append(written...))
	}
	for _, f := range lone {
		errs = append(errs, l.memory.Append(f))
	}
	if err := errors.Join(errs...); err != nil {
		l.log.Error("facts not kept", "count", len(written)+len(lone), "error", err)
	}
}

// busySince is when the turn under way began; zero between turns.
func (l *loop) busySince() time.Time {
	if at := l.busy.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// order is a decision that was made, with the pod as it was then.
type order struct {
	pod      pods.Pod
	decision fact.Fact
}

// turn is law 1 in one function: facts and decisions go into the journal, and
// only then the world hears of them.
func (l *loop) turn(batch []fact.Fact) {
	l.busy.Store(time.Now().UnixNano())
	defer l.busy.Store(0)
	var written, lone []fact.Fact
	var effects []order
	about := map[types.UID]*v1.Pod{}
	touched := map[types.UID]*pod{}
	looked := false
	for len(batch) > 0 {
		f := batch[0]
		if room, needed := l.roomFor(f); needed && !looked {
			f, looked = room, true // its turn comes after what it rests on
		} else {
			batch, looked = batch[1:], false
		}
		f.ID = l.memory.Next(1)
		facts, p, follow := l.step(f)
		batch = append(follow, batch...)
		if len(facts) == 1 && quiet(f) {
			lone = append(lone, f)
		} else {
			written = append(written, facts...)
		}
		if p == nil {
			continue
		}
		about[p.Key.UID] = p.Object
		if _, tick := f.Body.(fact.TimePassed); tick {
			p.wakeAt = time.Time{} // its timer is spent
		} else if quiet(f) && len(facts) < 2 {
			continue
		}
		touched[p.Key.UID] = p
		for _, d := range facts {
			if fact.IsDecided(d.Body) {
				effects = append(effects, order{p.Pod, d})
			}
		}
	}

	l.keep(written, lone)
	all := append(written, lone...)
	for _, f := range all {
		if about[f.Pod.UID] != nil {
			l.world.record(f)
		}
	}
	for _, f := range written {
		if p := touched[f.Pod.UID]; p != nil && isOne[fact.SpecSeen](f) {
			l.world.changed(p.Pod)
		}
	}
	for _, e := range effects {
		l.world.act(e.pod, e.decision)
	}
	for _, p := range touched {
		l.show(p)
	}
	if i := slices.IndexFunc(written, health.MakesRoom); i >= 0 {
		l.tellRoom(written[i])
	}
	// Events last: others act on the status, and both go into the same database.
	for _, f := range all {
		if object := about[f.Pod.UID]; object != nil {
			l.world.announce(object, f)
		}
	}
}

// tellRoom tells the pods whose resize found no room that another made some.
func (l *loop) tellRoom(by fact.Fact) {
	for _, p := range l.pods {
		if health.WaitsForRoom(p.state) {
			// The loop must not wait for itself.
			go l.submit(fact.Fact{Pod: p.Key, Because: []fact.ID{by.ID}, Body: fact.RoomMade{By: by.Pod}})
		}
	}
}

// roomFor looks at what room there is where health wants to know before it takes
// a fact.
func (l *loop) roomFor(f fact.Fact) (fact.Fact, bool) {
	p := l.pods[f.Pod.UID]
	if p == nil || !health.NeedsRoom(p.state, f) {
		return fact.Fact{}, false
	}
	object := p.Object
	if b, ok := f.Body.(fact.SpecSeen); ok {
		object = b.Object
	}
	return l.lookForRoom(object, f), true
}

// lookForRoom is what room there is for a pod now, with the clocks of the fact that
// made somebody ask.
func (l *loop) lookForRoom(object *v1.Pod, f fact.Fact) fact.Fact {
	return fact.Fact{Pod: f.Pod, Seen: f.Seen, Mono: f.Mono, Boot: f.Boot, Body: health.SeeRoom(l.node(), holders(l.known, f.Pod.UID), object)}
}

// step takes one fact through health. It returns what has to be written: the
// fact itself unless it is a tick that changed nothing, then the decisions.
// What follows are facts about a pod met for the first time, to be taken next.
func (l *loop) step(f fact.Fact) (written []fact.Fact, p *pod, follow []fact.Fact) {
	if f.Pod.UID == "" {
		return []fact.Fact{f}, nil, nil
	}
	p = l.pods[f.Pod.UID]
	if isOne[fact.AdoptedStatus](f) && (p == nil || health.Settled(p.state)) {
		if p == nil {
			l.told[f.Pod.UID] = f
		}
		return nil, nil, nil // the journal knows better
	}
	if p != nil && !fact.KeepsLogLines(p.Object) {
		f = fact.WithoutLogLines(f)
	}
	spec, seen := f.Body.(fact.SpecSeen)
	switch {
	case p == nil && !seen:
		return nil, nil, nil // a late word about a pod that is gone
	case p == nil:
		p = newPod(f.Pod, l.policy)
		l.pods[f.Pod.UID] = p
		fallthrough
	case seen && !health.Settled(p.state):
		follow = l.meet(spec.Object, f)
	}
	f.Because = p.because(f)
	l.note(p, f)
	next, decisions := health.Step(p.state, f)
	p.state = next
	if quiet(f) && len(decisions) == 0 {
		if _, tick := f.Body.(fact.TimePassed); tick {
			return nil, p, nil
		}
		return []fact.Fact{f}, p, nil
	}
	written = []fact.Fact{f}
	if len(decisions) > 0 {
		first := l.memory.Next(len(decisions))
		for i, d := range decisions {
			decision := d.Fact(first+fact.ID(i), f)
			l.note(p, decision)
			written = append(written, decision)
		}
	}
	if c, due := l.checkpoint(p, f, len(written)); due {
		written = append(written, c)
	}
	return written, p, follow
}

// meet gives what follows from meeting a pod for the first time: what of it runs
// already, or what room there is for it. They have the clocks of the fact that
// brought it.
func (l *loop) meet(object *v1.Pod, f fact.Fact) []fact.Fact {
	told, ok := l.told[f.Pod.UID]
	delete(l.told, f.Pod.UID)
	if !ok {
		return []fact.Fact{l.lookForRoom(object, f)}
	}
	follow := adopt(object, told.Body.(fact.AdoptedStatus).Status, l.first)
	for i := range follow {
		follow[i].Pod, follow[i].Seen, follow[i].Mono, follow[i].Boot = f.Pod, f.Seen, f.Mono, f.Boot
	}
	return follow
}

// quiet tells facts that come again and again and mostly change nothing.
func quiet(f fact.Fact) bool {
	switch f.Body.(type) {
	case fact.TimePassed, fact.Probed, fact.Sampled:
		return true
	}
	return false
}

// checkpointEvery bounds what a restart replays of one pod.
const checkpointEvery = 200

func (l *loop) checkpoint(p *pod, cause fact.Fact, written int) (fact.Fact, bool) {
	p.since += written
	if p.since < checkpointEvery {
		return fact.Fact{}, false
	}
	body, err := p.checkpoint()
	if err != nil {
		l.log.Error("no checkpoint of the pod's health", "pod", p.Key.String(), "error", err)
		return fact.Fact{}, false
	}
	p.since = 0
	c := fact.Fact{ID: l.memory.Next(1), Pod: p.Key, Body: body}
	c.Seen, c.Mono, c.Boot = cause.Seen, cause.Mono, cause.Boot
	return c, true
}

// show lets the world see what a turn changed: status, probes, the next wake-up.
func (l *loop) show(p *pod) {
	if p.gone {
		delete(l.pods, p.Key.UID)
		l.known.Forget(p.Key.UID)
		l.setWake(p, time.Time{})
		l.world.probe(p.Pod, nil)
		l.world.gone(p.Pod)
		return
	}
	status := health.Status(p.state)
	changed := !apiequality.Semantic.DeepEqual(p.Status, status)
	l.known.SetStatus(p.Key.UID, status)
	p.Status = status
	if changed {
		l.world.publish(p.Key, status)
	}
	l.world.probe(p.Pod, health.Probes(p.state))
	l.setWake(p, health.Deadline(p.state))
}

// soonest keeps a clock that is stepped back and forth from turning the loop hot.
const soonest = 5 * time.Millisecond

// setWake keeps the pod's only timer at its deadline. Only the loop calls it.
func (l *loop) setWake(p *pod, at time.Time) {
	if at.Equal(p.wakeAt) {
		return
	}
	p.wakeAt = at
	if p.wake != nil {
		p.wake.Stop()
		p.wake = nil
	}
	if at.IsZero() {
		return
	}
	key := p.Key
	p.wake = time.AfterFunc(max(time.Until(at), soonest), func() {
		l.submit(fact.Fact{Pod: key, Body: fact.TimePassed{}})
	})
}
