package stats

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// fileSystem is the size of the file system that a directory is on; nil when it
// cannot be asked.
func fileSystem(dir string, at metav1.Time) *statsapi.FsStats {
	var fs unix.Statfs_t
	if dir == "" || unix.Statfs(dir, &fs) != nil {
		return nil
	}
	block := uint64(fs.Bsize)
	available, capacity, used := fs.Bavail*block, fs.Blocks*block, (fs.Blocks-fs.Bfree)*block
	inodes, free := fs.Files, fs.Ffree
	inodesUsed := inodes - free
	return &statsapi.FsStats{
		Time: at, AvailableBytes: &available, CapacityBytes: &capacity, UsedBytes: &used,
		Inodes: &inodes, InodesFree: &free, InodesUsed: &inodesUsed,
	}
}

// part is what something uses of a file system.
func part(of *statsapi.FsStats, used, inodes uint64) *statsapi.FsStats {
	if of == nil {
		return nil
	}
	whole := *of
	whole.UsedBytes, whole.InodesUsed = &used, &inodes
	return &whole
}

// logs is what a container's logs, rotated ones too, use of the node's disk.
func (c *Collector) logs(p podReading, container string, disk *statsapi.FsStats) *statsapi.FsStats {
	dir := filepath.Join(c.c.LogsDir, p.pod.Namespace+"_"+p.pod.Name+"_"+string(p.pod.UID), container)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var used, inodes uint64
	for _, entry := range entries {
		var file unix.Stat_t
		if unix.Lstat(filepath.Join(dir, entry.Name()), &file) == nil {
			used += uint64(file.Size)
			inodes++
		}
	}
	return part(disk, used, inodes)
}

// layer is what a container has written outside its volumes.
func (c *Collector) layer(id string, disk *statsapi.FsStats) *statsapi.FsStats {
	if c.c.Layer == nil {
		return nil
	}
	used, inodes, ok := c.c.Layer(id)
	if !ok {
		return nil
	}
	return part(disk, used, inodes)
}

// ephemeral is what a pod uses of the node's disk altogether: its containers'
// layers and logs, and the volumes that go with it.
func ephemeral(p statsapi.PodStats, volumes []statsapi.VolumeStats, disk *statsapi.FsStats) *statsapi.FsStats {
	var used, inodes uint64
	add := func(fs *statsapi.FsStats) {
		if fs != nil && fs.UsedBytes != nil {
			used += *fs.UsedBytes
		}
		if fs != nil && fs.InodesUsed != nil {
			inodes += *fs.InodesUsed
		}
	}
	for i := range p.Containers {
		add(p.Containers[i].Rootfs)
		add(p.Containers[i].Logs)
	}
	for i := range volumes {
		add(&volumes[i].FsStats)
	}
	return part(disk, used, inodes)
}
