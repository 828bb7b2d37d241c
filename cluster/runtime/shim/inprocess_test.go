package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/process"
	runc "github.com/containerd/go-runc"
	"golang.org/x/sys/unix"
)

// recorder takes down what would be executed.
type recorder struct{ args []string }

func (r *recorder) Start(cmd *exec.Cmd) (chan runc.Exit, error) {
	r.args = cmd.Args
	exits := make(chan runc.Exit, 1)
	exits <- runc.Exit{}
	return exits, nil
}

func (r *recorder) StartLocked(cmd *exec.Cmd) (chan runc.Exit, error) { return r.Start(cmd) }

func (r *recorder) Wait(_ *exec.Cmd, exits chan runc.Exit) (int, error) { return (<-exits).Status, nil }

// monitorWith sets go-runc's monitor for the time of the test.
func monitorWith(t *testing.T, m runc.ProcessMonitor) {
	before := runc.Monitor
	t.Cleanup(func() { runc.Monitor = before })
	runc.Monitor = m
}

// What the task service calls is understood as go-runc writes it, and nothing
// else is taken for it.
func TestWhichCommandsRunInProcess(t *testing.T) {
	seen := &recorder{}
	monitorWith(t, seen)
	ctx, r := t.Context(), process.NewRunc("/state", "/bundle", "k8s.io", "/libexec/runc", false)
	of := func(name string) command { return command{name: name, root: "/state/k8s.io", id: "4f5e"} }
	kill, killAll := of("kill"), of("kill")
	kill.signal = unix.SIGTERM
	killAll.signal, killAll.all = unix.SIGKILL, true
	for _, tt := range []struct {
		what string
		call func() error
		want command
	}{
		{"start", func() error { return r.Start(ctx, "4f5e") }, of("start")},
		{"kill", func() error { return r.Kill(ctx, "4f5e", 15, &runc.KillOpts{}) }, kill},
		{"kill all", func() error { return r.Kill(ctx, "4f5e", 9, &runc.KillOpts{All: true}) }, killAll},
		{"delete", func() error { return r.Delete(ctx, "4f5e", nil) }, of("delete")},
		{"forced delete", func() error { return r.Delete(ctx, "4f5e", &runc.DeleteOpts{Force: true}) }, command{}},
		{"create", func() error { return r.Create(ctx, "4f5e", "/bundle", nil) }, command{}},
		{"pause", func() error { return r.Pause(ctx, "4f5e") }, command{}},
		{"resume", func() error { return r.Resume(ctx, "4f5e") }, command{}},
	} {
		seen.args = nil
		if err := tt.call(); err != nil || seen.args == nil {
			t.Fatalf("%s: %v, %q", tt.what, err, seen.args)
		}
		if got, ok := parse(seen.args); ok != (tt.want.name != "") || ok && got != tt.want {
			t.Errorf("%s: %q is %+v, %v", tt.what, seen.args, got, ok)
		}
	}
	for _, line := range []string{
		"", "runc", "runc start", "runc start id", "runc --root state start id", "runc --root /s --systemd-cgroup true kill id 9",
		"runc --root /s kill id TERM", "runc --root /s kill id", "runc --root /s start a b", "runc --root /s start -h", "runc --root",
	} {
		if c, ok := parse(strings.Fields(line)); ok {
			t.Errorf("%q is taken for %+v", line, c)
		}
	}
}

// A container that is not there is said to be missing in runc's words, by which
// the task service knows it, and the leftovers of its creation go.
func TestMissingContainer(t *testing.T) {
	seen := &recorder{}
	monitorWith(t, inProcess{seen})
	root := t.TempDir()
	r := process.NewRunc(root, t.TempDir(), "k8s.io", "/libexec/runc", false)
	left := filepath.Join(root, "k8s.io", "gone")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func(context.Context) error{
		"kill":   func(ctx context.Context) error { return r.Kill(ctx, "gone", 9, &runc.KillOpts{All: true}) },
		"start":  func(ctx context.Context) error { return r.Start(ctx, "gone") },
		"delete": func(ctx context.Context) error { return r.Delete(ctx, "gone", nil) },
	} {
		if err := call(t.Context()); err == nil || !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the deletion left %s: %v", left, err)
	}
	if seen.args != nil {
		t.Errorf("a program was started: %q", seen.args)
	}
	if err := r.Pause(t.Context(), "gone"); err != nil || seen.args == nil {
		t.Errorf("what cannot be done in the process was not handed on: %v", err)
	}
}
