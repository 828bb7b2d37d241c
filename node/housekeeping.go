package node

import (
	"context"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cgroup"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/images"
	"whylet.dev/whylet/node/volumes"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense/containers"
)

// housekeeping does what has to be done now and then, whatever happens: logs
// are rotated, dead containers and unused images removed, local storage limits
// enforced. Its periods are kubelet's.
type housekeeping struct {
	known   pods.Registry
	submit  func(fact.Fact)
	runtime *cri.Client
	images  *images.Manager
	volumes *volumes.Manager
	cgroups *cgroup.Manager
	disks   *disks
	logs    string
	log     *slog.Logger
}

func (h *housekeeping) run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, job := range []struct {
		every time.Duration
		name  string
		do    func(context.Context) error
	}{
		{10 * time.Second, "log rotation", h.rotate},
		{10 * time.Second, "local storage limits", h.limits},
		{time.Minute, "garbage collection of containers", h.collect},
		{5 * time.Minute, "garbage collection of images", h.collectImages},
		{time.Minute, "clean-up after pods that are gone", h.orphans},
	} {
		wg.Go(func() {
			tick := time.NewTicker(job.every)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				if err := job.do(ctx); err != nil && ctx.Err() == nil {
					h.log.Warn(job.name+" failed, will be tried again", "error", err)
				}
			}
		})
	}
	wg.Wait()
}

// rotate looks at the logs of running containers. Their paths follow from their
// names, so that the runtime is not asked.
func (h *housekeeping) rotate(ctx context.Context) error {
	var running []cri.ContainerView
	for _, p := range h.known.All() {
		for name, c := range p.Containers {
			if c.Running && p.Object != nil {
				running = append(running, cri.ContainerView{
					ID: c.ID, Pod: p.Key, Name: name, Attempt: c.Attempt, State: cri.Running,
					LogPath: containers.LogFile(h.logs, p.Object, name, c.Attempt),
				})
			}
		}
	}
	return h.runtime.RotateLogs(ctx, cri.DefaultRotation, running)
}

func (h *housekeeping) collect(ctx context.Context) error {
	_, err := h.runtime.Collect(ctx, h.logs, func(uid types.UID) bool {
		_, ok := h.known.Get(uid)
		return ok
	})
	return err
}

func (h *housekeeping) collectImages(ctx context.Context) error {
	removed, err := h.images.Collect(ctx)
	for _, image := range removed {
		h.log.Info("unused image removed to make room", "image", image.ID, "names", image.Tags)
	}
	return err
}

// orphans removes what pods left behind that ended while no agent looked.
func (h *housekeeping) orphans(ctx context.Context) error {
	live := sets.Set[types.UID]{}
	for _, p := range h.known.All() {
		live.Insert(p.Key.UID)
	}
	left, err := h.volumes.Orphans(live)
	if err != nil {
		return err
	}
	for _, uid := range left {
		if err := h.volumes.TearDown(ctx, uid); err != nil {
			return err
		}
	}
	empty, err := h.cgroups.Orphans(live)
	if err != nil {
		return err
	}
	for _, uid := range empty {
		if err := h.cgroups.Remove(uid); err != nil {
			return err
		}
	}
	return nil
}

// usageAge is how old a measurement of disk use may be for the limits.
const usageAge = 10 * time.Second

// limits finds pods that use more local storage than they may.
func (h *housekeeping) limits(ctx context.Context) error {
	for _, p := range h.known.All() {
		if p.Object == nil || !limitsStorage(p.Object) {
			continue
		}
		var onDisk []volumes.ContainerDisk
		if limitsEphemeral(p.Object) {
			onDisk = h.disks.of(ctx, p)
		}
		over := volumes.OverLimit(p.Object, h.volumes.Usage(p.Key.UID, usageAge), onDisk)
		if over != nil {
			h.submit(fact.Fact{Pod: p.Key, Body: *over})
		}
	}
	return nil
}

// limitsStorage says whether anything of the pod's local storage is bounded.
func limitsStorage(pod *v1.Pod) bool {
	for i := range pod.Spec.Volumes {
		if d := pod.Spec.Volumes[i].EmptyDir; d != nil && d.SizeLimit != nil {
			return true
		}
	}
	return limitsEphemeral(pod)
}

// limitsEphemeral says whether layers and logs of the pod's containers count.
func limitsEphemeral(pod *v1.Pod) bool {
	for i := range pod.Spec.Containers {
		if !pod.Spec.Containers[i].Resources.Limits.StorageEphemeral().IsZero() {
			return true
		}
	}
	return false
}
