package health

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// ending is the end of the pod as a whole. Once there is one, nothing is
// started any more: containers are ended, the sandbox is torn down, and the
// object released if its deletion was asked for (kubelet.go, SyncTerminatingPod
// and SyncTerminatedPod).
type ending struct {
	// Kill and Cause say on whose account containers are ended.
	Kill  fact.KillReason `json:"kill,omitempty"`
	Cause string          `json:"cause,omitempty"`
	// Fails is set when the pod fails whatever its containers say, with Reason and
	// Message.
	Fails   bool   `json:"fails,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Grace is the time in seconds that containers have, until Until.
	Grace int64     `json:"grace,omitempty"`
	Until time.Time `json:"until,omitzero"`
	Facts []fact.ID `json:"facts,omitempty"`
}

// deletion is what is known of the pod's deletion.
type deletion struct {
	Grace int64   `json:"grace"` // seconds
	Gone  bool    `json:"gone,omitempty"`
	Fact  fact.ID `json:"fact"`
}

// eviction is why the pod had to go, for its condition.
type eviction struct {
	Message string `json:"message"`
	// Disrupted is false for a pod that exceeded a limit of its own: that is not
	// the node's doing (eviction_manager.go, localStorageEviction).
	Disrupted bool `json:"disrupted,omitempty"`
}

// end begins the pod's end, or hastens one that has begun: grace can only get
// shorter (pod_workers.go, calculateEffectiveGracePeriod).
func (t *turn) end(e ending, grace int64) {
	grace = max(grace, 1)
	e.Facts = append([]fact.ID{t.fact.ID}, e.Facts...)
	if t.Ending == nil {
		e.Grace, e.Until = grace, t.now.Add(time.Duration(grace)*time.Second)
		t.Ending = &e
		t.hasten() // those that were ended for reasons of their own
		return
	}
	now := *t.Ending
	if e.Fails && !now.Fails && !terminal(t.Phase) {
		now.Fails, now.Reason, now.Message = true, e.Reason, e.Message
	}
	hastened := grace < now.Grace && t.anyAlive()
	if hastened {
		now.Grace, now.Until = grace, t.now.Add(time.Duration(grace)*time.Second)
		now.Facts = append([]fact.ID{t.fact.ID}, now.Facts...)
	}
	t.Ending = &now
	if hastened {
		t.hasten()
	}
}

// hasten tells the containers that are ending already that they have less time
// (pod_workers.go, UpdatePod, cancels the sync that waits for them). Their
// preStop hooks were run before.
func (t *turn) hasten() {
	for i := range t.Containers {
		c := &t.Containers[i]
		if c.alive() && c.Kill != nil && c.Kill.Grace > t.Ending.Grace {
			k := *c.Kill
			k.Grace, k.SkipHook, k.Facts = t.Ending.Grace, true, t.Ending.Facts
			t.kill(c, k)
		}
	}
}

func (t *turn) deletionSeen(b fact.DeletionSeen) {
	if t.Object == nil {
		return
	}
	grace := max(b.GraceSeconds, 1)
	d := deletion{Grace: grace, Gone: b.Gone, Fact: t.fact.ID}
	if old := t.Deletion; old != nil {
		d.Grace, d.Gone = min(old.Grace, d.Grace), old.Gone || b.Gone
	}
	t.Deletion = &d
	e := ending{Kill: fact.KillDeletion, Cause: "the pod was deleted"}
	if b.By != "" {
		e.Cause += " by " + b.By
	}
	if b.Reason == "Preempted" || b.Reason == "Preempting" {
		e.Kill, e.Cause = fact.KillPreempted, "the pod was preempted"
	}
	if b.Reason == fact.ShutdownReason { // a static pod, which starts again with the machine
		e.Kill, e.Cause = fact.KillShutdown, shutsDown
	}
	t.end(e, grace)
}

// evictionNeeded ends the pod for the node's sake (eviction/eviction_manager.go,
// evictPod; its reason is always the same word). One that is on its way out has
// to go faster.
func (t *turn) evictionNeeded(b fact.EvictionNeeded) {
	if t.Object == nil || t.Eviction != nil || terminal(t.Phase) {
		return
	}
	if len(b.Ranking) > 0 && b.Ranking[0].Pod.UID != t.Key.UID {
		return // it is another's turn
	}
	reason := b.Reason
	if reason == "" {
		reason = "Evicted"
	}
	grace := t.podGrace()
	if b.GraceSeconds >= 0 {
		grace = min(grace, b.GraceSeconds)
	}
	t.Eviction = &eviction{Message: b.Message, Disrupted: !strings.HasSuffix(b.Signal, ".limit")}
	t.decide("", 0, fact.Evict{Reason: reason, Message: b.Message, Signal: b.Signal, Ranking: b.Ranking, Shortage: b.Shortage})
	t.end(ending{
		Kill: fact.KillEviction, Cause: "the pod was evicted (" + b.Message + ")",
		Fails: true, Reason: reason, Message: b.Message,
	}, grace)
}

// shutsDown is the clause for why the pods of a machine end that is about to shut down.
const shutsDown = "the node is shutting down"

// nodeShutdown ends the pod because its machine is about to shut down
// (nodeshutdown/nodeshutdown_manager.go, killPods). It fails, whatever its containers say, so
// that whoever made it makes another.
func (t *turn) nodeShutdown(b fact.NodeShutdown) {
	if t.Object == nil || terminal(t.Phase) || b.Cancelled {
		return
	}
	const message = "Pod was terminated in response to imminent node shutdown."
	if t.Eviction == nil {
		t.Eviction = &eviction{Message: message, Disrupted: true}
	}
	t.end(ending{
		Kill: fact.KillShutdown, Cause: shutsDown,
		Fails: true, Reason: "Terminated", Message: message,
	}, min(t.podGrace(), b.GraceSeconds))
}

// endIfDue begins the end that nobody asks for: the pod was active for too long,
// or there is nothing left to do.
func (t *turn) endIfDue() {
	if t.Ending != nil {
		return
	}
	if at := t.activeUntil(); !at.IsZero() && !t.now.Before(at) {
		t.end(ending{
			Kill: fact.KillDeadline, Cause: "the pod was active for longer than its activeDeadlineSeconds allow",
			Fails: true, Reason: "DeadlineExceeded",
			Message: "Pod was active on the node longer than the specified deadline", Facts: []fact.ID{t.SpecFact},
		}, t.podGrace())
		return
	}
	if t.finished() {
		t.end(ending{Kill: fact.KillPodDone, Cause: "the pod's containers have finished", Facts: t.lastEnds()}, t.podGrace())
	}
}

// activeUntil is when activeDeadlineSeconds are over (active_deadline.go).
func (p *pod) activeUntil() time.Time {
	if p.Object == nil || p.Object.Spec.ActiveDeadlineSeconds == nil || p.StartTime.IsZero() {
		return time.Time{}
	}
	return p.StartTime.Add(time.Duration(*p.Object.Spec.ActiveDeadlineSeconds) * time.Second)
}

// finished says that the pod has nothing left to do: no main container runs or
// will run, or the pod can not be initialized (computePodActions: keepCount is
// zero and nothing is to be started).
func (t *turn) finished() bool {
	if t.RestartAll != nil {
		return false
	}
	if t.failedForGood() != nil {
		return !t.anyAlive(regular)
	}
	mains := t.each(regular)
	for _, c := range mains {
		if c.Stage != ended || t.again(c) {
			return false
		}
	}
	return len(mains) > 0
}

// lastEnds are the ends for which the pod is finished.
func (t *turn) lastEnds() []fact.ID {
	if c := t.failedForGood(); c != nil {
		return []fact.ID{c.Run.End}
	}
	var ids []fact.ID
	for _, c := range t.each(regular) {
		ids = append(ids, c.Run.End)
	}
	return ids
}

// planEnding ends the containers in their order, then the sandbox, then the
// object.
func (t *turn) planEnding() {
	for _, c := range t.endingOrder() {
		t.killAgain(c)
		if c.alive() && c.Kill == nil && t.turnToEnd(c) {
			t.kill(c, t.endingKill(c))
		}
	}
	if t.anyAlive() || t.Sandbox.Stage == sandboxMaking {
		return // what is being made has to be there before it can be taken away
	}
	if t.Admission == rejected && t.Sandbox.Stage == sandboxNone {
		t.Sandbox.Stage = sandboxRemoved // it never had one
	}
	if !t.Sandbox.leaving() {
		t.Sandbox.Stage = sandboxEnding
		t.decide("", 0, fact.TearDown{}, t.Ending.Facts...)
		return
	}
	if t.Sandbox.Stage == sandboxRemoved && t.Deletion != nil && !t.Released {
		t.Released = true
		t.decide("", 0, fact.Release{}, t.Deletion.Fact)
	}
}

func (t *turn) tornDown() {
	if t.Sandbox.Stage == sandboxEnding {
		s := t.Sandbox
		s.Stage, s.Fact = sandboxRemoved, t.fact.ID
		t.Sandbox = s
	}
}

// endingKill words the end of one container of a pod that ends.
func (t *turn) endingKill(c *container) kill {
	e := t.Ending
	grace := e.Grace
	if c.Role == sidecar {
		// What the others took is gone (waitForTurn).
		grace = max(int64(e.Until.Sub(t.now)/time.Second), leastGrace)
		grace = min(grace, max(e.Grace, leastGrace))
	}
	return kill{
		Reason: e.Kill, Message: fmt.Sprintf("Stopping container %s", c.Name),
		Grace: grace, Cause: e.Cause, Facts: e.Facts,
	}
}

func terminal(phase v1.PodPhase) bool { return phase == v1.PodSucceeded || phase == v1.PodFailed }
