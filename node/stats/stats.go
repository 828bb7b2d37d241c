package stats

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/utils/clock"

	"whylet.dev/whylet/evidence/cgroupfs"
)

// Config says where the numbers are. Everything without "may be" is required.
type Config struct {
	NodeName string
	// Pods lists the node's pods with their statuses. The slice becomes the
	// collector's, the pods do not.
	Pods func() []*v1.Pod
	// Group finds the cgroup of a container, or of a pod when the id is empty:
	// cgroup.Manager.Path.
	Group func(uid types.UID, containerID string) (cgroupfs.Group, bool)
	// All is the cgroup of all pods: cgroup.Manager.Node.
	All cgroupfs.Group
	// NetworkPID is a process in the pod's own network namespace, 0 when there is
	// none (a pod in the host's). May be nil: pods have no network stats.
	NetworkPID func(uid types.UID) int
	// Volumes gives the pod's volumes as they were last measured: those that count
	// as its ephemeral storage, and others. May be nil.
	Volumes func(uid types.UID) (ephemeral, persistent []statsapi.VolumeStats)
	// Layer gives what a container had written when it was last measured: bytes
	// and inodes. May be nil.
	Layer func(containerID string) (used, inodes uint64, ok bool)
	// LogsDir is where the pods' logs are, NodeDir where the node keeps its
	// files, ImageDir where the runtime keeps images and layers.
	LogsDir, NodeDir, ImageDir string
	// Memory is set, in bytes, when the node is told to be smaller than its
	// machine; then what its pods use is what the node uses.
	Memory int64

	// Proc is /proc, but in tests.
	Proc  string
	Clock clock.Clock
	Log   *slog.Logger
}

// Collector measures. Its methods may be called from many goroutines at once.
type Collector struct {
	c       Config
	started time.Time

	mu     sync.Mutex
	last   snapshot
	meters map[string]*meter
}

// New makes a collector. It holds nothing but the last look.
func New(c Config) *Collector {
	return &Collector{c: c, started: c.Clock.Now(), meters: map[string]*meter{}}
}

// Summary gives the content of /stats/summary. With onlyCPUAndMemory, networks,
// file systems and volumes are left out.
func (c *Collector) Summary(ctx context.Context, onlyCPUAndMemory bool) (*statsapi.Summary, error) {
	s, err := c.look(ctx, true)
	if err != nil {
		return nil, err
	}
	return c.summary(s, onlyCPUAndMemory), nil
}

func (c *Collector) summary(s snapshot, small bool) *statsapi.Summary {
	at := metav1.NewTime(s.at)
	summary := &statsapi.Summary{
		Node: statsapi.NodeStats{
			NodeName: c.c.NodeName, StartTime: c.bootTime(),
			CPU: s.node.cpu(), Memory: s.node.memory(), Swap: s.node.swap(),
			SystemContainers: c.systemContainers(s),
		},
		Pods: make([]statsapi.PodStats, 0, len(s.each)),
	}
	var disk, images *statsapi.FsStats
	if !small {
		disk, images = fileSystem(c.c.NodeDir, at), fileSystem(c.c.ImageDir, at)
		summary.Node.Fs = disk
		summary.Node.Runtime = &statsapi.RuntimeStats{ImageFs: images, ContainerFs: images}
		summary.Node.Network = c.network("self", at)
		summary.Node.Rlimit = c.rlimit(at)
		summary.Node.IO = s.node.io()
	}
	for _, p := range s.each {
		stats := c.pod(p)
		if !small {
			c.complete(&stats, p, at, disk, images)
		}
		summary.Pods = append(summary.Pods, stats)
	}
	return summary
}

// systemContainers has what all pods use together, under kubelet's name for it.
func (c *Collector) systemContainers(s snapshot) []statsapi.ContainerStats {
	if s.pods.at.IsZero() {
		return nil
	}
	return []statsapi.ContainerStats{{
		Name: statsapi.SystemContainerPods, StartTime: metav1.NewTime(c.started),
		CPU: s.pods.cpu(), Memory: s.pods.memory(), Swap: s.pods.swap(),
	}}
}

// pod gives CPU and memory of a pod and its containers.
func (c *Collector) pod(p podReading) statsapi.PodStats {
	stats := statsapi.PodStats{
		PodRef:     statsapi.PodReference{Namespace: p.pod.Namespace, Name: p.pod.Name, UID: string(p.pod.UID)},
		CPU:        p.whole.cpu(),
		Memory:     p.whole.memory(),
		Swap:       p.whole.swap(),
		Containers: make([]statsapi.ContainerStats, 0, len(p.containers)),
	}
	if p.pod.Status.StartTime != nil {
		stats.StartTime = *p.pod.Status.StartTime
	}
	for _, container := range p.containers {
		stats.Containers = append(stats.Containers, statsapi.ContainerStats{
			Name: container.name, StartTime: metav1.NewTime(container.started),
			CPU: container.cpu(), Memory: container.memory(), Swap: container.swap(),
		})
	}
	return stats
}

// complete adds what is not CPU and memory.
func (c *Collector) complete(stats *statsapi.PodStats, p podReading, at metav1.Time, disk, images *statsapi.FsStats) {
	stats.IO, stats.ProcessStats = p.whole.io(), p.whole.processes()
	for i, container := range p.containers {
		stats.Containers[i].IO = container.io()
		stats.Containers[i].Logs = c.logs(p, container.name, disk)
		stats.Containers[i].Rootfs = c.layer(container.id, images)
	}
	if c.c.NetworkPID != nil {
		if pid := c.c.NetworkPID(p.pod.UID); pid > 0 {
			stats.Network = c.network(strconv.Itoa(pid), at)
		}
	}
	var temporary []statsapi.VolumeStats
	if c.c.Volumes != nil {
		var lasting []statsapi.VolumeStats
		temporary, lasting = c.c.Volumes(p.pod.UID)
		stats.VolumeStats = append(append(stats.VolumeStats, temporary...), lasting...)
	}
	stats.EphemeralStorage = ephemeral(*stats, temporary, disk)
}
