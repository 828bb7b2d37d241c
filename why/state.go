package why

import (
	"encoding/json"
	"time"

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

// status is the pod's status as its node had it after the last fact: what health
// computes from the newest checkpoint on, or from the beginning. ok is false
// when neither is kept. It is computed once a policy, since a long history takes
// long to replay.
func (h *History) status(policy health.Policy) (status v1.PodStatus, ok bool) {
	if h.replayed == nil || h.replayed.policy != policy {
		status, ok := h.replay(policy)
		h.replayed = &replayed{policy, status, ok}
	}
	return h.replayed.status, h.replayed.ok
}

func (h *History) replay(policy health.Policy) (status v1.PodStatus, ok bool) {
	// Beside somebody else's kubelet the pod is as that kubelet says.
	if _, seen, told := Latest[fact.StatusSeen](h, time.Time{}); told {
		return seen.Status, true
	}
	state, from := health.New(policy), 0
	for i := len(h.Facts) - 1; i >= 0; i-- {
		c, isCheckpoint := h.Facts[i].Body.(fact.Checkpoint)
		if !isCheckpoint {
			continue
		}
		var kept health.State
		if json.Unmarshal(c.State, &kept) == nil {
			state, from, ok = kept, i+1, true
			break
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
