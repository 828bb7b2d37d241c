package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/containerd/containerd/v2/plugins/snapshots/overlay/overlayutils"
	"golang.org/x/sys/unix"
)

// capSysResource is CAP_SYS_RESOURCE (linux/capability.h).
const capSysResource = 24

// CanLowerOOMScore reports whether this process may set an oom_score_adj below
// its own, which the kernel allows with CAP_SYS_RESOURCE only (proc(5)). It asks
// for the capability and changes nothing.
func CanLowerOOMScore() (bool, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return false, fmt.Errorf("reading this process's capabilities: %w", err)
	}
	return data[0].Effective&(1<<capSysResource) != 0, nil
}

// spared is the oom_score_adj with which kubelet runs: any pod's process goes before.
const spared = -999

// Spare asks the kernel's OOM killer to choose other processes before this one and
// those that it will start. Without CAP_SYS_RESOURCE the kernel refuses. A score that
// is lower already stays.
func Spare() error {
	const file = "/proc/self/oom_score_adj"
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if now, err := strconv.Atoi(strings.TrimSpace(string(data))); err != nil || now <= spared {
		return err
	}
	return os.WriteFile(file, []byte(strconv.Itoa(spared)), 0)
}

// OverlayWorks returns nil when overlayfs can be mounted with its layers in dir,
// by doing so in a temporary directory. dir must exist.
func OverlayWorks(dir string) error { return overlayutils.Supported(dir) }

// inspect finds out what the configuration depends on. Its second result says,
// in a sentence each, what is worse here than it could be.
func inspect(dataDir string) (machine, []string, error) {
	var m machine
	var degraded []string
	if err := os.MkdirAll(dataDir, 0o700); err != nil {
		return m, nil, fmt.Errorf("making the data dir: %w", err)
	}
	if err := OverlayWorks(dataDir); err == nil {
		m.overlay = true
	} else {
		degraded = append(degraded, fmt.Sprintf("overlayfs cannot be mounted in %s (%v): images are copied for each container, which is slow and takes disk space", dataDir, err))
	}
	lower, err := CanLowerOOMScore()
	if err != nil {
		return m, nil, err
	}
	m.lowerOOMScore = lower
	if !lower {
		degraded = append(degraded, "CAP_SYS_RESOURCE is missing: containers cannot be protected from the OOM killer below the agent's own oom_score_adj, so Guaranteed pods rank like the agent")
	}
	if dir := closed(dataDir); dir != "" {
		degraded = append(degraded, fmt.Sprintf("only its owner may enter %s: pods with users of their own (hostUsers: false) cannot start before chmod o+x %s", dir, dir))
	}
	return m, degraded, nil
}

// closed gives the innermost folder, from dir upwards, that others than its owner may
// not enter, or "": the root of a user namespace is such another.
func closed(dir string) string {
	for {
		if info, err := os.Stat(dir); err == nil && info.Mode().Perm()&0o001 == 0 {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
