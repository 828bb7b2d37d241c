package upkeep

import (
	"context"
	"errors"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/volume/util"
	utilclock "k8s.io/utils/clock"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/node/pressure"
	"whylet.dev/whylet/pods"
)

// shortages measures pods for package pressure, and does what it decides.
type shortages struct {
	*Upkeep
	// separate says that images and writable layers lie on another file system
	// than the node's other files.
	separate bool
}

// Pressure makes the manager of pressure. The reader says what the node has and c what
// it wants to be left, and who hears of it; the rest of both is added here. Close ends
// the kernel's alarm, after the manager's Run has returned.
func (u *Upkeep) Pressure(ctx context.Context, reader pressure.Reader, c pressure.Config) (m *pressure.Manager, closeAlarm func()) {
	reader.Pods, reader.Proc = u.Cgroups.Node(), "/proc"
	var err error
	if reader.ImageDir, err = u.Images.FSPath(ctx); err != nil {
		u.Log.Warn("where the runtime keeps images is not known; they count as lying beside the node's files", "error", err)
		reader.ImageDir = reader.NodeDir
	}
	alarm, err := pressure.NewAlarm(reader.Pods)
	if err != nil {
		u.Log.Warn("the kernel does not say when processes wait for memory; the node looks by itself", "error", err)
	}
	s := &shortages{u, reader.Dedicated()}
	c.Read, c.Wake, c.Looked = reader.Read, alarm.Rings(), u.setAlarm(alarm, c.Thresholds)
	c.Pods, c.Ended, c.Reclaim = s.pods, s.ended, s.reclaim
	c.Evict = func(pod fact.Pod, needed fact.EvictionNeeded) { u.Submit(fact.Fact{Pod: pod, Body: needed}) }
	c.Tell = func(seen fact.NodeSignals) { u.Submit(fact.Fact{Body: seen}) }
	c.Clock, c.Log = utilclock.RealClock{}, u.Log
	return pressure.New(c), alarm.Close
}

// setAlarm keeps the alarm at the level where the pods' memory becomes short.
func (u *Upkeep) setAlarm(alarm *pressure.Alarm, thresholds []pressure.Threshold) func(pressure.Readings) {
	failed := false
	return func(readings pressure.Readings) {
		at, ok := alarm.Level(thresholds, readings)
		if !ok || failed {
			return
		}
		if err := alarm.Set(at); err != nil {
			failed = true
			u.Log.Warn("the kernel does not say when the pods' memory becomes short; the node looks by itself", "error", err)
		}
	}
}

// pods measures those that have something running.
func (s *shortages) pods(ctx context.Context, signal pressure.Signal) []health.MeasuredPod {
	var all []health.MeasuredPod
	for _, v := range s.Known.All() {
		if v.Object == nil || !v.Running() {
			continue
		}
		p := health.MeasuredPod{Object: v.Object, Candidate: health.Candidate{
			Pod: v.Key, QoS: v.Status.QOSClass, Critical: health.Critical(v.Object, v.Source == fact.FromFile),
		}}
		if v.Object.Spec.Priority != nil {
			p.Priority = *v.Object.Spec.Priority
		}
		switch {
		case signal.Memory():
			s.memory(v, &p)
		case signal.Disk():
			s.disk(ctx, v, signal, &p)
		default:
			s.tasks(v, &p)
		}
		all = append(all, p)
	}
	return all
}

// memory measures working sets.
func (s *shortages) memory(v pods.Pod, p *health.MeasuredPod) {
	p.Request = requested(v.Object, v1.ResourceMemory)
	if group, ok := s.Cgroups.Path(v.Key.UID, ""); ok {
		if sample, err := group.Read(); err == nil {
			p.Usage, p.Measured = sample.WorkingSet, true
		}
	}
	if own := v.Object.Spec.Resources; own != nil && p.Measured {
		if request, ok := own.Requests[v1.ResourceMemory]; ok {
			p.Whole = &health.ContainerUse{Usage: inBytes(p.Usage), Request: request}
		}
	}
	for _, name := range runningNames(v) {
		group, ok := s.Cgroups.Path(v.Key.UID, v.Containers[name].ID)
		if !ok {
			continue
		}
		if sample, err := group.Read(); err == nil {
			p.Containers = append(p.Containers, use(v, name, v1.ResourceMemory, sample.WorkingSet))
		}
	}
}

// tasks counts processes and threads.
func (s *shortages) tasks(v pods.Pod, p *health.MeasuredPod) {
	if group, ok := s.Cgroups.Path(v.Key.UID, ""); ok {
		if sample, err := group.Read(); err == nil {
			p.Usage, p.Measured = sample.PIDs, true
		}
	}
}

// disk measures what of a pod lies on the file system that is short: with one for
// all, everything; else layers on the images', logs and volumes on the node's
// (kubelet: eviction/helpers.go, buildSignalToRankFunc).
func (s *shortages) disk(ctx context.Context, v pods.Pod, signal pressure.Signal, p *health.MeasuredPod) {
	images := signal == pressure.ImageFSAvailable || signal == pressure.ImageFSInodesFree
	layers, rest := !s.separate || images, !s.separate || !images
	var sum onDisk
	add := func(d onDisk) { sum.bytes, sum.inodes = sum.bytes+d.bytes, sum.inodes+d.inodes }
	for _, name := range runningNames(v) {
		layer, known := s.disks.layer(ctx, v.Containers[name].ID)
		logs := s.disks.logsOf(v, name)
		if layers {
			add(layer)
		}
		if rest {
			add(logs)
		}
		if known && signal.Resource() == v1.ResourceEphemeralStorage {
			p.Containers = append(p.Containers, use(v, name, v1.ResourceEphemeralStorage, layer.bytes+logs.bytes))
		}
	}
	if rest {
		add(s.volumes(v))
	}
	p.Measured, p.Usage = true, sum.inodes
	if signal.Resource() == v1.ResourceEphemeralStorage {
		p.Usage, p.Request = sum.bytes, requested(v.Object, v1.ResourceEphemeralStorage)
	}
}

// freshUsage is how old a measurement of volumes may be where it decides who goes: a
// disk can be filled in seconds, and another pod must not go for it.
const freshUsage = time.Second

// volumes are those of the pod that are on the node's own disk.
func (s *shortages) volumes(v pods.Pod) (sum onDisk) {
	usage := s.Volumes.Usage(v.Key.UID, freshUsage)
	for i := range v.Object.Spec.Volumes {
		volume := &v.Object.Spec.Volumes[i]
		if volume.HostPath == nil && !util.IsLocalEphemeralVolume(*volume) {
			continue
		}
		if stats, ok := usage.Volume(volume.Name); ok {
			if stats.UsedBytes != nil {
				sum.bytes += int64(*stats.UsedBytes)
			}
			if stats.InodesUsed != nil {
				sum.inodes += int64(*stats.InodesUsed)
			}
		}
	}
	return sum
}

// runningNames are the containers that run: the pod's own in their order, then
// init containers. Ephemeral ones can request nothing and are not blamed.
func runningNames(v pods.Pod) []string {
	var names []string
	for _, containers := range [][]v1.Container{v.Object.Spec.Containers, v.Object.Spec.InitContainers} {
		for i := range containers {
			if v.Containers[containers[i].Name].Running {
				names = append(names, containers[i].Name)
			}
		}
	}
	return names
}

func use(v pods.Pod, container string, name v1.ResourceName, used int64) health.ContainerUse {
	use := health.ContainerUse{Name: container, Usage: inBytes(used)}
	if spec, ok := v.Spec(container); ok {
		use.Request = spec.Resources.Requests[name]
	}
	return use
}

func inBytes(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.BinarySI) }

// requested is what a pod asked for, its overhead included, in bytes.
func requested(pod *v1.Pod, name v1.ResourceName) int64 {
	q := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})[name]
	return q.Value()
}

// ended says whether an evicted pod has given back what it used: memory and
// processes with its containers, disk with its volumes.
func (s *shortages) ended(pod fact.Pod, signal pressure.Signal) bool {
	v, ok := s.Known.Get(pod.UID)
	return !ok || (!v.Running() && (!signal.Disk() || v.Sandbox.ID == ""))
}

// reclaim removes dead containers and unused images. Where images lie on a file
// system of their own, that helps only there.
func (s *shortages) reclaim(ctx context.Context, signal pressure.Signal) error {
	if s.separate && strings.HasPrefix(string(signal), "nodefs.") {
		return nil
	}
	_, err := s.Runtime.Collect(ctx, s.PodLogsDir, func(uid types.UID) bool {
		p, ok := s.Known.Get(uid)
		return ok && !p.Finished()
	})
	removed, imagesErr := s.Images.CollectAll(ctx)
	if len(removed) > 0 {
		s.Log.Info("unused images removed, because the disk is short", "count", len(removed))
	}
	return errors.Join(err, imagesErr)
}
