package observe

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/evidence/cgroupfs"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// cgroups finds the cgroups of pods by their processes: kubelet and the runtime made
// them, by whatever driver and below whatever root.
type cgroups struct {
	layout cgroupfs.Layout
	known  pods.Registry
}

func newCgroups(known pods.Registry) (*cgroups, error) {
	layout, err := cgroupfs.DetectLayout()
	return &cgroups{layout, known}, err
}

// Path is the cgroup of a running container, or without an id that of its pod.
func (c *cgroups) Path(uid types.UID, id string) (cgroupfs.Group, bool) {
	pod, ok := c.known.Get(uid)
	if !ok {
		return cgroupfs.Group{}, false
	}
	for _, one := range pod.Containers {
		if !one.Running || one.PID == 0 || id != "" && pods.BareID(one.ID) != pods.BareID(id) {
			continue
		}
		own := containerCgroup(one.PID, pods.BareID(one.ID))
		if own == "" {
			continue
		}
		if id == "" {
			own = path.Dir(own)
		}
		group := c.layout.At(own)
		return group, group.Exists()
	}
	return cgroupfs.Group{}, false
}

// containerCgroup is the path of a container's cgroup, by what the kernel says of its
// main process, which may be in one below it; empty where it is in none.
func containerCgroup(pid int, id string) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cgroup")
	if err != nil {
		return ""
	}
	return cgroupIn(string(b), id)
}

// cgroupIn finds it among a process's cgroups (proc(5)).
func cgroupIn(all, id string) string {
	for line := range strings.Lines(all) {
		// hierarchy:controllers:path; version 2 has no controllers
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 || !(parts[1] == "" || parts[1] == "memory") || fact.ParseCgroup(parts[2]).Container != id {
			continue
		}
		for own := parts[2]; ; own = path.Dir(own) {
			if fact.ParseCgroup(path.Dir(own)).Container != id {
				return own
			}
		}
	}
	return ""
}

// Processes lists the processes of a pod.
func (c *cgroups) Processes(uid types.UID) []int {
	group, ok := c.Path(uid, "")
	if !ok {
		return nil
	}
	var pids []int
	_ = filepath.WalkDir(group.Main(), func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return nil // it may be gone by now
		}
		b, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs")) // gone: none
		for field := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}
