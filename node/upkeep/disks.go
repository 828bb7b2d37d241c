package upkeep

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/volumes"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/sense/containers"
)

// disks measures what containers have on the node's disk beside their volumes:
// their writable layers, as the runtime counts them, and their logs.
type disks struct {
	runtime *cri.Client
	logs    string

	mu     sync.Mutex
	layers map[string]onDisk // by container id
}

// onDisk is what something has on disk, and when that was measured.
type onDisk struct {
	bytes, inodes int64
	at            time.Time
}

const (
	// layerAge is how old a layer's measurement may be. containerd itself looks
	// every 10 s (stats_collect_period).
	layerAge = 10 * time.Second
	// layerKept is how long one is kept that nobody asks for any more.
	layerKept = 10 * time.Minute
)

// layer is what a container has written outside its volumes. It is false where
// the runtime does not say.
func (d *disks) layer(ctx context.Context, id string) (onDisk, bool) {
	d.mu.Lock()
	last, ok := d.layers[id]
	d.mu.Unlock()
	if ok && time.Since(last.at) < layerAge {
		return last, true
	}
	stats, err := d.runtime.ContainerStats(ctx, id)
	if err != nil || stats.GetWritableLayer().GetUsedBytes() == nil {
		return onDisk{}, false
	}
	w := stats.WritableLayer
	now := onDisk{bytes: int64(w.GetUsedBytes().GetValue()), inodes: int64(w.GetInodesUsed().GetValue()), at: time.Now()}
	d.mu.Lock()
	defer d.mu.Unlock()
	for other, old := range d.layers {
		if now.at.Sub(old.at) > layerKept {
			delete(d.layers, other)
		}
	}
	d.layers[id] = now
	return now, true
}

// logsOf measures the logs of a container, those of earlier runs and rotated ones
// among them.
func (d *disks) logsOf(p pods.Pod, container string) onDisk {
	dir := filepath.Join(containers.PodLogDir(d.logs, p.Object), container)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return onDisk{}
	}
	var sum onDisk
	for _, entry := range entries {
		var file unix.Stat_t
		if unix.Lstat(filepath.Join(dir, entry.Name()), &file) == nil {
			sum.bytes += file.Size
			sum.inodes++
		}
	}
	return sum
}

// of measures the running containers of a pod, for its limits.
func (d *disks) of(ctx context.Context, p pods.Pod) []volumes.ContainerDisk {
	var all []volumes.ContainerDisk
	for name, c := range p.Containers {
		if !c.Running {
			continue
		}
		layer, _ := d.layer(ctx, c.ID)
		all = append(all, volumes.ContainerDisk{Name: name, RootFS: layer.bytes, Logs: d.logsOf(p, name).bytes})
	}
	return all
}

// Layer is what a container has written outside its volumes, in bytes and inodes. It is
// false where the runtime does not say.
func (u *Upkeep) Layer(ctx context.Context, id string) (used, inodes uint64, ok bool) {
	layer, ok := u.disks.layer(ctx, id)
	return uint64(layer.bytes), uint64(layer.inodes), ok
}
