package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// neededControllers are the cgroup controllers without which limits do nothing.
var neededControllers = []string{"cpu", "memory", "pids"}

// cgroupView is what can be seen of the cgroups from where whylet was started.
type cgroupView struct {
	version int // of the hierarchy that containers use; 0: none can be seen
	have    []string
	// disabled are the controllers that the kernel has and was told not to use.
	disabled []string
	// elsewhere: the mounts are others than those of process 1; false where that is not
	// to be seen.
	elsewhere bool
	// netns is the name of the network namespace for which somebody mounted /sys anew, as
	// ip netns exec does: it hides what is mounted below the machine's own.
	netns string
	// container says by what this is known to be one; empty: by nothing.
	container string
}

func checkCgroups() []finding { return []finding{judgeCgroups(lookAtCgroups())} }

// judgeCgroups names the mend by what keeps the controllers away. It computes only.
func judgeCgroups(v cgroupView) finding {
	f := finding{Name: "cgroup controllers", Verdict: found, Detail: fmt.Sprintf("v%d: %s", v.version, strings.Join(v.have, " "))}
	var absent, off []string
	for _, c := range neededControllers {
		if slices.Contains(v.have, c) {
			continue
		}
		absent = append(absent, c)
		if slices.Contains(v.disabled, c) {
			off = append(off, c)
		}
	}
	if len(absent) == 0 {
		return f
	}
	f.Verdict = missing
	f.Detail = fmt.Sprintf("v%d lacks %s", v.version, strings.Join(absent, ", "))
	if v.version == 0 {
		f.Detail = "no cgroups can be seen in /sys/fs/cgroup"
	}
	switch {
	case len(off) > 0:
		f.Detail += "; the kernel was started without " + strings.Join(off, ", ")
		f.Fix = "boot with cgroup_enable=" + off[0] + " (and without cgroup_disable=" + off[0] + ") on the kernel command line"
	case v.version == 0 && v.netns != "":
		f.Detail += ": ip netns exec hides them behind a /sys of its own"
		f.Fix = "nsenter --net=/run/netns/" + v.netns + " whylet up in place of ip netns exec " + v.netns + " whylet up"
	case v.version == 0 && v.elsewhere:
		f.Detail += ": what started whylet gave it other mounts than the machine's"
		f.Fix = "nsenter --mount=/proc/1/ns/mnt whylet up, or mount -t cgroup2 cgroup2 /sys/fs/cgroup"
	case v.version == 0:
		f.Fix = "mount -t cgroup2 cgroup2 /sys/fs/cgroup; of a container: run it with --privileged"
	case v.version == 2:
		f.Detail += ": whoever made this cgroup hands them not on"
		f.Fix = "run the container with --privileged and a cgroup namespace of its own (docker: --cgroupns=private), or under systemd with Delegate=yes"
		if v.container == "" && !v.elsewhere {
			f.Fix = "use a kernel with " + configOf(absent)
		}
	default:
		f.Fix = "mount -t cgroup -o " + absent[0] + " cgroup /sys/fs/cgroup/" + absent[0] + ", or boot with systemd.unified_cgroup_hierarchy=1 for version 2"
	}
	return f
}

// configOf names the kernel's options for controllers.
func configOf(controllers []string) string {
	options := map[string]string{"cpu": "CONFIG_CGROUP_SCHED", "memory": "CONFIG_MEMCG", "pids": "CONFIG_CGROUP_PIDS"}
	var names []string
	for _, c := range controllers {
		names = append(names, options[c])
	}
	return strings.Join(names, ", ")
}

// lookAtCgroups asks the kernel. What cannot be read is left empty.
func lookAtCgroups() cgroupView {
	v := cgroupView{container: container()}
	v.have, v.version = cgroupControllers()
	raw, _ := os.ReadFile("/proc/cgroups")
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) == 4 && fields[3] == "0" {
			v.disabled = append(v.disabled, fields[0])
		}
	}
	own, err := os.Readlink("/proc/self/ns/mnt")
	first, firstErr := os.Readlink("/proc/1/ns/mnt")
	v.elsewhere = err == nil && firstErr == nil && own != first
	mounts, err := procfs.GetMounts()
	if err != nil {
		return v
	}
	seen := false
	for _, m := range mounts {
		switch {
		case m.FSType == "cgroup2" || m.FSType == "cgroup":
			seen = seen || strings.HasPrefix(m.MountPoint, "/sys/fs/cgroup")
		case m.MountPoint == "/sys" && m.FSType == "sysfs":
			// ip-netns(8) gives the name as the source of the mount.
			if _, err := os.Stat(path.Join("/run/netns", m.Source)); err == nil && m.Source != "" {
				v.netns = m.Source
			}
		}
	}
	if !seen {
		v.version, v.have = 0, nil
	}
	return v
}

// cgroupControllers lists the controllers of the hierarchy that containers use.
func cgroupControllers() (controllers []string, version int) {
	if raw, err := os.ReadFile("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		return strings.Fields(string(raw)), 2
	}
	raw, err := os.ReadFile("/proc/cgroups")
	if err != nil {
		return nil, 1
	}
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line)
		if len(fields) != 4 || strings.HasPrefix(line, "#") || fields[3] != "1" {
			continue
		}
		if _, err := os.Stat(filepath.Join("/sys/fs/cgroup", fields[0])); err == nil {
			controllers = append(controllers, fields[0])
		}
	}
	return controllers, 1
}
