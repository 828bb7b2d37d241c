package volumes

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/mount-utils"
)

// mounter mounts by system call. mount-utils runs mount(8) and umount(8) for each: 3 ms
// of a small machine's CPU apiece, which a hundred pods that come or go at once feel,
// and two programs that the machine has to have. Left to it is what only mount(8)
// knows: to find out what file system is on a device.
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
	set, data := mountFlags(slices.Concat(options, sensitive))
	// --no-canonicalize, which subPaths use, is how the system call behaves anyway.
	plain := len(flags) == 0 || slices.Equal(flags, []string{"--no-canonicalize"})
	var err error
	switch {
	case plain && set&unix.MS_BIND != 0:
		err = bind(source, target, set)
	case plain && fstype != "" && fstype != "auto":
		err = unix.Mount(source, target, fstype, set, data)
	default:
		return m.Interface.MountSensitiveWithoutSystemdWithMountFlags(source, target, fstype, options, sensitive, flags)
	}
	if err != nil {
		return fmt.Errorf("mount %s at %s (type %q, options %v): %w", source, target, fstype, options, err)
	}
	return nil
}

// kept are the flags of a mount that mount(2) takes and statfs(2) tells by the same bits.
const kept = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC | unix.MS_NOATIME | unix.MS_NODIRATIME

// bind mounts source once more at target. The kernel takes other flags only when it is
// asked again, and then for all of them: what the mount had has to be said with it.
func bind(source, target string, flags uintptr) error {
	const first = unix.MS_BIND | unix.MS_REC
	if err := unix.Mount(source, target, "", flags&first, ""); err != nil {
		return err
	}
	if flags&^(first|unix.MS_REMOUNT) == 0 {
		return nil
	}
	var had unix.Statfs_t
	err := unix.Statfs(target, &had)
	if err == nil {
		err = unix.Mount("", target, "", flags&^unix.MS_REC|unix.MS_REMOUNT|uintptr(had.Flags)&kept, "")
	}
	if err != nil { // half of it would be a volume that is not read-only
		return errors.Join(err, unix.Unmount(target, unix.UMOUNT_NOFOLLOW))
	}
	return nil
}

// mountOptions are those of mount(8) that are flags of mount(2).
var mountOptions = map[string]uintptr{
	"defaults": 0, "rw": 0, "suid": 0, "dev": 0, "exec": 0, "async": 0, "_netdev": 0,
	"ro": unix.MS_RDONLY, "nosuid": unix.MS_NOSUID, "nodev": unix.MS_NODEV, "noexec": unix.MS_NOEXEC,
	"sync": unix.MS_SYNCHRONOUS, "dirsync": unix.MS_DIRSYNC, "noatime": unix.MS_NOATIME, "nodiratime": unix.MS_NODIRATIME,
	"relatime": unix.MS_RELATIME, "strictatime": unix.MS_STRICTATIME, "lazytime": unix.MS_LAZYTIME, "silent": unix.MS_SILENT,
	"bind": unix.MS_BIND, "rbind": unix.MS_BIND | unix.MS_REC, "remount": unix.MS_REMOUNT,
}

// mountFlags parts options into flags and what the file system itself is told.
func mountFlags(options []string) (flags uintptr, data string) {
	var own []string
	for _, o := range options {
		if f, ok := mountOptions[o]; ok {
			flags |= f
		} else {
			own = append(own, o)
		}
	}
	return flags, strings.Join(own, ",")
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
