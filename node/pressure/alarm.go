package pressure

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/evidence/cgroupfs"
)

const (
	// moved is by how many bytes the level must have changed for the kernel to be
	// told anew.
	moved = 8 << 20
)

// stalls are the times spent waiting for memory, by any process, within a window,
// that wake the manager; both in microseconds (Documentation/accounting/psi.rst,
// "Monitoring for pressure thresholds"). Without CAP_SYS_RESOURCE the kernel takes
// windows of two seconds only.
var stalls = [][2]int{{20_000, 500_000}, {80_000, 2_000_000}}

// Alarm is how the kernel wakes the manager before its next look is due: when the
// pods' memory crosses a level (cgroup version 1, an eventfd on
// memory.usage_in_bytes), and when processes stall for want of memory (a PSI
// trigger). Both only lead to a look, so an alarm that rings for nothing does no
// harm, and one that the machine has not leaves the looks as they are.
type Alarm struct {
	pods cgroupfs.Group
	wake chan struct{}

	mu    sync.Mutex
	level *os.File
	at    int64
	stall *os.File
}

// NewAlarm makes the alarm of the pods' cgroup. What it cannot set up is told by
// the error; the rest of it works.
func NewAlarm(pods cgroupfs.Group) (*Alarm, error) {
	a := &Alarm{pods: pods, wake: make(chan struct{}, 1)}
	var err error
	if a.stall, err = stallTrigger(pods); err != nil {
		return a, err
	}
	go a.watchStall(a.stall)
	return a, nil
}

// Rings is read from by whom the alarm wakes.
func (a *Alarm) Rings() <-chan struct{} { return a.wake }

func (a *Alarm) ring() {
	select {
	case a.wake <- struct{}{}:
	default: // it rings already
	}
}

// stallTrigger opens the pods' own pressure file, or the machine's.
func stallTrigger(pods cgroupfs.Group) (*os.File, error) {
	paths := []string{"/proc/pressure/memory"}
	if pods.V2 {
		paths = append([]string{filepath.Join(pods.Unified, "memory.pressure")}, paths...)
	}
	var last error
	for _, path := range paths {
		for _, stall := range stalls {
			f, err := openTrigger(path, stall)
			if err == nil {
				return f, nil
			}
			last = fmt.Errorf("pressure trigger on %s: %w", path, err)
		}
	}
	return nil, last
}

func openTrigger(path string, stall [2]int) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	// The kernel takes the last byte for the end of the text.
	if _, err := unix.Write(fd, fmt.Appendf(nil, "some %d %d\x00", stall[0], stall[1])); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// watchStall waits for the trigger, which the runtime's poller does not know: it
// is POLLPRI. It looks whether the alarm is still wanted every second.
func (a *Alarm) watchStall(f *os.File) {
	for {
		a.mu.Lock()
		open := a.stall == f
		fds := []unix.PollFd{{Fd: -1, Events: unix.POLLPRI}}
		if open {
			fds[0].Fd = int32(f.Fd())
		}
		a.mu.Unlock()
		if !open {
			_ = f.Close()
			return
		}
		switch n, err := unix.Poll(fds, 1000); {
		case err != nil && err != unix.EINTR:
			return
		case n > 0 && fds[0].Revents&unix.POLLERR != 0:
			return // the cgroup is gone
		case n > 0:
			a.ring()
		}
	}
}

// Set has the kernel ring when the pods use more than so many bytes, page cache
// included. Version 2 has no such notice; there the stall trigger is all.
func (a *Alarm) Set(usage int64) error {
	if a.pods.V2 || a.pods.Memory == "" || usage <= 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if d := usage - a.at; a.level != nil && d < moved && d > -moved {
		return nil
	}
	f, err := levelEvent(a.pods.Memory, usage)
	if err != nil {
		return err
	}
	if a.level != nil {
		_ = a.level.Close()
	}
	a.level, a.at = f, usage
	go func() {
		count := make([]byte, 8)
		for {
			if _, err := f.Read(count); err != nil {
				return // another level was set
			}
			a.ring()
		}
	}()
	return nil
}

// levelEvent asks for a notice (Documentation/admin-guide/cgroup-v1/memory.rst,
// "Memory thresholds"). The kernel forgets it when the file is closed.
func levelEvent(dir string, usage int64) (*os.File, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("memory level notice: %w", err)
	}
	f := os.NewFile(uintptr(fd), "memory level")
	counter, err := os.Open(filepath.Join(dir, "memory.usage_in_bytes"))
	if err == nil {
		defer counter.Close()
		err = os.WriteFile(filepath.Join(dir, "cgroup.event_control"), fmt.Appendf(nil, "%d %d %d", fd, counter.Fd(), usage), 0)
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("memory level notice: %w", err)
	}
	return f, nil
}

// Close ends the alarm. It does not ring any more.
func (a *Alarm) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.level != nil {
		_ = a.level.Close()
		a.level = nil
	}
	a.stall = nil // its watcher closes it
}

// inactiveFile is the page cache of the pods that nobody used lately, in bytes: it
// is part of what they use, and not of what is short.
func inactiveFile(pods cgroupfs.Group) int64 {
	data, err := os.ReadFile(filepath.Join(pods.Memory, "memory.stat"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if value, ok := strings.CutPrefix(line, "total_inactive_file "); ok {
			return number(value)
		}
	}
	return 0
}

// Level is the use of all pods at which a threshold of their memory is reached;
// ok is false where none of the readings has one.
func (a *Alarm) Level(thresholds []Threshold, readings Readings) (usage int64, ok bool) {
	for _, t := range withAllocatable(thresholds) {
		r, read := readings[t.Signal]
		if !read || t.Signal != AllocatableMemory {
			continue
		}
		at := r.Capacity - t.Amount(r.Capacity).Value() + inactiveFile(a.pods)
		if at > 0 && (!ok || at < usage) {
			usage, ok = at, true
		}
	}
	return usage, ok
}
