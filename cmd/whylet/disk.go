package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// How much room a node needs on the disk of its data directory, in bytes.
const (
	// leastDisk is what a start needs that goes on: its containers run, and a node
	// that does not start looks after none of them.
	leastDisk = 32 << 20
	// leastDiskFirst is what the first start allocates, most of it for the
	// database, and a little to go on with.
	leastDiskFirst = 256 << 20
	// shortDisk is so little that the start warns; goodDisk is what a few images need.
	shortDisk = 500 << 20
	goodDisk  = 4 << 30
)

// freeDisk is how many bytes are left for the files in dir, which may be yet to be made.
func freeDisk(dir string) (uint64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(existingParent(dir), &fs); err != nil {
		return 0, fmt.Errorf("asking for the disk space in %s: %w", dir, err)
	}
	return fs.Bavail * uint64(fs.Bsize), nil
}

func checkSpace(dataDir string) finding {
	free, err := freeDisk(dataDir)
	if err != nil {
		return finding{Name: "disk space", Verdict: missing, Detail: err.Error()}
	}
	_, err = os.Stat(instanceFile(dataDir))
	return judgeSpace(free, existingParent(dataDir), errors.Is(err, fs.ErrNotExist))
}

func judgeSpace(free uint64, dir string, first bool) finding {
	f := finding{Name: "disk space", Verdict: found, Detail: fmt.Sprintf("%s free in %s", size(free), dir)}
	least := uint64(leastDisk)
	if first {
		least = leastDiskFirst
	}
	if free < goodDisk {
		f.Verdict, f.Fix = degraded, "free some, or choose another --data-dir"
	}
	if free < least {
		f.Verdict, f.Detail = missing, fmt.Sprintf("%s; a start needs %s", f.Detail, size(least))
	}
	return f
}

// leastFiles is how many files a start makes and a few images have.
const leastFiles = 5000

// judgeFileSystem says what a file system of a kind (statfs(2)) has against it, with so
// many files in all (0: it does not say) and still to be made.
func judgeFileSystem(kind int64, files, free uint64, dir string) []finding {
	var list []finding
	f := finding{Name: "file system of the data", Verdict: degraded, Fix: "choose a --data-dir on ext4, xfs or btrfs"}
	switch kind {
	case unix.TMPFS_MAGIC, unix.RAMFS_MAGIC:
		f.Detail = dir + " is in memory: images and volumes take it from pods, and all is gone after a reboot"
	case unix.OVERLAYFS_SUPER_MAGIC:
		f.Detail = dir + " is in a container's own layer: slow, and gone with the container"
		f.Fix = "mount a volume there (docker: -v whylet:" + dir + ")"
	case unix.NFS_SUPER_MAGIC, unix.V9FS_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC, unix.MSDOS_SUPER_MAGIC:
		f.Detail = dir + " is shared with another system or lacks owners and locks of Linux, which database and images need"
	}
	if f.Detail != "" {
		list = append(list, f)
	}
	if files > 0 && free < leastFiles {
		list = append(list, finding{
			"number of files", missing, fmt.Sprintf("%d more files can be made in %s, and a start makes about %d", free, dir, leastFiles),
			"remove some (du --inodes -x " + dir + " finds where they are), or choose another --data-dir",
		})
	}
	return list
}

// shortOfDisk is what a node that goes on with little room should say; empty when
// there is enough.
func shortOfDisk(dataDir string) string {
	free, err := freeDisk(dataDir)
	if err != nil || free >= shortDisk {
		return ""
	}
	return fmt.Sprintf("only %s are free in %s: pods may be evicted for it, and on a full disk nothing that writes works", size(free), dataDir)
}

// keptForImages is how much of a disk, in hundredths, is to be left by default
// (imagefs.available of pressure.Default).
const keptForImages = 15

// tooFull says in words that a disk is so full that a node evicts by default; empty: it
// is not.
func tooFull(free, total uint64, dir string) string {
	if total == 0 || free*100 >= total*keptForImages {
		return ""
	}
	return fmt.Sprintf("%d %% of the disk of %s is free (%s); with less than %d %% the node starts no pods and evicts those that it has",
		free*100/total, dir, size(free), keptForImages)
}

// otherThresholds mends that.
const otherThresholds = "free some, or whylet up --eviction-hard 'memory.available<100Mi,nodefs.available<2Gi,imagefs.available<2Gi'"

// tooFullNote is what a node with such a disk should say; empty where its thresholds are
// the user's own.
func tooFullNote(dataDir string, set settings) string {
	var fs unix.Statfs_t
	if set.EvictionHard != "" || unix.Statfs(dataDir, &fs) != nil {
		return ""
	}
	return tooFull(fs.Bavail*uint64(fs.Bsize), fs.Blocks*uint64(fs.Bsize), dataDir)
}

func size(bytes uint64) string {
	if bytes < 1<<30 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
}

// existingParent is the nearest directory on the way to dir that exists.
func existingParent(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == "/" {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
