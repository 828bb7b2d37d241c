package volumes

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/util"
)

// Usage is what the pod's volumes use of disk, in the form of /stats/summary.
type Usage struct {
	// At is when it was measured; zero: never.
	At time.Time
	// Ephemeral are the volumes that count as the pod's local ephemeral storage
	// (emptyDir on disk, configMap), Persistent all others.
	Ephemeral, Persistent []statsapi.VolumeStats
}

// Volume gives the stats of one volume.
func (u Usage) Volume(name string) (statsapi.VolumeStats, bool) {
	for _, list := range [][]statsapi.VolumeStats{u.Ephemeral, u.Persistent} {
		for _, v := range list {
			if v.Name == name {
				return v, true
			}
		}
	}
	return statsapi.VolumeStats{}, false
}

// EphemeralBytes is the sum over the ephemeral volumes.
func (u Usage) EphemeralBytes() int64 {
	var sum int64
	for _, v := range u.Ephemeral {
		if v.UsedBytes != nil {
			sum += int64(*v.UsedBytes)
		}
	}
	return sum
}

// Usage measures the pod's volumes, unless it did so less than maxAge ago: it
// walks every file of an emptyDir, so a minute is a good age. Volumes that
// cannot be measured (hostPath) are left out. For a pod that is not set up it is
// zero.
func (m *Manager) Usage(uid types.UID, maxAge time.Duration) Usage {
	p, ok := m.lookup(uid)
	if !ok {
		return Usage{}
	}
	p.mu.Lock()
	last, pod := p.usage, p.pod
	vols := make(map[string]volume.Mounter, len(p.mounted))
	for name, v := range p.mounted {
		vols[name] = v.mounter
	}
	p.mu.Unlock()
	if time.Since(last.At) < maxAge || pod == nil {
		return last
	}
	now := m.measure(pod, vols)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.usage = now
	return now
}

func (m *Manager) measure(pod *v1.Pod, vols map[string]volume.Mounter) Usage {
	u := Usage{At: time.Now()}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		mounter, ok := vols[v.Name]
		if !ok {
			continue
		}
		metrics, err := mounter.GetMetrics()
		if err != nil {
			if !volume.IsNotSupported(err) {
				m.cfg.Log.Debug("volume could not be measured", "pod", pod.Namespace+"/"+pod.Name, "volume", v.Name, "error", err)
			}
			continue
		}
		stats := statsOf(v.Name, metrics)
		if claim := claimOf(pod, v); claim != nil {
			stats.PVCRef = &statsapi.PVCReference{Name: claim.ClaimName, Namespace: pod.Namespace}
		}
		if util.IsLocalEphemeralVolume(*v) {
			u.Ephemeral = append(u.Ephemeral, stats)
		} else {
			u.Persistent = append(u.Persistent, stats)
		}
	}
	return u
}

func statsOf(name string, m *volume.Metrics) statsapi.VolumeStats {
	s := statsapi.VolumeStats{Name: name}
	s.Time = m.Time
	s.AvailableBytes, s.CapacityBytes, s.UsedBytes = amount(m.Available), amount(m.Capacity), amount(m.Used)
	s.Inodes, s.InodesFree, s.InodesUsed = amount(m.Inodes), amount(m.InodesFree), amount(m.InodesUsed)
	return s
}

// amount keeps what was not measured empty.
func amount(q *resource.Quantity) *uint64 {
	if q == nil {
		return nil
	}
	v := uint64(max(q.Value(), 0))
	return &v
}
