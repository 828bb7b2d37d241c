package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMain is the program itself where it was asked for, and what it starts.
func TestMain(m *testing.M) {
	if os.Getenv("WHYLET_INIT") != "" {
		main()
	}
	os.Exit(m.Run())
}

// It ends as what it started ends, and hands its signals on to it.
func TestRun(t *testing.T) {
	for script, want := range map[string]int{
		"exit 0":         0,
		"exit 7":         7,
		"kill -KILL $$":  128 + 9,
		"sleep 0 & exit": 0,
		"trap 'exit 3' TERM; kill -TERM $PPID; while :; do sleep 0.01; done": 3,
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "/bin/sh", "-c", script)
		cmd.Env = append(os.Environ(), "WHYLET_INIT=1")
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != want {
			t.Errorf("%s: exit code %d, want %d\n%s", script, got, want, out)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "/nowhere")
	cmd.Env = append(os.Environ(), "WHYLET_INIT=1")
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 127 || !strings.Contains(string(out), "/nowhere") {
		t.Errorf("%d: %s", cmd.ProcessState.ExitCode(), out)
	}
}

// On version 2 processes are moved first, and then controllers are handed on.
func TestHandOn(t *testing.T) {
	if err := handOn(t.TempDir()); err != nil {
		t.Errorf("version 1: %v", err)
	}
	dir := t.TempDir()
	for name, content := range map[string]string{"cgroup.controllers": "cpu memory pids\n", "cgroup.procs": "1\n", "cgroup.subtree_control": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := handOn(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"whylet-init/cgroup.procs": "1", "cgroup.subtree_control": "+pids"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// Of the mounts of a container of systemd-nspawn those of cgroups that may only be read.
func TestReadOnlyCgroups(t *testing.T) {
	const mounts = `711 710 0:31 / /sys/fs/cgroup ro,nosuid shared:1 - tmpfs tmpfs ro,size=4096k
712 711 0:33 / /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime shared:2 master:9 - cgroup cgroup rw,memory
713 711 0:34 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup rw
714 711 0:35 / /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct
broken
`
	if got, want := readOnlyCgroups(mounts), []string{"/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu,cpuacct"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := writable(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("no mountinfo is no error")
	}
}
