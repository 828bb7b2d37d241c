package cgroup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/kubelet/cm"
)

const (
	// emptied is how long the processes of a removed cgroup have to be gone after
	// SIGKILL: one that waits for a disk can take long.
	emptied = 10 * time.Second
	// lookAgain is the first wait between two looks; it doubles up to a second.
	lookAgain = 2 * time.Millisecond
)

// remove empties a cgroup and removes it.
func (m *Manager) remove(ctx context.Context, name cm.CgroupName) error {
	path := m.kube.Name(name)
	var dirs []string
	for _, root := range m.layout.Roots() {
		dirs = append(dirs, filepath.Join(root, path))
	}
	if err := empty(ctx, path, dirs); err != nil {
		return err
	}
	if err := m.kube.Destroy(logr.Discard(), &cm.CgroupConfig{Name: name, ResourceParameters: &cm.ResourceConfig{}}); err != nil {
		return err
	}
	// The library removes the hierarchies that it knows; a runtime can have made
	// the cgroup in others.
	for _, dir := range dirs {
		if err := removeTree(dir); err != nil {
			return err
		}
	}
	return nil
}

// empty kills what is in the cgroup and below it, and waits until it is gone.
func empty(ctx context.Context, path string, dirs []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, emptied, fmt.Errorf("they had %v after SIGKILL", emptied))
	defer cancel()
	for wait := lookAgain; ; wait = min(2*wait, time.Second) {
		pids, err := processes(dirs)
		if err != nil {
			return err
		}
		if len(pids) == 0 {
			return nil
		}
		for _, pid := range pids {
			if err := kill(pid, path); err != nil {
				return err
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return fmt.Errorf("processes %v do not end: %w", pids, context.Cause(ctx))
		}
	}
}

// kill ends a process, if it is in the cgroup. The pidfd stands for the process
// that is looked at, even if another gets its pid meanwhile.
func kill(pid int, path string) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("process %d: %w", pid, err)
	}
	defer unix.Close(fd)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil || !within(string(text), path) {
		return nil // gone, or somewhere else by now
	}
	if err := unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	return nil
}

// within tells whether a /proc/PID/cgroup shows the process in the cgroup, or
// below it, in any hierarchy. Its lines are ID:CONTROLLERS:PATH.
func within(text, path string) bool {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) == 3 && (parts[2] == path || strings.HasPrefix(parts[2], path+"/")) {
			return true
		}
	}
	return false
}

// processes lists who is in the directories or below them.
func processes(dirs []string) ([]int, error) {
	var pids []int
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() {
				var here []int
				here, err = processesIn(path)
				pids = append(pids, here...)
			}
			if errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ENODEV) {
				return nil // removed while we look
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("processes of a cgroup: %w", err)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// Processes lists who is in a pod's cgroup or below it; nil where that is not known.
func (m *Manager) Processes(uid types.UID) []int {
	group, ok := m.podGroup(uid)
	if !ok {
		return nil
	}
	pids, err := processes([]string{group.Main()})
	if err != nil {
		return nil
	}
	return pids
}

func processesIn(dir string) ([]int, error) {
	f, err := os.Open(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var pids []int
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		// A 0 is a process outside of our pid namespace: nothing we could kill.
		if pid, err := strconv.Atoi(lines.Text()); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, lines.Err()
}

// removeTree removes a cgroup directory and those below it. The files in it are
// the kernel's.
func removeTree(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeTree(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	if err := unix.Rmdir(dir); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove cgroup %s: %w", dir, err)
	}
	return nil
}
