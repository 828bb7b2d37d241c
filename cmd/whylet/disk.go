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

// shortOfDisk is what a node that goes on with little room should say; empty when
// there is enough.
func shortOfDisk(dataDir string) string {
	free, err := freeDisk(dataDir)
	if err != nil || free >= shortDisk {
		return ""
	}
	return fmt.Sprintf("only %s are free in %s: pods may be evicted for it, and on a full disk nothing that writes works", size(free), dataDir)
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
