package effect

import (
	"context"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense/containers"
)

// kill ends a container: its preStop hook first, within the grace period, then
// its stop signal, then SIGKILL. At least two seconds are left for the signal,
// as kubelet leaves them (kuberuntime_container.go, minimumGracePeriodInSeconds).
func (e *Effects) kill(ctx context.Context, p pods.Pod, d fact.Fact, want fact.Kill) {
	const least = 2 * time.Second
	running := p.Containers[d.Container]
	if running.ID == "" {
		return // its start was called off, and says so itself
	}
	grace := time.Duration(want.GraceSeconds) * time.Second
	if spec, ok := p.Spec(d.Container); ok && !want.SkipHook && grace > 0 &&
		spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil {
		took := e.preStop(ctx, p, d, running.ID, grace)
		grace = max(grace-took, least)
	}
	retry(ctx, func() error {
		err := e.Runtime.Stop(ctx, running.ID, grace)
		if containers.IsNotFound(err) {
			e.say(d, fact.Exited{ContainerID: running.ID, Vanished: true})
			return nil
		}
		return err
	}, func(err error) {
		e.say(d, fact.KillFailed{Message: cri.Words(err)})
	})
}

// preStop runs the hook, at most for the grace period, and says how long it took.
func (e *Effects) preStop(ctx context.Context, p pods.Pod, d fact.Fact, id string, grace time.Duration) time.Duration {
	spec, _ := p.Spec(d.Container)
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	return e.hook(ctx, p, d, cri.Hook{Kind: fact.PreStop, Container: spec, ContainerID: id})
}

// holdBack keeps an evicted pod from using up, while it ends, the memory that its
// neighbours need. Without it the eviction takes its course all the same.
func (e *Effects) holdBack(p pods.Pod) {
	if err := e.Cgroups.HoldBack(p.Key.UID); err != nil {
		e.Log.Warn("a pod that has to go for its memory is not held back", "pod", p.Key.String(), "error", err)
	}
}
