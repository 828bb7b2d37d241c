package history

import (
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
)

// replayed is what a replay of a history gave.
type replayed struct {
	policy health.Policy
	status v1.PodStatus
	ok     bool
}

// Status is the pod's status as its node had it after the last fact: what was seen of it
// last, where somebody else decides, and else what health computes from the newest
// checkpoint on, or from the beginning. ok is false when none is kept. It is computed
// once a policy, since a long history takes long to replay.
func (h *History) Status(policy health.Policy) (status v1.PodStatus, ok bool) {
	if h.replayed == nil || h.replayed.policy != policy {
		status, ok := h.replay(policy)
		h.replayed = &replayed{policy, status, ok}
	}
	return h.replayed.status, h.replayed.ok
}

func (h *History) replay(policy health.Policy) (status v1.PodStatus, ok bool) {
	if h.Beside != "" { // its status is the word of who decides: health's would be another's
		_, b, ok := fact.Latest[fact.StatusSeen](h.Facts)
		return b.Status, ok
	}
	state, from := health.New(policy), 0
	for i := len(h.Facts) - 1; i >= 0 && !ok; i-- {
		var kept health.State
		if c, is := h.Facts[i].Body.(fact.Checkpoint); is && json.Unmarshal(c.State, &kept) == nil {
			state, from, ok = kept, i+1, true
		}
	}
	for i := from; i < len(h.Facts); i++ {
		if _, spec := h.Facts[i].Body.(fact.SpecSeen); spec {
			ok = true
		}
		if ok {
			state, _ = health.Step(state, h.Facts[i])
		}
	}
	if !ok || h.Object == nil {
		return v1.PodStatus{}, false
	}
	return health.Status(state), true
}

// objectIn is the pod's object in a checkpoint, for histories whose beginning is
// not kept; nil when there is none.
func objectIn(c fact.Checkpoint) *v1.Pod {
	var kept struct {
		Object *v1.Pod `json:"object"`
	}
	if json.Unmarshal(c.State, &kept) != nil {
		return nil
	}
	return kept.Object
}

// mark keeps what a status that was seen says of its containers, where that is new: on
// a node of its own that is decided (fact.Marked).
func (h *History) mark(f *fact.Fact, seen fact.StatusSeen) {
	for _, c := range slices.Concat(seen.Status.InitContainerStatuses, seen.Status.ContainerStatuses) {
		if c.State.Running == nil {
			continue
		}
		now := fact.Marked{Ready: c.Ready, Started: c.Started != nil && *c.Started}
		run := h.run(c.Name, c.RestartCount)
		if n := len(run.Marks); n > 0 && fact.Of[fact.Marked](run.Marks[n-1]) == now {
			continue
		}
		run.Marks = append(run.Marks, &fact.Fact{ID: f.ID, At: f.At, Seen: f.Seen, Pod: f.Pod, Container: c.Name, Attempt: c.RestartCount, Body: now})
	}
}
