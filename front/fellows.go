package front

import (
	"context"
	"unique"

	"whylet.dev/whylet/why/common"
)

// Fellows is of [ask.Front].
func (h *Hub) Fellows(ctx context.Context) (common.Scene, error) {
	if _, err := h.Nodes(ctx); err != nil {
		return common.Scene{}, err
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	ill := map[common.Maker]bool{} // workloads, at whatever revision
	for _, p := range h.pods {
		if m := p.maker.Value(); p.answer != nil && m != (common.Maker{}) {
			ill[m.Workload()] = true
		}
	}
	// There are far fewer makers than pods, and a handle is found faster than its value.
	compared := map[unique.Handle[common.Maker]]bool{}
	s := common.Scene{Traits: h.traits, Pods: make([]common.Pod, 0, len(h.pods))}
	for uid, p := range h.pods {
		beside, known := compared[p.maker]
		if !known {
			beside = ill[p.maker.Value().Workload()]
			compared[p.maker] = beside
		}
		if p.answer == nil && !beside {
			continue
		}
		one := common.Pod{UID: uid, Node: p.node, Maker: p.maker.Value()}
		one.Namespace = p.pod.Namespace // also of one that nothing made
		one.Judge(p.answer)
		if n := h.nodes[p.node]; n == nil || n.session == nil {
			one.Faults, one.Asks, one.Apart = nil, nil, true // how it is now nobody says
		}
		s.Pods = append(s.Pods, one)
	}
	return s, nil
}
