package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	if err := writable(filepath.Join(root, "proc/self/mountinfo")); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(append(errs, handOn(filepath.Join(root, "sys/fs/cgroup")))...)
}

// writable takes "read only" from the mounts of cgroups: systemd-nspawn sets it on those of version 1.
func writable(mountinfo string) error {
	raw, err := os.ReadFile(mountinfo)
	if err != nil {
		return fmt.Errorf("looking for mounts of cgroups: %w", err)
	}
	var errs []error
	for _, at := range readOnlyCgroups(string(raw)) {
		if err := unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
			errs = append(errs, fmt.Errorf("making %s writable: %w", at, err))
		}
	}
	return errors.Join(errs...)
}

// readOnlyCgroups are where a mountinfo (proc(5)) has hierarchies that may only be read.
func readOnlyCgroups(mountinfo string) []string {
	var list []string
	for line := range strings.Lines(mountinfo) {
		mount, source, _ := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		if len(fields) > 5 && strings.HasPrefix(source, "cgroup") && slices.Contains(strings.Split(fields[5], ","), "ro") {
			list = append(list, fields[4])
		}
	}
	return list
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
