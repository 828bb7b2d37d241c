package volumes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/util/removeall"
	"k8s.io/kubernetes/pkg/volume"
	utilstrings "k8s.io/utils/strings"
)

// TearDown unmounts all volumes of the pod and removes its directory. The pod's
// containers must be gone. It works from what is on disk, so that it also ends
// the pods of an earlier agent; a pod without directory is no error. After an
// error it can be called again.
//
// Nothing that a volume holds is removed, unless it is the pod's own (emptyDir
// and what the agent wrote): a directory that is still mounted stays, and with
// it the error.
func (m *Manager) TearDown(ctx context.Context, uid types.UID) error {
	if err := validUID(uid); err != nil {
		return err
	}
	p := m.of(uid)
	m.unregister(p, uid) // first: what waits for an object gives up sooner
	p.work.Lock()
	defer p.work.Unlock()
	if err := m.removePod(ctx, uid); err != nil {
		return fmt.Errorf("volumes of pod %s: %w", uid, err)
	}
	m.tokens.DeleteServiceAccountToken(uid)
	m.forget(uid, p)
	return nil
}

// validUID keeps a UID from leading out of the pods' directory.
func validUID(uid types.UID) error {
	if s := string(uid); s == "" || s == "." || s == ".." || strings.ContainsRune(s, filepath.Separator) {
		return fmt.Errorf("%q is no pod UID", uid)
	}
	return nil
}

func (m *Manager) forget(uid types.UID, p *podVolumes) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pods[uid] == p {
		delete(m.pods, uid)
	}
	for pv, users := range m.claimed {
		if users.Delete(uid).Len() == 0 {
			delete(m.claimed, pv)
		}
	}
}

func (m *Manager) removePod(ctx context.Context, uid types.UID) error {
	dir := m.podDir(uid)
	if _, err := os.Lstat(dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := m.unbindSubPaths(dir); err != nil {
		return err
	}
	if err := m.unmountVolumes(ctx, uid); err != nil {
		return err
	}
	if err := m.unmountRest(dir); err != nil {
		return err
	}
	return m.removeDir(dir)
}

// unbindSubPaths unmounts the pod's subPaths, which lie over its volumes.
func (m *Manager) unbindSubPaths(dir string) error {
	entries, err := readDir(filepath.Join(dir, subPathsName))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := m.subpather.CleanSubPaths(dir, e.Name()); err != nil {
			return fmt.Errorf("error cleaning subPath mounts of volume %q: %w", e.Name(), err)
		}
	}
	return nil
}

// unmountVolumes lets each plugin take down what lies in its directory.
func (m *Manager) unmountVolumes(ctx context.Context, uid types.UID) error {
	dir := filepath.Join(m.podDir(uid), volumesName)
	plugins, err := readDir(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, escaped := range plugins {
		names, err := readDir(filepath.Join(dir, escaped.Name()))
		if err != nil {
			return err
		}
		plugin, err := m.plugins.FindPluginByName(utilstrings.UnescapeQualifiedName(escaped.Name()))
		if err != nil {
			continue // left to unmountRest: a volume type that another version knew
		}
		for _, name := range names {
			if err := ctx.Err(); err != nil {
				return err
			}
			errs = append(errs, m.unmountVolume(plugin, uid, name.Name()))
		}
	}
	return errors.Join(errs...)
}

func (m *Manager) unmountVolume(plugin volume.VolumePlugin, uid types.UID, name string) error {
	unmounter, err := plugin.NewUnmounter(name, uid)
	if err != nil {
		return fmt.Errorf("UnmountVolume.NewUnmounter failed for volume %q : %w", name, err)
	}
	if err := unmounter.TearDown(); err != nil {
		return fmt.Errorf("UnmountVolume.TearDown failed for volume %q : %w", name, err)
	}
	if shared, ok := plugin.(volume.DeviceMountableVolumePlugin); ok {
		return m.unmountDevice(plugin.GetPluginName(), shared, name)
	}
	return nil
}

// unmountDevice unmounts what pods shared of a volume, when the last is gone.
func (m *Manager) unmountDevice(pluginName string, plugin volume.DeviceMountableVolumePlugin, name string) error {
	path := filepath.Join(host{m}.GetPluginDir(pluginName), "mounts", name)
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	m.devices.Lock()
	defer m.devices.Unlock()
	refs, err := plugin.GetDeviceMountRefs(path)
	if err != nil {
		return fmt.Errorf("UnmountDevice failed for volume %q : %w", name, err)
	}
	inUse := func(ref string) bool { return strings.HasPrefix(ref, m.podsDir+"/") }
	if slices.ContainsFunc(refs, inUse) {
		return nil
	}
	unmounter, err := plugin.NewDeviceUnmounter()
	if err != nil {
		return err
	}
	if err := unmounter.UnmountDevice(path); err != nil {
		return fmt.Errorf("UnmountDevice failed for volume %q : %w", name, err)
	}
	return nil
}

// unmountRest unmounts whatever is still mounted below the pod's directory,
// deepest first: only then may files be removed there.
func (m *Manager) unmountRest(dir string) error {
	points, err := m.mounter.List()
	if err != nil {
		return fmt.Errorf("list of mounts: %w", err)
	}
	var below []string
	for _, p := range points {
		if strings.HasPrefix(p.Path, dir+"/") {
			below = append(below, p.Path)
		}
	}
	slices.SortStableFunc(below, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, path := range below {
		if err := m.mounter.Unmount(path); err != nil {
			return err
		}
	}
	return nil
}

// removeDir removes the pod's directory. In volumes/ only empty directories go:
// what a plugin left there may be somebody's data. The rest is the agent's own.
func (m *Manager) removeDir(dir string) error {
	if err := removeall.RemoveDirsOneFilesystem(m.mounter, filepath.Join(dir, volumesName)); err != nil {
		return fmt.Errorf("volumes directory is not empty: %w", err)
	}
	return removeall.RemoveAllOneFilesystem(m.mounter, dir)
}

// Orphans lists the pods that have a directory here, but are neither live nor
// set up by this agent: TearDown is for them.
func (m *Manager) Orphans(live sets.Set[types.UID]) ([]types.UID, error) {
	entries, err := readDir(m.podsDir)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var orphans []types.UID
	for _, e := range entries {
		uid := types.UID(e.Name())
		_, ours := m.pods[uid]
		if e.IsDir() && !ours && !live.Has(uid) {
			orphans = append(orphans, uid)
		}
	}
	return orphans, nil
}

// readDir lists a directory; one that does not exist is empty.
func readDir(dir string) ([]os.DirEntry, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}
