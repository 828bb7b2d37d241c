package why

import "testing"

// The signal of the pods' own limit is one of memory, too.
func TestEvictedFor(t *testing.T) {
	for signal, want := range map[string]Cause{
		"memory.available": EvictedMemory, "allocatableMemory.available": EvictedMemory,
		"pid.available": EvictedPIDs, "nodefs.available": EvictedDisk, "imagefs.inodesFree": EvictedDisk, "": EvictedDisk,
	} {
		if got := evictedFor(signal); got != want {
			t.Errorf("%s: %s, want %s", signal, got, want)
		}
	}
}
