package front

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
)

// Requested tells the agent of a pod's node who asked for the pod's end. Where no agent is
// there, nobody is told.
func (h *Hub) Requested(node string, r link.Requested, at time.Time) {
	h.mu.RLock()
	n := h.nodes[node]
	var s *session
	if n != nil {
		s = n.session
	}
	h.mu.RUnlock()
	if s == nil {
		return
	}
	r.Ago = time.Since(at)
	if s.send(link.ToAgent{Requested: &r}) == nil {
		h.count(func(c *Counts) { c.Requested++ })
	}
}

// NodeOf is where a pod of that name is: as agents told, else as the API server says.
func (h *Hub) NodeOf(ctx context.Context, pod fact.Pod) string {
	h.mu.RLock()
	known := h.names[nameOf(pod)]
	if known != nil && known.before == nil {
		defer h.mu.RUnlock()
		return known.node
	}
	h.mu.RUnlock()
	p, err := h.o.API.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return p.Spec.NodeName
}
