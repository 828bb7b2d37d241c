package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/containerd/containerd/api/types/runc/options"
	shimrunc "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/runc"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"golang.org/x/sys/unix"
)

// There is nothing to clean up only where runc has no state and nothing is mounted.
func TestNothingLeft(t *testing.T) {
	ctx := namespaces.WithNamespace(t.Context(), "k8s.io")
	root, bundle := t.TempDir(), filepath.Join(t.TempDir(), "4f5e")
	rootfs, state := filepath.Join(bundle, "rootfs"), filepath.Join(root, "k8s.io", "4f5e")
	if err := os.MkdirAll(rootfs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := shimrunc.WriteOptions(bundle, &options.Options{Root: root}); err != nil {
		t.Fatal(err)
	}
	expect := func(what string, want bool) {
		t.Helper()
		if got := nothingLeft(ctx, bundle); got != want {
			t.Errorf("%s: nothing left %v, not %v", what, got, want)
		}
	}
	expect("an empty directory for the root file system", true)
	if nothingLeft(t.Context(), bundle) {
		t.Error("nothing is left in a namespace that is not known")
	}
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	expect("runc's state", false)
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := unix.Mount("tmpfs", rootfs, "tmpfs", 0, "size=64k"); err != nil {
			t.Skipf("cannot mount: %v", err)
		}
		expect("a mounted root file system", false)
		if err := unix.Unmount(rootfs, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(rootfs); err != nil {
		t.Fatal(err)
	}
	expect("no root file system", true)
}
