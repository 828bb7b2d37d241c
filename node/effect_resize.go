package node

import (
	"context"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
)

// resize gives a running container other resources. The pod's cgroup is widened
// first so that the container can grow, and set to what it shall be afterwards
// (KEP-1287).
func (e *effects) resize(ctx context.Context, p view, d fact.Fact, want fact.Resize) {
	spec, ok := p.spec(d.Container)
	running := p.Containers[d.Container]
	if !ok || !running.Running {
		return // its end is on its way, and the next run gets the new resources
	}
	if refused := e.noRoom(p); refused != nil {
		e.say(d, *refused)
		return
	}
	spec = spec.DeepCopy()
	spec.Resources = want.Resources
	for _, step := range []func() error{
		func() error { return e.cgroups.Widen(p.Object) },
		func() error {
			return e.runtime.Resize(ctx, running.ID, cri.ContainerResources(p.Object, spec, e.machine))
		},
		func() error { return e.cgroups.Update(p.Object) },
	} {
		if err := step(); err != nil {
			e.say(d, fact.ResizeFailed{Reason: "Error", Message: cri.Words(err)})
			return
		}
	}
	e.say(d, fact.Resized(want))
}

// noRoom says why the pod does not fit with the resources it now asks for:
// Infeasible when it never will, Deferred when others have to go first (kubelet:
// allocation/allocation_manager.go, canResizePod).
func (e *effects) noRoom(p view) *fact.ResizeFailed {
	node := e.node()
	if node == nil {
		return nil
	}
	if refused, short := outOf(node, nil, p.Object); short {
		return &fact.ResizeFailed{Reason: "Infeasible", Message: refused.Message}
	}
	if refused, short := outOf(node, e.others(p.key.UID), p.Object); short {
		return &fact.ResizeFailed{Reason: "Deferred", Message: refused.Message}
	}
	return nil
}
