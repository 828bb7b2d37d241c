package stats

import (
	"cmp"
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/evidence/cgroupfs"
)

const (
	// again is how long after a first look the second is taken when a rate is
	// wanted and there is nothing to compare with.
	again = 500 * time.Millisecond
	// shared is how long a look serves others who ask.
	shared = time.Second
)

// snapshot is one look at everything that has a cgroup.
type snapshot struct {
	at time.Time
	// node is the part of the machine that is this node, pods all of its pods.
	node, pods reading
	each       []podReading
	// rated is set when every reading has a rate.
	rated bool
}

type podReading struct {
	pod        *v1.Pod
	whole      reading
	containers []containerReading
}

type containerReading struct {
	name, id string
	started  time.Time
	reading
}

// runningContainers are the containers of a pod that have counters: init
// containers (sidecars among them), the pod's own, and ephemeral ones.
func runningContainers(pod *v1.Pod) []containerReading {
	var running []containerReading
	for _, statuses := range [][]v1.ContainerStatus{
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses,
	} {
		for _, s := range statuses {
			if s.State.Running != nil && s.ContainerID != "" {
				running = append(running, containerReading{name: s.Name, id: s.ContainerID, started: s.State.Running.StartedAt.Time})
			}
		}
	}
	return running
}

// look gives a snapshot that is at most a second old. With rated, all that it
// has got a CPU rate, for which it may have to wait half a second.
func (c *Collector) look(ctx context.Context, rated bool) (snapshot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c.Clock.Since(c.last.at) < shared && (c.last.rated || !rated) {
		return c.last, nil
	}
	c.last = c.take()
	if !rated || c.last.rated {
		return c.last, nil
	}
	select {
	case <-ctx.Done():
		return snapshot{}, ctx.Err()
	case <-c.c.Clock.After(again):
	}
	c.last = c.take()
	return c.last, nil
}

// take reads all counters once. c.mu is held.
func (c *Collector) take() snapshot {
	s := snapshot{at: c.c.Clock.Now(), rated: true}
	used := map[string]*meter{}
	measure := func(key string, started time.Time, r *reading) {
		m, ok := c.meters[key]
		if !ok {
			m = &meter{}
			m.startedAt(started)
		}
		used[key] = m
		r.rate, r.rated = m.read(point{r.at, r.sample.CPUUsage})
		s.rated = s.rated && r.rated
	}
	pods := c.c.Pods()
	slices.SortFunc(pods, func(a, b *v1.Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, pod := range pods {
		if p, ok := c.readPod(pod); ok {
			measure("pod "+string(pod.UID), time.Time{}, &p.whole)
			for i := range p.containers {
				measure(p.containers[i].id, p.containers[i].started, &p.containers[i].reading)
			}
			s.each = append(s.each, p)
		}
	}
	if all, ok := c.read(c.c.All); ok {
		s.pods = all
		measure("pods", time.Time{}, &s.pods)
	}
	s.node = c.node(s.pods)
	measure("node", time.Time{}, &s.node)
	c.meters = used
	return s
}

// readPod reads a pod's cgroups. It is false when the pod has none (any more).
func (c *Collector) readPod(pod *v1.Pod) (podReading, bool) {
	group, ok := c.c.Group(pod.UID, "")
	if !ok {
		return podReading{}, false
	}
	p := podReading{pod: pod}
	if p.whole, ok = c.read(group); !ok {
		return podReading{}, false
	}
	for _, container := range runningContainers(pod) {
		if container.reading, ok = c.readContainer(pod.UID, container.id); ok {
			p.containers = append(p.containers, container)
		}
	}
	return p, true
}

func (c *Collector) readContainer(uid types.UID, id string) (reading, bool) {
	group, ok := c.c.Group(uid, id)
	if !ok {
		return reading{}, false
	}
	return c.read(group)
}

// read reads one cgroup. One that is gone has nothing to say.
func (c *Collector) read(group cgroupfs.Group) (reading, bool) {
	sample, err := group.Read()
	if err != nil {
		c.c.Log.Debug("cgroup could not be read", "error", err)
		return reading{}, false
	}
	return reading{at: c.c.Clock.Now(), sample: sample}, true
}
