package object

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
)

// Reserve is what of the machine's resources pods may not have.
type Reserve struct {
	// Memory is how much memory the node says it has, in bytes; 0: all.
	Memory int64
	// Kept is for what is not a pod: CPU, memory and disk (ephemeral-storage).
	Kept v1.ResourceList
	// EvictionMemory is left unused, so that a node under pressure can still act,
	// in bytes; it is the threshold of memory.available.
	EvictionMemory int64
	// EvictionDisk is the same for the disk, as a part of it: the threshold of
	// nodefs.available.
	EvictionDisk float64
	// MaxPods is how many pods fit whatever they ask for.
	MaxPods int
}

// Kubelet's default hard eviction thresholds
// (pkg/kubelet/apis/config/v1beta1/defaults_linux.go).
const (
	DefaultEvictionMemory = 100 << 20
	DefaultEvictionDisk   = 0.1
)

// Resources gives what the machine has, and what of it pods may have:
//
//	allocatable = capacity - kept - eviction threshold - huge pages
//
// where the last only concerns memory, and nothing is below zero
// (pkg/kubelet/cm/node_container_manager_linux.go).
func Resources(m Machine, r Reserve) (capacity, allocatable v1.ResourceList) {
	memory := m.Memory
	if r.Memory > 0 {
		memory = min(memory, r.Memory)
	}
	capacity = v1.ResourceList{
		v1.ResourceCPU:              *resource.NewQuantity(int64(m.CPUs), resource.DecimalSI),
		v1.ResourceMemory:           *resource.NewQuantity(memory, resource.BinarySI),
		v1.ResourcePods:             *resource.NewQuantity(int64(r.MaxPods), resource.DecimalSI),
		v1.ResourceEphemeralStorage: *resource.NewQuantity(m.Disk, resource.BinarySI),
	}
	free := memory - r.Kept.Memory().Value() - r.EvictionMemory
	for size, total := range m.HugePages {
		capacity[hugePageName(size)] = *resource.NewQuantity(total, resource.BinarySI)
		free -= total
	}
	allocatable = capacity.DeepCopy()
	allocatable[v1.ResourceMemory] = *resource.NewQuantity(max(free, 0), resource.BinarySI)
	disk := m.Disk - r.Kept.StorageEphemeral().Value() - int64(float64(m.Disk)*r.EvictionDisk)
	allocatable[v1.ResourceEphemeralStorage] = *resource.NewQuantity(max(disk, 0), resource.BinarySI)
	if kept := r.Kept.Cpu().MilliValue(); kept > 0 {
		allocatable[v1.ResourceCPU] = *resource.NewMilliQuantity(max(int64(m.CPUs)*1000-kept, 0), resource.DecimalSI)
	}
	return capacity, allocatable
}

func hugePageName(size int64) v1.ResourceName {
	return v1.ResourceName(v1.ResourceHugePagesPrefix + resource.NewQuantity(size, resource.BinarySI).String())
}

// setResources writes ours, and leaves extended resources (example.com/fpga)
// that an administrator gave the node where they are.
func setResources(status *v1.NodeStatus, capacity, allocatable v1.ResourceList) {
	keep := func(old, ours v1.ResourceList) v1.ResourceList {
		all := ours.DeepCopy()
		for name, quantity := range old {
			if v1helper.IsExtendedResourceName(name) {
				all[name] = quantity
			}
		}
		return all
	}
	extended := keep(status.Capacity, v1.ResourceList{})
	status.Capacity = keep(status.Capacity, capacity)
	status.Allocatable = keep(extended, allocatable)
}
