package pressure

import (
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/health"
)

// Signal is something of a node that can run short, under kubelet's name
// (pkg/kubelet/eviction/api/types.go).
type Signal string

// The signals. AllocatableMemory is what is left below the limit of all pods
// together; it has the threshold of MemoryAvailable.
const (
	MemoryAvailable    Signal = "memory.available"
	AllocatableMemory  Signal = "allocatableMemory.available"
	NodeFSAvailable    Signal = "nodefs.available"
	NodeFSInodesFree   Signal = "nodefs.inodesFree"
	ImageFSAvailable   Signal = "imagefs.available"
	ImageFSInodesFree  Signal = "imagefs.inodesFree"
	PIDAvailable       Signal = "pid.available"
	unknownSignalError        = "%q is not an eviction signal; those are memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree and pid.available"
)

// meaning is what follows from a signal.
type meaning struct {
	resource  v1.ResourceName
	condition v1.NodeConditionType
}

var meanings = map[Signal]meaning{
	MemoryAvailable:   {v1.ResourceMemory, v1.NodeMemoryPressure},
	AllocatableMemory: {v1.ResourceMemory, v1.NodeMemoryPressure},
	NodeFSAvailable:   {v1.ResourceEphemeralStorage, v1.NodeDiskPressure},
	NodeFSInodesFree:  {health.ResourceInodes, v1.NodeDiskPressure},
	ImageFSAvailable:  {v1.ResourceEphemeralStorage, v1.NodeDiskPressure},
	ImageFSInodesFree: {health.ResourceInodes, v1.NodeDiskPressure},
	PIDAvailable:      {health.ResourcePIDs, v1.NodePIDPressure},
}

// Resource is what the node is short of.
func (s Signal) Resource() v1.ResourceName { return meanings[s].resource }

// Condition is what the node then says of itself.
func (s Signal) Condition() v1.NodeConditionType { return meanings[s].condition }

// Memory tells the signals that a program can bring about within milliseconds.
func (s Signal) Memory() bool { return s.Condition() == v1.NodeMemoryPressure }

// Disk tells the signals for which there is something to reclaim.
func (s Signal) Disk() bool { return s.Condition() == v1.NodeDiskPressure }

// Reading is what a look at a signal gave: bytes, inodes or process ids.
type Reading struct {
	Available, Capacity int64
}

// Readings are the signals that could be read.
type Readings map[Signal]Reading
