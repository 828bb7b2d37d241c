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

	mu  sync.Mutex
	due map[types.UID]*trouble
	// wake tells that something became due sooner.
	wake chan struct{}
}

type trouble struct {
	next time.Time
	// step is how often it was looked since the last news.
	step int
	// ends is set when nothing is to follow the last step.
	calm bool
}

// pauses are the times between looks after the last news of a pod in trouble; the last
// one goes on as long as the trouble does. kubelet posts events within a second or so.
var pauses = []time.Duration{300 * time.Millisecond, 1200 * time.Millisecond, 3 * time.Second, 7 * time.Second, 15 * time.Second, 30 * time.Second, time.Minute}

// looksApart bounds the requests for all pods together: one a second.
const looksApart = time.Second

func newTroubles(a *Agent) *troubles {
	return &troubles{agent: a, events: api.Events{Client: a.api}, log: a.o.Log, due: map[types.UID]*trouble{}, wake: make(chan struct{}, 1)}
}

// heard learns from a fact whether its pod is in trouble.
func (t *troubles) heard(f fact.Fact) {
	switch b := f.Body.(type) {
	case fact.Exited, fact.StartFailed, fact.ImageFailed, fact.SandboxLost, fact.OOMKilled, fact.Refused:
		t.news(f.Pod.UID, false)
	case fact.StatusSeen:
		t.news(f.Pod.UID, well(b.Status))
	case fact.DeletionSeen:
		t.news(f.Pod.UID, false)
	case fact.ObjectGone:
		t.mu.Lock()
		delete(t.due, f.Pod.UID)
		t.mu.Unlock()
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

func (t *troubles) news(uid types.UID, calm bool) {
	t.mu.Lock()
	one := t.due[uid]
	if one == nil {
		if calm {
			t.mu.Unlock()
			return
		}
		one = &trouble{}
		t.due[uid] = one
	}
	one.calm, one.step = calm, 0
	if next := time.Now().Add(pauses[0]); one.next.IsZero() || next.Before(one.next) {
		one.next = next
	}
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// soonest is the pod to look at next; none is due before at.
func (t *troubles) soonest() (uid types.UID, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, one := range t.due {
		if at.IsZero() || one.next.Before(at) {
			uid, at = id, one.next
		}
	}
	return uid, at
}

func (t *troubles) run(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	var last time.Time
	for {
		uid, at := t.soonest()
		wait := time.Hour
		if uid != "" {
			wait = max(time.Until(at), looksApart-time.Since(last), 0)
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
		if uid != "" {
			last = time.Now()
			t.look(ctx, uid)
		}
	}
}

func (t *troubles) look(ctx context.Context, uid types.UID) {
	t.mu.Lock()
	if one := t.due[uid]; one != nil {
		one.step++
		one.next = time.Now().Add(pauses[min(one.step, len(pauses)-1)])
		if one.calm && one.step >= 3 {
			delete(t.due, uid)
		}
	}
	t.mu.Unlock()
	pod, ok := t.agent.loop.pods.Get(uid)
	if !ok || pod.Object == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	all, err := t.events.Look(ctx, pod.Key.Namespace, pod.Object.UID)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.log.Debug("events could not be read", "pod", pod.Key.String(), "error", err)
	}
	for _, one := range all {
		for _, f := range t.agent.told(pod, one) {
			t.agent.loop.submit(f)
		}
	}
}
