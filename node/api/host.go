package api

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/pods"
)

// host is what the node's HTTPS API and its stats ask of the node.
type host struct {
	known   pods.Registry
	runtime *cri.Client
	// busySince is when the loop's turn under way began; zero between turns.
	busySince func() time.Time
}

// Pods lists the pods with the status that the node knows.
func (h *host) Pods() []*v1.Pod {
	var all []*v1.Pod
	for _, p := range h.known.All() {
		if p.Object != nil {
			all = append(all, p.WithStatus())
		}
	}
	return all
}

// Pod finds a pod by name: the one that is not on its way out, if there are two.
func (h *host) Pod(namespace, name string) *v1.Pod {
	p, ok := h.known.Named(namespace, name, time.Time{})
	if !ok {
		return nil
	}
	return p.WithStatus()
}

// RunningPods lists what the runtime has, bound or not.
func (h *host) RunningPods(ctx context.Context) ([]*v1.Pod, error) {
	s, err := h.runtime.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the runtime's pods: %w", err)
	}
	byUID := map[types.UID]*v1.Pod{}
	var all []*v1.Pod
	for _, b := range s.Sandboxes {
		if !b.Ready || byUID[b.Pod.UID] != nil {
			continue
		}
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: b.Pod.Namespace, Name: b.Pod.Name, UID: b.Pod.UID}}
		byUID[b.Pod.UID] = p
		all = append(all, p)
	}
	for _, c := range s.Containers {
		if p := byUID[c.Pod.UID]; p != nil && c.State == cri.Running {
			p.Spec.Containers = append(p.Spec.Containers, v1.Container{Name: c.Name, Image: c.Image})
		}
	}
	return all, nil
}

// SandboxID is the pod's live sandbox in the runtime's own words.
func (h *host) SandboxID(uid types.UID) string {
	p, _ := h.known.Get(uid)
	return p.Sandbox.ID
}

// stuckAfter is how long the loop may take for one turn before it counts as
// stuck; a turn takes microseconds, and one write to the journal.
const stuckAfter = 2 * time.Minute

// Healthy says what keeps the loop from turning.
func (h *host) Healthy() error {
	if since := h.busySince(); !since.IsZero() && time.Since(since) > stuckAfter {
		return errors.New("the node's loop has been busy with one turn since " + since.Format(time.RFC3339))
	}
	return nil
}
