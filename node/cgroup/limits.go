package cgroup

import (
	units "github.com/docker/go-units"
	"github.com/opencontainers/cgroups"
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	resourcehelper "k8s.io/component-helpers/resource"
	kubefeatures "k8s.io/kubernetes/pkg/features"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/cm"
)

// unlimited is the kernel's word, in numbers, for no limit.
const unlimited = int64(-1)

// nodeLimits turns what is allocatable into limits on all pods together, as
// kubelet's getCgroupConfigInternal.
func nodeLimits(allocatable v1.ResourceList) *cm.ResourceConfig {
	limits := &cm.ResourceConfig{HugePageLimit: cm.HugePageLimits(allocatable)}
	if q, ok := allocatable[v1.ResourceMemory]; ok {
		memory := q.Value()
		limits.Memory = &memory
	}
	if q, ok := allocatable[v1.ResourceCPU]; ok {
		shares := cm.MilliCPUToShares(q.MilliValue())
		limits.CPUShares = &shares
	}
	if q, ok := allocatable[PIDs]; ok {
		pids := q.Value()
		limits.PidsLimit = &pids
	}
	return limits
}

// unboundedHugePages lets a cgroup that is no pod's have any number of huge pages:
// the pods are bounded one by one. Page sizes that are not named would be limited
// to none.
func unboundedHugePages(limits *cm.ResourceConfig) *cm.ResourceConfig {
	limits.HugePageLimit = map[int64]int64{}
	for _, size := range cgroups.HugePageSizes() {
		if bytes, err := units.RAMInBytes(size); err == nil {
			limits.HugePageLimit[bytes] = 1 << 62
		}
	}
	return limits
}

// podLimits is what a pod's cgroup is set to: the sums over its containers, or
// the pod's own resources (KEP 2837). What is not limited is said to be, so that
// a limit that was taken away goes.
func (m *Manager) podLimits(pod *v1.Pod) *cm.ResourceConfig {
	memoryQoS := m.layout.V2 && utilfeature.DefaultFeatureGate.Enabled(kubefeatures.MemoryQoS)
	period := uint64(m.cfg.QuotaPeriod.Microseconds())
	limits := cm.ResourceConfigForPod(pod, true, period, memoryQoS, kubeletconfig.NoneMemoryReservationPolicy)
	none := unlimited
	// Zero would be "leave as it is" to the library below.
	if limits.CPUQuota == nil || *limits.CPUQuota == 0 {
		limits.CPUQuota, limits.CPUPeriod = &none, &period
	}
	if limits.Memory == nil || *limits.Memory == 0 {
		limits.Memory = &none
	}
	if m.cfg.PodPIDs > 0 {
		limits.PidsLimit = &m.cfg.PodPIDs
	}
	return limits
}

// cpuRequest is the pod's CPU request in thousandths of a CPU.
func cpuRequest(pod *v1.Pod) int64 {
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{
		SkipPodLevelResources: !utilfeature.DefaultFeatureGate.Enabled(kubefeatures.PodLevelResources),
	})
	return requests.Cpu().MilliValue()
}

// widest gives each limit the larger value of the two.
func widest(a, b *cm.ResourceConfig) *cm.ResourceConfig {
	w := *b
	w.Memory, w.CPUQuota = looser(a.Memory, b.Memory), looser(a.CPUQuota, b.CPUQuota)
	if a.CPUShares != nil && b.CPUShares != nil && *a.CPUShares > *b.CPUShares {
		w.CPUShares = a.CPUShares
	}
	return &w
}

// looser is the limit that allows more; none given and -1 are no limit.
func looser(a, b *int64) *int64 {
	switch {
	case a == nil || *a == unlimited:
		return a
	case b == nil || *b == unlimited:
		return b
	case *a > *b:
		return a
	}
	return b
}
