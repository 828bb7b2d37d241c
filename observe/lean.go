package observe

import (
	"bufio"
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// leanEvery is how often the agent gives back what it read of its own program and does not
// need all the time: most of that is needed to begin, or in trouble.
const leanEvery = time.Minute

// lean keeps it so until ctx ends.
func lean(ctx context.Context) {
	ticker := time.NewTicker(leanEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			_ = giveBack() // where the kernel refuses, they stay
		}
	}
}

// giveBack lets go of the pages of this program's file. They stay in the kernel's cache while
// there is room, from where what is touched again comes back without a read.
func giveBack() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	var from, size uintptr // of the mapping that is read; 0: it is none of those
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		switch {
		case len(f) == 6 && f[5] == program && f[1][1] == '-' && f[1][3] == 'p':
			from, size = span(f[0])
		case len(f) >= 5 && strings.Contains(f[0], "-"):
			from, size = 0, 0
		// What was written to, as a linker does as a program begins, would be lost.
		case len(f) == 3 && f[0] == "Anonymous:" && f[1] == "0" && size > 0:
			if _, _, errno := unix.Syscall(unix.SYS_MADVISE, from, size, unix.MADV_DONTNEED); errno != 0 {
				return os.NewSyscallError("madvise", errno)
			}
		}
	}
	return lines.Err()
}

// span reads the addresses of a mapping; its size is 0 where they cannot be read.
func span(addresses string) (from, size uintptr) {
	first, last, _ := strings.Cut(addresses, "-")
	a, err := strconv.ParseUint(first, 16, 64)
	if err != nil {
		return 0, 0
	}
	b, err := strconv.ParseUint(last, 16, 64)
	if err != nil || b < a {
		return 0, 0
	}
	return uintptr(a), uintptr(b - a)
}
