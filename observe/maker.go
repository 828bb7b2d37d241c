package observe

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/reported"
)

// maker is a controller of which pods were deleted. Whether it did that, it says in events
// about itself; why, in those about its Deployment. One request is for all of its pods.
type maker struct {
	namespace string
	// set and deployment are the names of a ReplicaSet and of the Deployment that it is of;
	// empty where it is none.
	set, deployment string
	pods            []*leaving
}

// leaving is a pod that was deleted.
type leaving struct {
	pod fact.Pod
	fact.Departure
	heard time.Time // when its deletion was heard of
	// asked is how often its maker's events were read, said whether it says there that it
	// deleted the pod, again when its Deployment's are read, at the soonest, done whether they were.
	asked int
	said  bool
	again time.Time
	done  bool
}

const (
	// saysSoon is how soon a controller's event about a deletion can be read.
	saysSoon = time.Second
	// mostAsked is how often a controller's events are read of a deletion: late ones once the pod
	// is gone.
	mostAsked = 2
)

// next is when which events are to be read for a pod, zero where nothing is until it is gone;
// over is set once nothing more is to be read.
func (l *leaving) next(m *maker) (at time.Time, ofMaker, over bool) {
	switch {
	case l.done, l.said && m.deployment == "", !l.said && l.asked >= mostAsked:
		return at, false, true
	case l.asked == 0:
		return l.heard.Add(saysSoon), true, false
	case l.Gone.IsZero():
		return at, false, false
	}
	at = l.Gone.Add(saysSoon)
	if l.said && l.again.After(at) {
		at = l.again
	}
	return at, !l.said, false
}

// leaves has a pod's maker asked whether it deleted the pod, unless that is told already.
func (t *troubles) leaves(f fact.Fact) {
	pod, ok := t.agent.loop.pods.Get(f.Pod.UID)
	if !ok || pod.Object == nil || fact.Disruption(pod.Status.Conditions, f.When()) != nil {
		return
	}
	owner := metav1.GetControllerOf(pod.Object)
	if owner == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.due[owner.UID]
	if one == nil {
		m := &maker{namespace: f.Pod.Namespace}
		if kind, name := fact.Workload(pod.Object); kind == "Deployment" {
			m.set, m.deployment = owner.Name, name
		}
		one = &trouble{maker: m, looked: true}
		t.due[owner.UID] = one
	}
	if slices.ContainsFunc(one.maker.pods, func(l *leaving) bool { return l.pod.UID == f.Pod.UID }) {
		return
	}
	l := &leaving{pod: f.Pod, heard: time.Now(), Departure: fact.Departure{Deleted: f.When(), Grace: v1.DefaultTerminationGracePeriodSeconds * time.Second}}
	if s := pod.Object.Spec.TerminationGracePeriodSeconds; s != nil {
		l.Grace = time.Duration(*s) * time.Second
	}
	one.maker.pods = append(one.maker.pods, l)
	t.schedule(owner.UID)
	t.rouse()
}

// left is a pod that is gone.
func (t *troubles) left(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for of, one := range t.due {
		if one.maker == nil {
			continue
		}
		for _, l := range one.maker.pods {
			if l.pod.UID == uid && l.Gone.IsZero() {
				l.Gone = time.Now()
				t.schedule(of)
				t.rouse()
				return
			}
		}
	}
}

// schedule says when a maker is asked next, and lets go of pods of which nothing more is to be
// read. The caller holds mu.
func (t *troubles) schedule(uid types.UID) {
	one := t.due[uid]
	one.next = time.Now().Add(24 * time.Hour)
	one.maker.pods = slices.DeleteFunc(one.maker.pods, func(l *leaving) bool {
		at, _, over := l.next(one.maker)
		if !over && !at.IsZero() && at.Before(one.next) {
			one.next = at
		}
		return over
	})
	if len(one.maker.pods) == 0 {
		delete(t.due, uid)
	}
}

// ask reads the events of a maker or of its Deployment, for all pods of which that is due. It
// says whether that took a request.
func (t *troubles) ask(ctx context.Context, uid types.UID, m *maker) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	began := time.Now()
	pods, ofMaker := t.asking(m, began)
	var all []reported.Event
	var err error
	switch {
	case len(pods) == 0:
	case ofMaker:
		all, err = t.events.Deletions(ctx, m.namespace, uid)
	default:
		all, err = t.events.Scalings(ctx, m.namespace, m.deployment)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		t.log.Debug("events of who made pods could not be read", "namespace", m.namespace, "controller", uid, "error", err)
	}
	t.mu.Lock()
	var said []fact.Fact
	for _, l := range pods {
		if ofMaker {
			said = append(said, l.deleted(all)...)
		} else {
			said = append(said, l.rescaled(all, m.set, began)...)
		}
	}
	t.schedule(uid)
	t.mu.Unlock()
	for _, f := range said {
		t.agent.loop.submit(f)
	}
	return len(pods) > 0
}

// asking are the pods for which the events of their maker are to be read now, else those for
// which their Deployment's are.
func (t *troubles) asking(m *maker, now time.Time) (pods []*leaving, ofMaker bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range m.pods {
		at, maker, over := l.next(m)
		if over || at.IsZero() || at.After(now) || ofMaker && !maker {
			continue
		}
		if maker && !ofMaker {
			pods, ofMaker = nil, true
		}
		pods = append(pods, l)
	}
	return pods, ofMaker
}

// deleted takes the words of a pod's maker.
func (l *leaving) deleted(all []reported.Event) []fact.Fact {
	l.asked++
	for _, one := range all {
		if fact.DeletedBy(one.Reason, one.Message, one.Last, l.pod.Name, l.Deleted) {
			l.said = true
			return []fact.Fact{l.word(one)}
		}
	}
	return nil
}

// rescaled takes the words of a pod's Deployment: those that say why the pod was deleted.
func (l *leaving) rescaled(all []reported.Event, set string, now time.Time) []fact.Fact {
	var scalings []fact.Scaling
	for _, one := range all {
		if s, ok := fact.ScalingIn(one.Message, one.Last); ok {
			scalings = append(scalings, s)
		}
	}
	r, again := l.Rescaled(scalings, set, now)
	l.again, l.done = again, again.IsZero()
	var said []fact.Fact
	for _, one := range all {
		s, ok := fact.ScalingIn(one.Message, one.Last)
		if ok && slices.ContainsFunc([]*fact.Scaling{r.Made, r.Down, r.Up}, func(want *fact.Scaling) bool { return want != nil && *want == s }) {
			said = append(said, l.word(one))
		}
	}
	return said
}

func (l *leaving) word(one reported.Event) fact.Fact {
	return fact.Fact{At: one.Last, Pod: l.pod, Body: fact.Said{Component: one.Component, Source: "event", Reason: one.Reason, Message: one.Message}}
}
