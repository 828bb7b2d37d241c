package images

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
)

// FullError says that the disk stays too full although every unused image is gone.
type FullError struct {
	// UsedPercent of Capacity bytes are used; Freed bytes were given back.
	UsedPercent     int
	Capacity, Freed int64
}

// Error is worded as kubelet's event FreeDiskSpaceFailed.
func (e *FullError) Error() string {
	return fmt.Sprintf("Insufficient free disk space on the node's image filesystem (%d%% of %s used). "+
		"Failed to free sufficient space by deleting unused images (freed %d bytes). "+
		"Investigate disk usage, as it could be used by active images, logs, volumes, or other data.",
		e.UsedPercent, readable(e.Capacity), e.Freed)
}

// Collect removes unused images if the disk they lie on is fuller than the policy
// allows, and returns those it removed. It has to be called now and then in any
// case: an image's age counts from when Collect first saw it.
func (m *Manager) Collect(ctx context.Context) ([]Stored, error) {
	m.collecting.Lock()
	defer m.collecting.Unlock()
	unused, err := m.unused(ctx)
	if err != nil {
		return nil, err
	}
	capacity, available, err := m.disk(ctx)
	if err != nil {
		return nil, err
	}
	need := m.options.Policy.toFree(capacity, available)
	if need <= 0 {
		return nil, nil
	}
	removed, freed, err := m.free(ctx, unused, need)
	if err == nil && freed < need {
		err = &FullError{UsedPercent: int(100 - available*100/capacity), Capacity: capacity, Freed: freed}
	}
	return removed, err
}

// CollectAll removes every unused image that is old enough, however full the disk
// is: the answer to disk pressure.
func (m *Manager) CollectAll(ctx context.Context) ([]Stored, error) {
	m.collecting.Lock()
	defer m.collecting.Unlock()
	unused, err := m.unused(ctx)
	if err != nil {
		return nil, err
	}
	removed, _, err := m.free(ctx, unused, math.MaxInt64)
	return removed, err
}

// unused looks at images and containers and gives what can go, first to go first.
// The containers are looked at after the images, so that an image that came
// between the two is not taken for unused.
func (m *Manager) unused(ctx context.Context) ([]Stored, error) {
	present, err := m.List(ctx)
	if err != nil {
		return nil, err
	}
	s, err := m.client.Snapshot(ctx)
	if err != nil {
		return nil, fmt.Errorf("which images are in use: %w", err)
	}
	inUse := map[string]bool{}
	for _, c := range s.Containers {
		inUse[c.LocalImageID] = true
		for _, mount := range c.Mounts {
			inUse[mount.Image] = true // an image volume
		}
	}
	now := time.Now()
	m.records = remember(m.records, present, inUse, now)
	return victims(m.records, present, inUse, m.options.Policy.MinAge, now), nil
}

// free removes images until enough bytes are free. One that cannot be removed
// keeps no other from being removed.
func (m *Manager) free(ctx context.Context, unused []Stored, need int64) (removed []Stored, freed int64, err error) {
	ctx = klog.NewContext(ctx, logr.Discard())
	var errs []error
	for _, image := range unused {
		if freed >= need || ctx.Err() != nil {
			break
		}
		if err := m.service.RemoveImage(ctx, &runtimeapi.ImageSpec{Image: image.ID}); err != nil {
			errs = append(errs, fmt.Errorf("remove image %s: %w", image.ID, err))
			continue
		}
		m.options.Log.Info("removed unused image", "image", image.ID, "names", image.Tags, "bytes", image.Bytes)
		delete(m.records, image.ID)
		removed = append(removed, image)
		freed += image.Bytes
	}
	return removed, freed, errors.Join(errs...)
}

// disk gives size and free space, in bytes, of the file system that the runtime
// keeps images on.
func (m *Manager) disk(ctx context.Context) (capacity, available int64, err error) {
	path, err := m.FSPath(ctx)
	if err != nil {
		return 0, 0, err
	}
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, 0, fmt.Errorf("space on the image file system at %s: %w", path, err)
	}
	capacity, available = int64(s.Blocks)*s.Bsize, int64(s.Bavail)*s.Bsize
	if capacity == 0 {
		return 0, 0, errors.New("invalid capacity 0 on image filesystem")
	}
	return capacity, available, nil
}

// FSPath is a directory on the file system that the runtime keeps images on.
func (m *Manager) FSPath(ctx context.Context) (string, error) {
	r, err := m.service.ImageFsInfo(klog.NewContext(ctx, logr.Discard()))
	if err != nil {
		return "", fmt.Errorf("image file system: %w", err)
	}
	for _, fs := range r.GetImageFilesystems() {
		if path := fs.GetFsId().GetMountpoint(); path != "" {
			return path, nil
		}
	}
	return "", errors.New("image file system: the runtime names none")
}

func readable(bytes int64) string {
	size := float64(bytes)
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if size < 1024 {
			if unit == "B" {
				return fmt.Sprintf("%d B", bytes)
			}
			return fmt.Sprintf("%.1f %s", size, unit)
		}
		size /= 1024
	}
	return fmt.Sprintf("%.1f TiB", size)
}
