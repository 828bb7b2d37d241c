package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// prepare makes of a privileged container what a node's machine is.
func prepare(root string) error {
	var errs []error
	// Volumes that pods share with the node need it, and machines are booted so.
	if err := unix.Mount("", root, "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		errs = append(errs, fmt.Errorf("sharing mounts with pods: %w", err))
	}
	for _, dir := range []string{"tmp", "run"} {
		errs = append(errs, os.MkdirAll(filepath.Join(root, dir), 0o1777))
	}
	return errors.Join(append(errs, handOn(filepath.Join(root, "sys/fs/cgroup")))...)
}

// handOn moves what runs in a container's cgroup into one below it, so that the kernel
// hands its controllers on to pods: on version 2 a cgroup has either processes or
// controllers for others (cgroups(7), "no internal processes"). On version 1 it does nothing.
func handOn(cgroup string) error {
	controllers, err := os.ReadFile(filepath.Join(cgroup, "cgroup.controllers"))
	if err != nil {
		return nil // version 1, or none, of which the node speaks
	}
	own := filepath.Join(cgroup, "whylet-init")
	if err := os.MkdirAll(own, 0o755); err != nil {
		return fmt.Errorf("a cgroup for the node's own processes: %w", err)
	}
	processes, err := os.ReadFile(filepath.Join(cgroup, "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, pid := range strings.Fields(string(processes)) {
		err := os.WriteFile(filepath.Join(own, "cgroup.procs"), []byte(pid), 0o644)
		if err != nil && !errors.Is(err, unix.ESRCH) { // it has just ended
			return fmt.Errorf("moving process %s out of the way of pods: %w", pid, err)
		}
	}
	for _, c := range strings.Fields(string(controllers)) {
		if err := os.WriteFile(filepath.Join(cgroup, "cgroup.subtree_control"), []byte("+"+c), 0o644); err != nil {
			return fmt.Errorf("handing cgroup controller %s on to pods: %w", c, err)
		}
	}
	return nil
}
