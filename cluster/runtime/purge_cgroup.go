package runtime

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// purgeCgroups kills what runs below the cgroup root and removes it from every
// hierarchy: v2's one, or each of v1's.
func purgeCgroups(ctx context.Context, root string) error {
	if root == "" || filepath.Clean(root) == "/" {
		return nil
	}
	mounts, err := cgroupMounts()
	if err != nil {
		return err
	}
	var errs []error
	for _, mount := range mounts {
		errs = append(errs, removeCgroup(ctx, filepath.Join(mount, filepath.Clean("/"+root))))
	}
	return errors.Join(errs...)
}

// cgroupMounts lists where cgroup hierarchies of either version are mounted.
func cgroupMounts() ([]string, error) {
	raw, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return nil, fmt.Errorf("listing cgroup mounts: %w", err)
	}
	var mounts []string
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line)
		if len(fields) > 2 && (fields[2] == "cgroup" || fields[2] == "cgroup2") {
			mounts = append(mounts, unescapeMount(fields[1]))
		}
	}
	return mounts, nil
}

// removeCgroup kills the processes in dir and below and removes the directories,
// leaves first. A cgroup whose last process was just killed is busy for a
// moment, so it tries as long as there is less and less.
func removeCgroup(ctx context.Context, dir string) error {
	last, least := time.Now(), -1
	for {
		var dirs []string
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("reading the cgroup %s: %w", dir, err)
		}
		if len(dirs) == 0 {
			return nil
		}
		var busy error
		left := len(dirs)
		for i := len(dirs) - 1; i >= 0; i-- {
			left += killCgroup(dirs[i])
			if err := os.Remove(dirs[i]); err != nil && !errors.Is(err, fs.ErrNotExist) {
				busy = err
			}
		}
		if busy == nil {
			return nil
		}
		if least < 0 || left < least {
			last, least = time.Now(), left
		}
		if !sleep(ctx, 10*time.Millisecond) || time.Since(last) > patience {
			return fmt.Errorf("removing the cgroup %s: %w", dir, busy)
		}
	}
}

// killCgroup kills the processes in the cgroup itself, not those below, and tells
// how many they were. Failing to is no error: removing the cgroup fails then, and
// says so.
func killCgroup(dir string) (killed int) {
	raw, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return 0
	}
	for field := range strings.FieldsSeq(string(raw)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 && pid != os.Getpid() {
			_ = unix.Kill(pid, unix.SIGKILL)
			killed++
		}
	}
	return killed
}
