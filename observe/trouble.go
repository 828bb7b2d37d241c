package observe

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/api"
)

// troubles looks at the events of pods in trouble, and of no others: the API server
// has no cheap way to tell a node its own events.
type troubles struct {
	agent  *Agent
	events api.Events
	log    *slog.Logger
	// signals says whether it is seen what the runtime stops.
	signals bool

	mu  sync.Mutex
	due map[types.UID]*trouble
	// met are the pods that were well once.
	met map[types.UID]bool
	// stopped are the containers that the runtime was seen to stop.
	stopped map[containerOf]bool
	// wake tells that something became due sooner.
	wake chan struct{}
}

type trouble struct {
	next time.Time
	// step is how often it was looked since the last news.
	step int
	// calm is set while the pod is well: soon nothing more is to be looked at.
	calm bool
	// fresh is set while all that is known is that the pod is not up yet, or is up.
	fresh bool
	// late is set when the last look at a pod that is well is due.
	late bool
	// looked is set once its events were read.
	looked bool
	// maker is set where it is no pod, but one that makes pods.
	maker *maker
}

// rank says who is looked at first of those that are due: of whom nothing was read yet, then
// those with the freshest news.
func (t *trouble) rank() int {
	if !t.looked {
		return -1
	}
	return t.step
}

// pauses are the times between looks after the last news of a pod in trouble; the last
// one goes on as long as the trouble does. kubelet posts events within a second or so.
var pauses = []time.Duration{300 * time.Millisecond, 1200 * time.Millisecond, 3 * time.Second, 7 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute}

// looksPerSecond and looksAtOnce bound the requests for all pods together: some at once
// when several pods have news, and one a second while the trouble goes on.
const (
	looksPerSecond = 1.0
	looksAtOnce    = 8
)

// budget says when a request may be made. The zero budget is full.
type budget struct {
	spent float64
	at    time.Time // when spent was true
}

// wait is how long nothing may be spent yet.
func (b *budget) wait(now time.Time) time.Duration {
	b.spent, b.at = max(0, b.spent-now.Sub(b.at).Seconds()*looksPerSecond), now
	return time.Duration(max(0, b.spent-looksAtOnce+1) / looksPerSecond * float64(time.Second))
}

func newTroubles(a *Agent) *troubles {
	return &troubles{agent: a, events: api.Events{Client: a.api}, log: a.o.Log, due: map[types.UID]*trouble{}, met: map[types.UID]bool{}, stopped: map[containerOf]bool{}, wake: make(chan struct{}, 1)}
}

// heard learns from a fact whether its pod is in trouble.
func (t *troubles) heard(f fact.Fact) {
	switch b := f.Body.(type) {
	case fact.Signalled:
		if b.Main && b.Origin == fact.FromNode {
			t.mu.Lock()
			t.stopped[containerOf{f.Pod.UID, f.Container}] = true
			t.mu.Unlock()
		}
	case fact.Exited:
		t.ended(containerOf{f.Pod.UID, f.Container})
	case fact.Started:
		t.begins(f.Pod.UID)
	case fact.StartFailed, fact.ImageFailed, fact.SandboxLost, fact.Refused:
		t.news(f.Pod.UID, 0)
	case fact.DeletionSeen:
		t.news(f.Pod.UID, 0)
		t.leaves(f)
	case fact.StatusSeen:
		if well(b.Status) {
			t.isWell(f.Pod.UID)
		} else {
			t.isNot(f.Pod.UID)
		}
	case fact.ObjectGone:
		t.mu.Lock()
		delete(t.due, f.Pod.UID)
		delete(t.met, f.Pod.UID)
		t.mu.Unlock()
		t.left(f.Pod.UID)
	}
}

// well says whether a pod is as it should be.
func well(s v1.PodStatus) bool {
	if s.Phase == v1.PodSucceeded {
		return true
	}
	for _, c := range s.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// ended is the end of a container. Where the runtime stopped it, the reason is in an
// event; of any other there is little to read.
func (t *troubles) ended(c containerOf) {
	t.mu.Lock()
	ordered := t.stopped[c]
	delete(t.stopped, c)
	t.mu.Unlock()
	if ordered || !t.signals {
		t.news(c.pod, 0)
	} else {
		t.news(c.pod, unhurried)
	}
}

const (
	// unhurried is the look with which those begin that promise little.
	unhurried = 2
	// starting is the step of a pod that is not up yet, and comesUp how long that is nobody's
	// trouble.
	starting = 1
	comesUp  = 3 * time.Second
)

// isNot is a pod that is not well: news only where it was. One that was never well yet
// starts, most likely, and is not disturbed by questions meanwhile.
func (t *troubles) isNot(uid types.UID) {
	t.mu.Lock()
	one := t.due[uid]
	was, starts := one == nil || one.calm, !t.met[uid]
	if one == nil && starts {
		t.due[uid] = &trouble{step: starting, next: time.Now().Add(comesUp), fresh: true}
	}
	t.mu.Unlock()
	switch {
	case one == nil && starts:
		t.rouse()
	case was:
		t.news(uid, 0)
	}
}

// isWell is a pod that is well. Its events are looked at once more, later: a probe that cannot be
// made at all leaves no other trace.
func (t *troubles) isWell(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := !t.met[uid]
	t.met[uid] = true
	switch one := t.due[uid]; {
	case one != nil && (!one.fresh || one.step > starting):
		one.calm, one.step = true, min(one.step, 1)
	case first:
		t.due[uid] = t.last(uid)
	}
}

// last is the last look at a pod that is well. It comes when each of its probes was to be made.
func (t *troubles) last(uid types.UID) *trouble {
	wait := calmLook
	if pod, ok := t.agent.loop.pods.Get(uid); ok && pod.Object != nil {
		for i := range pod.Object.Spec.Containers {
			c := &pod.Object.Spec.Containers[i]
			for _, p := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe} {
				if p != nil {
					wait = max(wait, calmLook+time.Duration(p.InitialDelaySeconds)*time.Second)
				}
			}
		}
	}
	return &trouble{calm: true, fresh: true, late: true, looked: true, step: lastCalm - 1, next: time.Now().Add(wait)}
}

// begins is a container that starts in a pod that was never well: it has comesUp from now on, and
// if it does not use it, the next looks come when its first probes have failed.
func (t *troubles) begins(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.due[uid]; one != nil && one.fresh && !one.calm {
		one.step, one.next = starting, time.Now().Add(comesUp)
	}
}

// unread is an attempt of a probe whose end its packets do not show: if it failed, only kubelet's
// word says how.
func (t *troubles) unread(uid types.UID, isWell bool) {
	t.news(uid, 0)
	if isWell {
		t.isWell(uid)
	}
}

// news has the events of a pod looked at soon, and again and again, from a step on.
func (t *troubles) news(uid types.UID, step int) {
	t.mu.Lock()
	one := t.due[uid]
	if one == nil {
		one = &trouble{step: step}
		t.due[uid] = one
	}
	one.calm, one.fresh, one.late, one.step = false, false, false, min(one.step, step)
	if next := time.Now().Add(pauses[step]); one.next.IsZero() || next.Before(one.next) {
		one.next = next
	}
	t.mu.Unlock()
	t.rouse()
}

// rouse tells that something became due.
func (t *troubles) rouse() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

const (
	// lastCalm is the look after which a pod that is well is left alone, calmLook how
	// long after it became well it is looked at: kubelet's counters were read again by then.
	lastCalm = 3
	calmLook = countEvery + 10*time.Second
)

// soonest is the pod to look at next, and when: of those that are due the one of the first rank.
func (t *troubles) soonest() (uid types.UID, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, rank := time.Now(), 0
	for id, one := range t.due {
		due, better := !one.next.After(now), uid == "" || one.next.Before(at)
		if uid != "" && due && !at.After(now) {
			better = one.rank() < rank || one.rank() == rank && better
		}
		if better {
			uid, at, rank = id, one.next, one.rank()
		}
	}
	return uid, at
}

func (t *troubles) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var spend budget
	for {
		uid, at := t.soonest()
		wait := time.Hour
		if uid != "" {
			wait = max(time.Until(at), spend.wait(time.Now()), 0)
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
			if uid == "" || wait > 0 {
				continue
			}
		case <-timer.C:
		}
		if uid != "" && t.look(ctx, uid) {
			spend.spent++
		}
	}
}

// look looks at a pod's events. It says whether that took a request.
func (t *troubles) look(ctx context.Context, uid types.UID) bool {
	pod, ok := t.agent.loop.pods.Get(uid)
	t.mu.Lock()
	fresh := false
	if one := t.due[uid]; one != nil && one.maker != nil {
		t.mu.Unlock()
		return t.ask(ctx, uid, one.maker)
	}
	if one := t.due[uid]; one != nil {
		fresh = one.fresh && one.calm
		one.looked = true
		one.step++
		one.next = time.Now().Add(pauses[min(one.step, len(pauses)-1)])
		switch {
		case one.calm && one.step >= lastCalm:
			delete(t.due, uid)
			if !one.late {
				t.due[uid] = t.last(uid)
			}
		case pod.Finished() && one.step >= len(pauses):
			delete(t.due, uid) // it may be left lying for days
		}
	}
	t.mu.Unlock()
	if !ok || pod.Object == nil || fresh && t.agent.counts.fine(pod) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	all, err := t.events.Look(ctx, pod.Key.Namespace, pod.Object.UID)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.log.Debug("events could not be read", "pod", pod.Key.String(), "error", err)
	}
	for _, one := range all {
		for _, f := range t.agent.told(pod, one) {
			t.agent.loop.submit(t.agent.filled(f))
		}
	}
	return true
}
