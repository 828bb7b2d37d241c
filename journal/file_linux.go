package journal

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lock keeps others from locking a file until it is closed; [ErrLocked] where somebody
// has.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// syncData brings what was written to the disk, and of its metadata only the size.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
