package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/process"
	shimrunc "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/runc"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/shim"
	"golang.org/x/sys/unix"
)

// Stop removes what a sandbox has left behind whose shim is gone. containerd asks
// for that, in a short-lived process in the sandbox's bundle, whenever its connection
// ends: nearly always because the sandbox was deleted in good order a moment ago.
// Then upstream starts runc, and reads the list of all the machine's mounts, to find
// nothing.
func (g grouped) Stop(ctx context.Context, id string) (shim.StopStatus, error) {
	if bundle, err := os.Getwd(); err == nil && filepath.Base(bundle) == id && nothingLeft(ctx, bundle) {
		return shim.StopStatus{ExitedAt: time.Now(), ExitStatus: 128 + int(unix.SIGKILL)}, nil
	}
	return g.Shim.Stop(ctx, id)
}

// nothingLeft says whether runc does not know the bundle's container, and its root
// file system is not mounted. In doubt it is false.
func nothingLeft(ctx context.Context, bundle string) bool {
	ns, err := namespaces.NamespaceRequired(ctx)
	if err != nil {
		return false
	}
	options, err := shimrunc.ReadOptions(bundle)
	if err != nil {
		return false
	}
	root := process.RuncRoot
	if options != nil && options.Root != "" {
		root = options.Root
	}
	_, err = os.Lstat(filepath.Join(root, ns, filepath.Base(bundle)))
	return errors.Is(err, fs.ErrNotExist) && !mounted(filepath.Join(bundle, "rootfs"))
}

// mounted says whether something is mounted on a directory; where the kernel does
// not tell (before 5.8), that it is.
func mounted(dir string) bool {
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, dir, unix.AT_SYMLINK_NOFOLLOW, 0, &s)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	return err != nil || s.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0 || s.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}
