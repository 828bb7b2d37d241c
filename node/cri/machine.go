package cri

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/cgroups"
)

// Machine is what the builders must know of the machine they build for.
type Machine struct {
	// MemoryCapacity is what the node says it has, in bytes: OOM scores are
	// relative to it.
	MemoryCapacity int64
	// CgroupV2 is set where the controllers are in the unified hierarchy.
	CgroupV2 bool
	// SwapAccounting is set where the kernel can limit swap per cgroup.
	SwapAccounting bool
	// HugePageSizes are the page sizes that cgroups can limit here, as these name them
	// (2MB, 1GB).
	HugePageSizes []string
}

// DetectMachine looks at the kernel. Memory is the node's capacity in bytes,
// which may be less than the machine's.
func DetectMachine(memory int64) Machine {
	v2 := cgroups.IsCgroup2UnifiedMode()
	return Machine{
		MemoryCapacity: memory,
		CgroupV2:       v2,
		SwapAccounting: swapAccounting(v2),
		HugePageSizes:  hugePageSizes(v2),
	}
}

// memory is the capacity to divide by; a node that does not know its own has
// endless memory.
func (m Machine) memory() int64 {
	if m.MemoryCapacity <= 0 {
		return math.MaxInt64
	}
	return m.MemoryCapacity
}

// swapAccounting looks for the file that would hold the limit. The root of the
// unified hierarchy has none, so there it is our own cgroup's that counts.
func swapAccounting(v2 bool) bool {
	file := "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes"
	if v2 {
		own, err := cgroups.ParseCgroupFile("/proc/self/cgroup")
		if err != nil {
			return false
		}
		file = filepath.Join("/sys/fs/cgroup", own[""], "memory.swap.max")
	}
	_, err := os.Stat(file)
	return err == nil
}

// hugePageSizes are none where the kernel has huge pages but no hierarchy with
// their controller: runc refuses a limit that it cannot set, and of the runtimes
// only containerd leaves it out by itself.
func hugePageSizes(v2 bool) []string {
	if !hasHugetlb(v2, "/sys/fs/cgroup") {
		return nil
	}
	return cgroups.HugePageSizes()
}

func hasHugetlb(v2 bool, root string) bool {
	if v2 {
		controllers, _ := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
		return slices.Contains(strings.Fields(string(controllers)), "hugetlb")
	}
	_, err := os.Stat(filepath.Join(root, "hugetlb"))
	return err == nil
}
