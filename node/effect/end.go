package effect

import (
	"context"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense/containers"
)

// remove drops a dead container from the runtime.
func (e *Effects) remove(ctx context.Context, p pods.Pod, d fact.Fact, want fact.Remove) {
	if want.ContainerID == "" {
		return
	}
	dead, err := e.Runtime.Status(ctx, want.ContainerID)
	if err == nil {
		err = e.Runtime.Remove(ctx, dead, true)
	}
	if err != nil && !containers.IsNotFound(err) {
		e.Log.Warn("dead container not removed; garbage collection will", "container", want.ContainerID, "pod", p.Key.String(), "error", err)
		return
	}
	e.say(d, fact.Removed(want))
}

// tearDown ends the pod's sandbox, volumes and cgroup. Its containers have ended.
func (e *Effects) tearDown(ctx context.Context, p pods.Pod, d fact.Fact) {
	if p.Sandbox.ID != "" {
		retry(ctx, func() error {
			if err := e.Runtime.StopSandbox(ctx, p.Sandbox.ID); err != nil && !containers.IsNotFound(err) {
				return err
			}
			return nil
		}, func(err error) {
			e.Log.Warn("sandbox not stopped, will be tried again", "pod", p.Key.String(), "error", err)
		})
	}
	for _, step := range []func() error{
		func() error { return e.Volumes.TearDown(ctx, p.Key.UID) },
		func() error { return e.Cgroups.Remove(ctx, p.Key.UID) },
	} {
		retry(ctx, step, func(err error) {
			e.Log.Warn("pod not torn down, will be tried again", "pod", p.Key.String(), "error", err)
		})
	}
	if ctx.Err() == nil {
		e.users.Release(p.Key.UID)
		e.say(d, fact.TornDown{})
	}
}

// letGo has the API server drop the object. A static pod has none of its own.
func (e *Effects) letGo(ctx context.Context, p pods.Pod, d fact.Fact) {
	if p.Source != fact.FromFile {
		retry(ctx, func() error { return e.Release(ctx, p.Key) }, func(err error) {
			e.Log.Warn("pod not released, will be tried again", "pod", p.Key.String(), "error", err)
		})
	}
	if p.Sandbox.ID != "" {
		e.dropSandbox(ctx, p.Sandbox.ID)
	}
	if ctx.Err() == nil {
		e.say(d, fact.ObjectGone{})
	}
}

// Sweep stops and removes the sandboxes of unknown pods, with all that is in
// them. It must not run before the API server and the static files have said
// which pods there are.
func (e *Effects) Sweep(ctx context.Context, orphans []cri.SandboxView) {
	for _, b := range orphans {
		e.Log.Info("removing a sandbox that belongs to no pod", "pod", b.Pod.String(), "sandbox", b.ID)
		e.dropSandbox(ctx, b.ID)
	}
}
