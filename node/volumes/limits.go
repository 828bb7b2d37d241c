package volumes

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"whylet.dev/whylet/fact"
)

// The signals of kubelet's local storage eviction (eviction_manager.go).
const (
	SignalEmptyDir  = "emptydirfs.limit"
	SignalPod       = "ephemeralpodfs.limit"
	SignalContainer = "ephemeralcontainerfs.limit"
)

// evicted is kubelet's reason of every eviction.
const evicted = "Evicted"

// limitGrace is the grace period of such evictions, in seconds: kubelet's
// immediateEvictionGracePeriodSeconds.
const limitGrace = 1

// ContainerDisk is what a container has on the node's disk: its writable layer
// and its logs, in bytes.
type ContainerDisk struct {
	Name         string
	RootFS, Logs int64
}

// OverLimit tells whether the pod uses more local storage than it may, in the
// order of kubelet's localStorageEviction: an emptyDir over its sizeLimit, the
// pod over the sum of its ephemeral-storage limits, a container over its own.
// It is nil when all is within limits.
func OverLimit(pod *v1.Pod, u Usage, disks []ContainerDisk) *fact.EvictionNeeded {
	if e := emptyDirOver(pod, u); e != nil {
		return e
	}
	if e := podOver(pod, u, disks); e != nil {
		return e
	}
	return containerOver(pod, disks)
}

func emptyDirOver(pod *v1.Pod, u Usage) *fact.EvictionNeeded {
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil || v.EmptyDir.SizeLimit.Sign() <= 0 {
			continue
		}
		stats, ok := u.Volume(v.Name)
		if ok && stats.UsedBytes != nil && exceeds(int64(*stats.UsedBytes), v.EmptyDir.SizeLimit) {
			return evict(SignalEmptyDir, "Usage of EmptyDir volume %q exceeds the limit %q. ", v.Name, v.EmptyDir.SizeLimit.String())
		}
	}
	return nil
}

func podOver(pod *v1.Pod, u Usage, disks []ContainerDisk) *fact.EvictionNeeded {
	limit, ok := resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{})[v1.ResourceEphemeralStorage]
	if !ok {
		return nil
	}
	used := u.EphemeralBytes()
	for _, d := range disks {
		used += d.RootFS + d.Logs
	}
	if !exceeds(used, &limit) {
		return nil
	}
	return evict(SignalPod, "Pod ephemeral local storage usage exceeds the total limit of containers %s. ", limit.String())
}

func containerOver(pod *v1.Pod, disks []ContainerDisk) *fact.EvictionNeeded {
	limits := map[string]*resource.Quantity{}
	for c, kind := range podutil.ContainerIter(&pod.Spec, podutil.Containers|podutil.InitContainers) {
		if kind == podutil.InitContainers && !podutil.IsRestartableInitContainer(c) {
			continue // as by kubelet: it is gone before the look counts
		}
		if limit := c.Resources.Limits.StorageEphemeral(); !limit.IsZero() {
			limits[c.Name] = limit
		}
	}
	for _, d := range disks {
		if limit := limits[d.Name]; limit != nil && exceeds(d.RootFS+d.Logs, limit) {
			return evict(SignalContainer, "Container %s exceeded its local ephemeral storage limit %q. ", d.Name, limit.String())
		}
	}
	return nil
}

func exceeds(used int64, limit *resource.Quantity) bool {
	return resource.NewQuantity(used, resource.BinarySI).Cmp(*limit) > 0
}

func evict(signal, format string, args ...any) *fact.EvictionNeeded {
	return &fact.EvictionNeeded{
		Reason: evicted, Message: fmt.Sprintf(format, args...), Signal: signal, GraceSeconds: limitGrace,
	}
}
