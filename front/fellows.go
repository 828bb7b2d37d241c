package front

import (
	"context"
	"slices"
	"unique"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/common"
)

// handle is what made a pod, of which there are far fewer than pods.
type handle = unique.Handle[common.Maker]

// crowd are the pods of one maker that do well. They are counted as they come and go, so that
// no question goes through all pods.
type crowd struct {
	on []common.Share
	// lent is set once a question has on: then it is copied before it is changed.
	lent bool
}

// stands puts a pod among those that are not well, or into its crowd (1), or takes it from
// there (-1). The caller holds mu.
func (h *Hub) stands(p *podState, by int) {
	switch {
	case p.answer != nil && by > 0:
		h.ill[p.pod.UID] = p
		return
	case p.answer != nil:
		delete(h.ill, p.pod.UID)
		return
	case p.maker.Value() == common.Maker{}:
		return
	}
	c := h.crowds[p.maker]
	if c == nil {
		c = &crowd{}
		h.crowds[p.maker] = c
	}
	if c.lent {
		c.on, c.lent = slices.Clone(c.on), false
	}
	if c.on = counted(c.on, common.NodeOf(p.node), by); len(c.on) == 0 {
		delete(h.crowds, p.maker)
	}
}

// counted are shares with so many more on a node.
func counted(on []common.Share, node common.Node, by int) []common.Share {
	i := slices.IndexFunc(on, func(s common.Share) bool { return s.Node == node })
	switch {
	case i < 0:
		return append(on, common.Share{Node: node, Pods: by})
	case on[i].Pods+by > 0:
		on[i].Pods += by
		return on
	}
	return slices.Delete(on, i, i+1)
}

// Fellows is of [ask.Front].
func (h *Hub) Fellows(ctx context.Context, single []types.UID) (common.Scene, error) {
	if _, err := h.Nodes(ctx); err != nil {
		return common.Scene{}, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	away := map[common.Node]bool{} // how it is there now nobody says
	for name, n := range h.nodes {
		if n.session == nil {
			away[common.NodeOf(name)] = true
		}
	}
	s := common.Scene{Traits: h.traits, Pods: make([]common.Pod, 0, len(h.ill)+len(single))}
	compared := map[common.Maker]bool{} // workloads, at whatever revision
	add := func(p *podState) {
		one := common.Pod{UID: p.pod.UID, Node: p.node, Maker: p.maker.Value(), Namespace: p.pod.Namespace} // also of one that nothing made
		if one.Judge(p.answer); h.nodes[p.node].session == nil {
			one.Faults, one.Asks, one.Apart = nil, nil, true
		}
		s.Pods = append(s.Pods, one)
		compared[one.Maker.Workload()] = true
	}
	for _, p := range h.ill {
		add(p)
	}
	apart := map[handle][]common.Node{} // nodes of those that are in s.Pods, and so in no crowd
	for _, uid := range single {
		if p := h.pods[uid]; p != nil && p.answer == nil {
			add(p)
			apart[p.maker] = append(apart[p.maker], common.NodeOf(p.node))
		}
	}
	for maker, c := range h.crowds {
		m := maker.Value()
		if !compared[m.Workload()] {
			continue
		}
		on := c.on
		if gone := apart[maker]; len(gone)+len(away) > 0 {
			on = slices.Clone(on)
			for _, node := range gone {
				on = counted(on, node, -1)
			}
			on = slices.DeleteFunc(on, func(one common.Share) bool { return away[one.Node] })
		} else {
			c.lent = true
		}
		s.Crowds = append(s.Crowds, common.Crowd{Maker: m, On: on})
	}
	return s, nil
}
