package volumes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/mount-utils"
)

// mounter does the two kinds of mount that nearly every pod needs, a tmpfs and a
// plain bind mount, and all unmounting, by system call. mount-utils runs
// mount(8) and umount(8) for each: 3 ms of a small machine's CPU apiece, which a
// hundred pods that come or go at once feel. Everything else (formatting,
// options of file systems) is left to mount-utils.
type mounter struct {
	mount.Interface
}

func newMounter() mount.Interface {
	return mounter{mount.NewWithoutSystemd("")}
}

func (m mounter) Mount(source, target, fstype string, options []string) error {
	return m.MountSensitiveWithoutSystemd(source, target, fstype, options, nil)
}

func (m mounter) MountSensitive(source, target, fstype string, options, sensitive []string) error {
	return m.MountSensitiveWithoutSystemd(source, target, fstype, options, sensitive)
}

func (m mounter) MountSensitiveWithoutSystemd(source, target, fstype string, options, sensitive []string) error {
	return m.MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype, options, sensitive, nil)
}

func (m mounter) MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype string, options, sensitive, flags []string) error {
	// --no-canonicalize, which subPaths use, is how the system call behaves anyway.
	plain := len(sensitive) == 0 && (len(flags) == 0 || slices.Equal(flags, []string{"--no-canonicalize"}))
	var err error
	switch {
	case plain && fstype == "tmpfs":
		err = unix.Mount(source, target, fstype, 0, strings.Join(options, ","))
	case plain && fstype == "" && slices.Equal(options, []string{"bind"}):
		err = unix.Mount(source, target, "", unix.MS_BIND, "")
	default:
		return m.Interface.MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype, options, sensitive, flags)
	}
	if err != nil {
		return fmt.Errorf("mount %s at %s (type %q, options %v): %w", source, target, fstype, options, err)
	}
	return nil
}

// Unmount removes the newest mount at target. That nothing is mounted there is
// no error, as CanSafelySkipMountPointCheck promises.
func (m mounter) Unmount(target string) error {
	err := unix.Unmount(target, unix.UMOUNT_NOFOLLOW)
	if err == nil || errors.Is(err, unix.EINVAL) {
		return nil
	}
	return fmt.Errorf("unmount %s: %w", target, err)
}

// CanSafelySkipMountPointCheck says that Unmount takes a directory that is not a
// mount point for granted.
func (m mounter) CanSafelySkipMountPointCheck() bool { return true }
