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

// deferredRetry is when a resize that did not fit is asked for again
// (allocation/allocation_manager.go, retryDelay).
const deferredRetry = 3 * time.Minute

// planResizes asks for new resources of the containers that run with others
// than the spec wants. Those that shrink go first, so that the others find room
// (kuberuntime/kuberuntime_manager.go, computePodResizeAction). Containers that
// must be restarted for it are ended by planKills.
func (t *turn) planResizes() {
	var grow []*container
	behind := t.outdated()
	for _, c := range behind {
		switch {
		case c.Kill != nil || c.Resizing || !t.mayResize():
		case shrinks(c.Set, t.spec(c).Resources):
			t.resize(c)
		default:
			grow = append(grow, c)
		}
	}
	for _, c := range grow {
		t.resize(c)
	}
	if len(behind) == 0 {
		t.Resize = nil
	}
}

// outdated lists the running containers whose resources are not what the spec
// wants.
func (p *pod) outdated() []*container {
	var found []*container
	for _, c := range p.each(initial, sidecar, regular) {
		if c.Stage == running && !sameResources(c.Set, p.spec(c).Resources) {
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

func (t *turn) resize(c *container) {
	t.granted()
	c.Resizing = true
	t.decide(c.Name, c.Attempt, fact.Resize{Resources: t.spec(c).Resources}, t.SpecFact)
}

// granted takes a resize as under way: unless the node says otherwise, what is
// wanted counts as allocated from now on.
func (t *turn) granted() {
	if r := t.Resize; r != nil && r.Generation == t.Object.Generation && !r.Pending {
		again := *r
		again.RetryAt = time.Time{}
		t.Resize = &again
		return
	}
	t.Resize = &resizing{Generation: t.Object.Generation, Since: t.now, Facts: []fact.ID{t.SpecFact}}
}

// needsRestart says whether a container has to be started anew to get the
// resources that the spec wants (determineContainerResize).
func (p *pod) needsRestart(c *container) bool {
	if c.Role != regular && c.Role != sidecar {
		return false
	}
	want := p.spec(c)
	for _, policy := range want.ResizePolicy {
		if policy.RestartPolicy == v1.RestartContainer && !sameAmount(c.Set, want.Resources, policy.ResourceName) {
			return true
		}
	}
	return false
}

func (t *turn) resized(c *container, b fact.Resized) {
	if !c.Resizing || t.fact.Attempt != c.Attempt {
		return
	}
	c.Resizing, c.Set = false, b.Resources
	c.Run.Resources = b.Resources.DeepCopy()
}

func (t *turn) resizeFailed(c *container, b fact.ResizeFailed) {
	if !c.Resizing || t.fact.Attempt != c.Attempt {
		return
	}
	c.Resizing = false
	r := resizing{
		Generation: t.Object.Generation, Since: t.now,
		Reason: v1.PodReasonError, Message: b.Message, RetryAt: t.now.Add(t.Policy.Retry), Facts: []fact.ID{t.fact.ID, t.SpecFact},
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
	if p.Resize != nil && p.Resize.Pending && c.Run.ID != "" {
		return c.Set
	}
	return p.spec(c).Resources
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
