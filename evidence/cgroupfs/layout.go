package cgroupfs

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/cgroups"
)

const (
	mountPoint = "/sys/fs/cgroup"
	// hybridPoint is where systemd, and runc after it, expect the version 2
	// hierarchy of a machine whose controllers are on version 1.
	hybridPoint = "/sys/fs/cgroup/unified"
)

// Layout says where the machine's cgroup hierarchies are mounted.
type Layout struct {
	// V2 is set when the controllers are on version 2.
	V2 bool
	// Unified is the version 2 hierarchy: the only one, or the empty one beside
	// version 1; "" where there is none.
	Unified string
	// Controllers are the version 1 hierarchies by controller; empty on version 2.
	Controllers map[string]string
}

// DetectLayout looks at the machine.
func DetectLayout() (Layout, error) {
	if cgroups.IsCgroup2UnifiedMode() {
		return Layout{V2: true, Unified: mountPoint}, nil
	}
	mounts, err := cgroups.GetCgroupMounts(true)
	if err != nil {
		return Layout{}, fmt.Errorf("cgroup mounts: %w", err)
	}
	l := Layout{Controllers: map[string]string{}}
	for _, m := range mounts {
		for _, c := range m.Subsystems {
			// The same hierarchy can be mounted twice; the shortest path is the
			// machine's, as in kubelet.
			if old, ok := l.Controllers[c]; !ok || len(m.Mountpoint) < len(old) {
				l.Controllers[c] = m.Mountpoint
			}
		}
	}
	if len(l.Controllers) == 0 {
		return Layout{}, fmt.Errorf("no cgroup hierarchy is mounted; mount one at %s", mountPoint)
	}
	if cgroups.IsCgroup2HybridMode() {
		l.Unified = hybridPoint
	}
	return l, nil
}

// At gives the directories of a cgroup, whether they exist or not. path is as
// in /proc/PID/cgroup: /kubepods/burstable/pod….
func (l Layout) At(path string) Group {
	g := Group{V2: l.V2}
	if l.Unified != "" {
		g.Unified = filepath.Join(l.Unified, path)
	}
	in := func(controller string) string {
		if root, ok := l.Controllers[controller]; ok {
			return filepath.Join(root, path)
		}
		return ""
	}
	g.Memory, g.CPU, g.CPUAcct, g.PIDs, g.BlkIO = in("memory"), in("cpu"), in("cpuacct"), in("pids"), in("blkio")
	return g
}

// Roots are the mount points of all hierarchies, each once.
func (l Layout) Roots() []string {
	var all []string
	for _, root := range l.Controllers {
		all = append(all, root)
	}
	if l.Unified != "" {
		all = append(all, l.Unified)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Group is one cgroup: the directories where the kernel shows it. A directory
// that the machine has not is "".
type Group struct {
	// V2 says that Unified has everything. Else the controllers have a directory
	// each, and Unified, on a hybrid machine, has the pressure files.
	V2      bool
	Unified string
	Memory  string
	CPU     string
	CPUAcct string
	PIDs    string
	BlkIO   string
}

// Exists tells whether the cgroup is there.
func (g Group) Exists() bool {
	_, err := os.Stat(g.Main())
	return err == nil
}

// Main is the directory by which the cgroup is known: that of the memory
// controller, or the only one.
func (g Group) Main() string {
	if g.V2 || g.Memory == "" {
		return g.Unified
	}
	return g.Memory
}

// Child is the cgroup of that name below this one.
func (g Group) Child(name string) Group {
	for _, dir := range []*string{&g.Unified, &g.Memory, &g.CPU, &g.CPUAcct, &g.PIDs, &g.BlkIO} {
		if *dir != "" {
			*dir = filepath.Join(*dir, name)
		}
	}
	return g
}
