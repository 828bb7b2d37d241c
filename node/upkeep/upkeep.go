package upkeep

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

// Config is what there is to keep up.
type Config struct {
	Known   pods.Registry
	Submit  func(fact.Fact)
	Runtime *cri.Client
	Images  *images.Manager
	Volumes *volumes.Manager
	Cgroups *cgroup.Manager
	// PodLogsDir is the folder of the pods' logs.
	PodLogsDir string
	Log        *slog.Logger
}

// Upkeep does what has to be done now and then, whatever happens: logs
// are rotated, dead containers and unused images removed, local storage limits
// enforced. Its periods are kubelet's.
type Upkeep struct {
	Config
	disks disks
}

// New makes an upkeep that does nothing until Run.
func New(c Config) *Upkeep {
	return &Upkeep{Config: c, disks: disks{runtime: c.Runtime, logs: c.PodLogsDir, layers: map[string]onDisk{}}}
}

// Run does what is due until ctx ends.
func (u *Upkeep) Run(ctx context.Context) {
	var wg sync.WaitGroup
	for _, job := range []struct {
		every time.Duration
		name  string
		do    func(context.Context) error
	}{
		{10 * time.Second, "log rotation", u.rotate},
		{10 * time.Second, "local storage limits", u.limits},
		{time.Minute, "garbage collection of containers", u.collect},
		{5 * time.Minute, "garbage collection of images", u.collectImages},
		{time.Minute, "clean-up after pods that are gone", u.orphans},
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
					u.Log.Warn(job.name+" failed, will be tried again", "error", err)
				}
			}
		})
	}
	wg.Wait()
}

// rotate looks at the logs of running containers. Their paths follow from their
// names, so that the runtime is not asked.
func (u *Upkeep) rotate(ctx context.Context) error {
	var running []cri.ContainerView
	for _, p := range u.Known.All() {
		for name, c := range p.Containers {
			if c.Running && p.Object != nil {
				running = append(running, cri.ContainerView{
					ID: c.ID, Pod: p.Key, Name: name, Attempt: c.Attempt, State: cri.Running,
					LogPath: containers.LogFile(u.PodLogsDir, p.Object, name, c.Attempt),
				})
			}
		}
	}
	return u.Runtime.RotateLogs(ctx, cri.DefaultRotation, running)
}

func (u *Upkeep) collect(ctx context.Context) error {
	_, err := u.Runtime.Collect(ctx, u.PodLogsDir, func(uid types.UID) bool {
		_, ok := u.Known.Get(uid)
		return ok
	})
	return err
}

func (u *Upkeep) collectImages(ctx context.Context) error {
	removed, err := u.Images.Collect(ctx)
	for _, image := range removed {
		u.Log.Info("unused image removed to make room", "image", image.ID, "names", image.Tags)
	}
	return err
}

// orphans removes what pods left behind that ended while no agent looked.
func (u *Upkeep) orphans(ctx context.Context) error {
	live := sets.Set[types.UID]{}
	for _, p := range u.Known.All() {
		live.Insert(p.Key.UID)
	}
	left, err := u.Volumes.Orphans(live)
	if err != nil {
		return err
	}
	for _, uid := range left {
		if err := u.Volumes.TearDown(ctx, uid); err != nil {
			return err
		}
	}
	empty, err := u.Cgroups.Orphans(live)
	if err != nil {
		return err
	}
	for _, uid := range empty {
		if err := u.Cgroups.Remove(ctx, uid); err != nil {
			return err
		}
	}
	return nil
}

// usageAge is how old a measurement of disk use may be for the limits.
const usageAge = 10 * time.Second

// limits finds pods that use more local storage than they may.
func (u *Upkeep) limits(ctx context.Context) error {
	for _, p := range u.Known.All() {
		if p.Object == nil || !limitsStorage(p.Object) {
			continue
		}
		var onDisk []volumes.ContainerDisk
		if limitsEphemeral(p.Object) {
			onDisk = u.disks.of(ctx, p)
		}
		over := volumes.OverLimit(p.Object, u.Volumes.Usage(p.Key.UID, usageAge), onDisk)
		if over != nil {
			u.Submit(fact.Fact{Pod: p.Key, Body: *over})
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
