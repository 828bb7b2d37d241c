package cri

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/sense/containers"
)

// Garbage is what nobody needs any more.
type Garbage struct {
	Containers []ContainerView
	Sandboxes  []SandboxView
}

// createdGrace is how long a container may stay created without being started
// before it counts as left behind by an agent that died in between.
const createdGrace = time.Minute

// FindGarbage picks from a look at the runtime what can go. Of a pod that is
// wanted, each container keeps its newest dead run (for kubectl logs -p and
// lastState), and the pod its newest sandbox; of any other pod nothing is kept.
// What runs, and a sandbox that is ready or has containers left, is never
// garbage: such pods have to be ended first.
//
// These are kubelet's rules with MaxPerPodContainer 1 and no minimum age
// (pkg/kubelet/kuberuntime/kuberuntime_gc.go).
func FindGarbage(s Snapshot, wanted func(types.UID) bool) Garbage {
	return Garbage{Containers: deadContainers(s, wanted), Sandboxes: deadSandboxes(s, wanted)}
}

func deadContainers(s Snapshot, wanted func(types.UID) bool) []ContainerView {
	type run struct {
		uid  types.UID
		name string
	}
	dead := map[run][]ContainerView{}
	for _, v := range s.Containers {
		starting := v.State == Created && s.Began.Sub(v.CreatedAt) < createdGrace
		if v.State == Running || starting {
			continue
		}
		key := run{v.Pod.UID, v.Name}
		dead[key] = append(dead[key], v)
	}
	var garbage []ContainerView
	for key, runs := range dead {
		slices.SortFunc(runs, func(a, b ContainerView) int { return b.CreatedAt.Compare(a.CreatedAt) })
		if wanted(key.uid) {
			runs = runs[1:]
		}
		garbage = append(garbage, runs...)
	}
	slices.SortFunc(garbage, func(a, b ContainerView) int { return cmp.Compare(a.ID, b.ID) })
	return garbage
}

func deadSandboxes(s Snapshot, wanted func(types.UID) bool) []SandboxView {
	used := map[string]bool{}
	for _, v := range s.Containers {
		used[v.Sandbox] = true
	}
	byPod := map[types.UID][]SandboxView{}
	for _, v := range s.Sandboxes {
		byPod[v.Pod.UID] = append(byPod[v.Pod.UID], v)
	}
	var garbage []SandboxView
	for uid, all := range byPod {
		slices.SortFunc(all, func(a, b SandboxView) int { return b.CreatedAt.Compare(a.CreatedAt) })
		if wanted(uid) {
			all = all[1:]
		}
		for _, v := range all {
			if !v.Ready && !used[v.ID] {
				garbage = append(garbage, v)
			}
		}
	}
	slices.SortFunc(garbage, func(a, b SandboxView) int { return cmp.Compare(a.ID, b.ID) })
	return garbage
}

// Collect looks at the runtime and at the log folders below logsDir and removes
// the garbage, containers before sandboxes. It returns what it removed; errors
// are joined and keep nothing else from being removed.
func (c *Client) Collect(ctx context.Context, logsDir string, wanted func(types.UID) bool) (Garbage, error) {
	s, err := c.List(ctx)
	if err != nil {
		return Garbage{}, err
	}
	found := FindGarbage(s, wanted)
	var removed Garbage
	var errs []error
	for _, v := range found.Containers {
		if err := c.removeDead(ctx, v); err != nil {
			errs = append(errs, err)
			continue
		}
		removed.Containers = append(removed.Containers, v)
	}
	for _, v := range found.Sandboxes {
		// Stopping what is stopped is cheap, and gives back what a crash left behind.
		if err := cmp.Or(c.StopSandbox(ctx, v.ID), c.RemoveSandbox(ctx, v.ID)); err != nil {
			errs = append(errs, err)
			continue
		}
		removed.Sandboxes = append(removed.Sandboxes, v)
	}
	errs = append(errs, removeLogDirs(logsDir, wanted))
	return removed, errors.Join(errs...)
}

// removeDead asks for the status first, as a listing does not say where the logs are.
func (c *Client) removeDead(ctx context.Context, v ContainerView) error {
	full, err := c.Status(ctx, v.ID)
	if err != nil {
		if containers.IsNotFound(err) {
			return nil
		}
		return err
	}
	if full.State == Unknown {
		// It may still run somewhere.
		if err := c.Stop(ctx, v.ID, MinimumGrace); err != nil {
			return err
		}
	}
	return c.Remove(ctx, full, false)
}

// removeLogDirs removes the log folders of pods that are not wanted. Anything
// that is not named like one is left alone.
func removeLogDirs(root string, wanted func(types.UID) bool) error {
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("log folders: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if !e.IsDir() || strings.Count(e.Name(), "_") != 2 || wanted(uidOfLogDir(e.Name())) {
			continue
		}
		errs = append(errs, os.RemoveAll(filepath.Join(root, e.Name())))
	}
	return errors.Join(errs...)
}
