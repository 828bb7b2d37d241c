package effect

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/pods"
)

// resize gives a running container, or the pod as a whole, other resources. The
// pod's cgroup is widened first so that the containers can grow, and set to what it
// shall be afterwards (KEP-1287).
func (e *Effects) resize(ctx context.Context, p pods.Pod, d fact.Fact, want fact.Resize) {
	pod, spec := resized(p.Object, d.Container, want)
	if d.Container != "" && (spec == nil || !p.Containers[d.Container].Running) {
		return // its end is on its way, and the next run gets the new resources
	}
	if !want.Restart { // else the start sets them
		err := e.setResources(ctx, p, pod, spec)
		if ctx.Err() != nil {
			return // the agent ends; the next one asks again
		}
		if err != nil {
			e.say(d, fact.ResizeFailed{Reason: v1.PodReasonError, Message: cri.Words(err)})
			return
		}
	}
	e.say(d, fact.Resized(want))
}

// setResources writes what the pod, and the container in it unless it is nil, shall
// have.
func (e *Effects) setResources(ctx context.Context, p pods.Pod, pod *v1.Pod, c *v1.Container) error {
	if err := e.aboveUse(p, "", e.Cgroups.MemoryLimit(pod)); err != nil {
		return err
	}
	if c == nil {
		return e.Cgroups.Update(pod)
	}
	resources := cri.ContainerResources(pod, c, e.Machine)
	for _, step := range []func() error{
		func() error { return e.aboveUse(p, c.Name, resources.MemoryLimitInBytes) },
		func() error { return e.Cgroups.Widen(pod) },
		func() error { return e.Runtime.Resize(ctx, p.Containers[c.Name].ID, resources) },
		func() error { return e.Cgroups.Update(pod) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// resized is the pod with the resources that are wanted, and the container in it
// that they are for; nil if they are the pod's own.
func resized(object *v1.Pod, container string, want fact.Resize) (*v1.Pod, *v1.Container) {
	pod := object.DeepCopy()
	if container == "" {
		if pod.Spec.Resources != nil {
			pod.Spec.Resources = &want.Resources
		}
		return pod, nil
	}
	for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			if containers[i].Name == container {
				containers[i].Resources = want.Resources
				return pod, &containers[i]
			}
		}
	}
	return pod, nil
}

// aboveUse refuses to lower a memory limit, in bytes, below what is in use: version
// 2 of cgroups would set it and kill. It is kubelet's check and wording
// (kuberuntime/kuberuntime_manager.go, validateMemoryResizeAction).
func (e *Effects) aboveUse(p pods.Pod, container string, limit int64) error {
	group, ok := e.Cgroups.Path(p.Key.UID, p.Containers[container].ID)
	if limit <= 0 || !ok {
		return nil
	}
	now, err := group.Read()
	if err != nil {
		return fmt.Errorf("cannot decrease memory limits: %w", err)
	}
	whose := "pod"
	if container != "" {
		whose = fmt.Sprintf("container %q", container)
	}
	if (now.MemoryLimit == 0 || limit < now.MemoryLimit) && now.MemoryCurrent >= limit {
		return fmt.Errorf("cannot decrease memory limits: attempting to set %s memory limit (%d) below current usage (%d)", whose, limit, now.MemoryCurrent)
	}
	return nil
}
