package peer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const cgroupMount = "/sys/fs/cgroup"

// hierarchies are the cgroup trees of this machine: one with version 2, one a
// group of controllers with version 1.
func hierarchies() ([]string, error) {
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && strings.HasPrefix(f[2], "cgroup") && strings.HasPrefix(f[1], cgroupMount) {
			found = append(found, f[1])
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no cgroups are mounted at %s", cgroupMount)
	}
	return found, nil
}

// makeCgroups makes the group that the real kubelet takes for the root of all.
// It must be there before kubelet starts, with every controller that it uses.
func makeCgroups(name string) error {
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	for _, tree := range trees {
		dir := filepath.Join(tree, name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
		// A version 1 cpuset is empty until it is told its processors.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			value, err := os.ReadFile(filepath.Join(tree, file))
			if err != nil {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, file), bytes.TrimSpace(value), 0o644); err != nil {
				return err
			}
		}
		controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
		if err != nil {
			continue
		}
		for _, controller := range strings.Fields(string(controllers)) {
			if err := os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+controller), 0o644); err != nil {
				return fmt.Errorf("enable %s: %w", controller, err)
			}
		}
	}
	return nil
}

// removeCgroups ends what is left in the group and removes it from every tree.
func removeCgroups(name string) error {
	trees, err := hierarchies()
	if err != nil {
		return err
	}
	return waitFor(20*time.Second, "removal of the cgroups of "+name, func() error {
		var errs []error
		for _, tree := range trees {
			errs = append(errs, removeTree(filepath.Join(tree, name)))
		}
		return errors.Join(errs...)
	})
}

func removeTree(root string) error {
	var dirs []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return err
	}
	var errs []error
	for i := len(dirs) - 1; i >= 0; i-- {
		procs, err := os.ReadFile(filepath.Join(dirs[i], "cgroup.procs"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
		for _, field := range strings.Fields(string(procs)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by now; the removal will tell
			}
		}
		if err := os.Remove(dirs[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
