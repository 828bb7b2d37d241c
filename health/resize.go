package health

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// resizing is a change of resources of running containers that is not done yet
// (KEP-1287). At most one is known: the newest spec's.
type resizing struct {
	// Generation is the spec's that asked for it.
	Generation int64 `json:"generation"`
	// Pending is set while the node does not grant it; Reason is then Deferred or
	// Infeasible, and else Error or empty.
	Pending bool      `json:"pending,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since"`
	RetryAt time.Time `json:"retryAt,omitzero"`
	Facts   []fact.ID `json:"facts,omitempty"`
}

// deferredRetry is when a resize that did not fit is asked for again, if nobody
// makes room before (allocation/allocation_manager.go, retryDelay).
const deferredRetry = 3 * time.Minute

// planResizes asks for new resources of the containers that run with others
// than the spec wants, and then of the pod as a whole. Containers that shrink go
// first, so that the others find room (kuberuntime/kuberuntime_manager.go,
// computePodResizeAction). Those that must be restarted for it are ended by
// planKills when the node has said that there is room.
func (t *turn) planResizes() {
	var shrink, grow []*container
	behind := t.outdated()
	for _, c := range behind {
		switch {
		case c.Kill != nil || c.Resizing || !t.mayResize():
		case shrinks(c.Run.Given.effective(), t.asks(c).effective()):
			shrink = append(shrink, c)
		default:
			grow = append(grow, c)
		}
	}
	if due := append(shrink, grow...); len(due) > 0 {
		if by, fits := t.fits(due[0].Name, due[0].Attempt); fits {
			for _, c := range due {
				t.resize(c, by)
			}
		}
	}
	_, looked := t.fact.Body.(fact.RoomSeen)
	switch {
	case len(behind) > 0:
	case t.Sandbox.Stage != sandboxUp || sameResources(t.Own, t.ownWanted()):
		t.Resize = nil
		if !looked { // what was seen is for the spec that comes next
			t.Room = nil
		}
	case !t.OwnResizing && t.mayResize():
		if by, fits := t.fits("", 0); fits {
			t.granted()
			t.OwnResizing = true
			t.decide("", 0, fact.Resize{Resources: t.ownWanted()}, t.SpecFact, by)
		}
	}
}

// fits decides whether there is room for what the spec wants, by what was seen of it
// last, and gives the fact that told. Where nobody looked it is asked for: that was
// granted already, or the agent then found it out itself. container and attempt are
// whom a refusal is about first.
func (t *turn) fits(container string, attempt int32) (fact.ID, bool) {
	if t.Room == nil {
		return 0, true
	}
	by := *t.Room
	t.Room = nil
	refused, no := RefuseResize(by.Seen, t.Object)
	if no {
		refused.Room = by.Fact
		t.decide(container, attempt, refused, by.Fact, t.SpecFact)
		t.waits(refused, by.Fact)
	}
	return by.Fact, !no
}

// roomMade lets a resize that found no room be asked for again at once.
func (t *turn) roomMade() {
	if t.deferred() {
		again := *t.Resize
		again.RetryAt = time.Time{}
		t.Resize = &again
	}
}

// ownWanted are the resources that the spec gives to the pod as a whole (KEP-2837).
func (p *pod) ownWanted() v1.ResourceRequirements {
	if p.Object == nil || p.Object.Spec.Resources == nil { // a file of facts may lack the object
		return v1.ResourceRequirements{}
	}
	return *p.Object.Spec.Resources
}

// effective are the resources with the pod's limits where there are none of the
// container's own.
func (g given) effective() v1.ResourceRequirements {
	out := v1.ResourceRequirements{Requests: g.Resources.Requests, Limits: v1.ResourceList{}}
	for _, name := range changeable {
		limit := g.Resources.Limits[name]
		if limit.IsZero() {
			limit = g.PodLimits[name]
		}
		out.Limits[name] = limit
	}
	return out
}

// outdated lists the running containers whose resources are not what the spec
// wants.
func (p *pod) outdated() []*container {
	var found []*container
	for _, c := range p.each(initial, sidecar, regular) {
		if c.Stage == running && c.Run.Given.Image != "" && !sameResources(c.Run.Given.effective(), p.asks(c).effective()) {
			found = append(found, c)
		}
	}
	return found
}

// mayResize says whether the spec's resources can be asked for now: not while an
// answer of the node to this very spec stands.
func (t *turn) mayResize() bool {
	r := t.Resize
	if r == nil || r.Generation != t.Object.Generation {
		return true
	}
	if r.Reason == v1.PodReasonInfeasible {
		return false
	}
	return !t.now.Before(r.RetryAt)
}

func (t *turn) resize(c *container, by fact.ID) {
	t.granted()
	c.Resizing, c.Room = true, t.Object.Generation
	want := t.asks(c)
	t.decide(c.Name, c.Attempt, fact.Resize{Resources: want.Resources, PodLimits: want.PodLimits, Restart: t.needsRestart(c)}, t.SpecFact, by)
}

// granted takes a resize as under way: unless the node says otherwise, what is
// wanted counts as allocated from now on. One that the node had no room for waits
// for its answer.
func (t *turn) granted() {
	r := t.Resize
	switch {
	case r == nil || r.Generation != t.Object.Generation && !r.Pending:
		t.Resize = &resizing{Generation: t.Object.Generation, Since: t.now, Facts: []fact.ID{t.SpecFact}}
	case !r.Pending:
		again := *r
		again.RetryAt = time.Time{}
		t.Resize = &again
	}
}

// needsRestart says whether a container has to be started anew to get the
// resources that the spec wants (determineContainerResize).
func (p *pod) needsRestart(c *container) bool {
	if c.Role != regular && c.Role != sidecar {
		return false
	}
	is, want := c.Run.Given.effective(), p.asks(c).effective()
	for _, policy := range p.spec(c).ResizePolicy {
		if policy.RestartPolicy == v1.RestartContainer && !sameAmount(is, want, policy.ResourceName) {
			return true
		}
	}
	return false
}

// answersResize says whether the fact at hand answers a resize that is under way,
// and of which container; nil is the pod as a whole.
func (t *turn) answersResize() (*container, bool) {
	if t.fact.Container == "" {
		return nil, t.OwnResizing
	}
	c := t.find(t.fact.Container)
	return c, c != nil && c.Resizing && t.fact.Attempt == c.Attempt
}

func (t *turn) resized(b fact.Resized) {
	c, ok := t.answersResize()
	if !ok {
		return
	}
	if r := t.Resize; r != nil && r.Pending {
		t.Resize = &resizing{Generation: t.Object.Generation, Since: t.now, Facts: []fact.ID{t.fact.ID, t.SpecFact}}
	}
	switch {
	case c == nil:
		t.Own, t.OwnResizing = b.Resources, false
	case b.Restart:
		c.Resizing = false
	default:
		c.Resizing = false
		c.Run.Given.Resources, c.Run.Given.PodLimits = b.Resources, b.PodLimits
		c.Run.Resources = b.Resources.DeepCopy()
	}
}

func (t *turn) resizeFailed(b fact.ResizeFailed) {
	c, ok := t.answersResize()
	if !ok {
		return
	}
	if c == nil {
		t.OwnResizing = false
	} else {
		c.Resizing, c.Room = false, 0
	}
	t.waits(b, t.fact.ID)
}

// waits keeps why a resize is not done, as the named fact tells, and when it is asked
// for again.
func (t *turn) waits(b fact.ResizeFailed, by fact.ID) {
	r := resizing{
		Generation: t.Object.Generation, Since: t.now,
		Reason: v1.PodReasonError, Message: b.Message, RetryAt: t.now.Add(t.Policy.Retry), Facts: []fact.ID{by, t.SpecFact},
	}
	switch b.Reason {
	case v1.PodReasonDeferred:
		r.Pending, r.Reason, r.RetryAt = true, b.Reason, t.now.Add(deferredRetry)
	case v1.PodReasonInfeasible:
		r.Pending, r.Reason, r.RetryAt = true, b.Reason, time.Time{}
	}
	if old := t.Resize; old != nil && old.Reason == r.Reason && old.Pending == r.Pending {
		r.Since = old.Since // since when it has this reason (updatedPodResizeCondition)
	}
	t.Resize = &r
}

// resizeConditions are there only as long as a resize is not done.
func (t *turn) resizeConditions() []v1.PodCondition {
	r := t.Resize
	if r == nil || t.Ending != nil {
		return nil
	}
	kind := v1.PodResizeInProgress
	if r.Pending {
		kind = v1.PodResizePending
	}
	return []v1.PodCondition{{
		Type: kind, Status: v1.ConditionTrue, Reason: r.Reason, Message: r.Message,
		ObservedGeneration: r.Generation, LastTransitionTime: apiTime(r.Since),
	}}
}

// allocated is what counts as given to a container: what the spec wants, unless
// the node has not granted it.
func (p *pod) allocated(c *container) v1.ResourceRequirements {
	if p.Resize != nil && p.Resize.Pending {
		return p.givenTo(c)
	}
	return p.spec(c).Resources
}

// givenTo is what the container runs or last ran with, and what it will before.
func (p *pod) givenTo(c *container) v1.ResourceRequirements {
	if c.Run.ID == "" {
		return p.spec(c).Resources
	}
	return c.Run.Given.Resources
}

// ownAllocated is the same for the pod as a whole.
func (p *pod) ownAllocated() v1.ResourceRequirements {
	if p.Resize != nil && p.Resize.Pending {
		return p.Own
	}
	return p.ownWanted()
}

// changeable are the resources that can be changed while a container runs.
var changeable = []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory}

func sameResources(a, b v1.ResourceRequirements) bool {
	return sameAmount(a, b, v1.ResourceCPU) && sameAmount(a, b, v1.ResourceMemory)
}

func sameAmount(a, b v1.ResourceRequirements, name v1.ResourceName) bool {
	limitA, limitB := a.Limits[name], b.Limits[name]
	requestA, requestB := a.Requests[name], b.Requests[name]
	return limitA.Cmp(limitB) == 0 && requestA.Cmp(requestB) == 0
}

// shrinks says that nothing grows on the way from a to b.
func shrinks(a, b v1.ResourceRequirements) bool {
	for _, name := range changeable {
		limitA, limitB := a.Limits[name], b.Limits[name]
		requestA, requestB := a.Requests[name], b.Requests[name]
		if limitA.Cmp(limitB) < 0 || requestA.Cmp(requestB) < 0 {
			return false
		}
	}
	return true
}
