package tap

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// Tap is the program on a cgroup. Close takes it away; the end of the process does too.
type Tap struct {
	targets, ring *ebpf.Map
	programs      []*ebpf.Program
	links         []link.Link
	reader        *ringbuf.Reader
	woken         *os.File // readable while there are copies; Go's poller waits for it
	set           map[netip.AddrPort]bool
}

const (
	// ringBytes holds some 3,000 packets.
	ringBytes = 1 << 20
	// mostTargets bounds what is probed: addresses with ports.
	mostTargets = 4096
)

// ErrRoot says that a process is in the root of all cgroups, where every packet of the
// machine would be looked at.
var ErrRoot = errors.New("it is in no cgroup of its own: every packet of the machine would be looked at")

// CgroupOf finds the directory of the version 2 cgroup that a process is in.
func CgroupOf(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(b)) {
		path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !ok {
			continue
		}
		if path == "/" || strings.HasPrefix(path, "/..") {
			return "", ErrRoot
		}
		for _, mount := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
			if _, err := os.Stat(filepath.Join(mount, "cgroup.controllers")); err == nil {
				return filepath.Join(mount, path), nil
			}
		}
	}
	return "", errors.New("no version 2 cgroups are mounted")
}

// Open puts the program on a cgroup.
func Open(cgroup string) (t *Tap, err error) {
	t = &Tap{set: map[netip.AddrPort]bool{}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("tap on %s: %w", cgroup, err), t.Close())
			t = nil
		}
	}()
	// Kernels before 5.11 count the maps against a limit that is small by default.
	if err := rlimit.RemoveMemlock(); err != nil {
		return t, err
	}
	if t.targets, err = ebpf.NewMap(&ebpf.MapSpec{Name: "whylet_probed", Type: ebpf.Hash, KeySize: keySize, ValueSize: 1, MaxEntries: mostTargets}); err != nil {
		return t, err
	}
	if t.ring, err = ebpf.NewMap(&ebpf.MapSpec{Name: "whylet_packets", Type: ebpf.RingBuf, MaxEntries: ringBytes}); err != nil {
		return t, err
	}
	for way, where := range map[int32]ebpf.AttachType{outward: ebpf.AttachCGroupInetEgress, inward: ebpf.AttachCGroupInetIngress} {
		p, err := ebpf.NewProgram(program(way, t.targets, t.ring))
		if err != nil {
			return t, err
		}
		t.programs = append(t.programs, p)
		// A link stands beside whatever else is on the cgroup, and goes with its last holder.
		l, err := link.AttachCgroup(link.CgroupOptions{Path: cgroup, Attach: where, Program: p})
		if err != nil {
			return t, err
		}
		t.links = append(t.links, l)
	}
	if t.reader, err = ringbuf.NewReader(t.ring); err != nil {
		return t, err
	}
	t.woken, err = pollable(t.ring.FD())
	return t, err
}

// pollable is another descriptor of the same file, for which Go's poller can wait.
func pollable(fd int) (*os.File, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := unix.SetNonblock(own, true); err != nil {
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(own))
	}
	return os.NewFile(uintptr(own), "ring"), nil
}

// Close takes the program away.
func (t *Tap) Close() error {
	var errs []error
	for _, l := range t.links {
		errs = append(errs, l.Close())
	}
	for _, p := range t.programs {
		errs = append(errs, p.Close())
	}
	if t.woken != nil {
		errs = append(errs, t.woken.Close())
	}
	if t.reader != nil {
		errs = append(errs, t.reader.Close())
	}
	for _, m := range []*ebpf.Map{t.targets, t.ring} {
		if m != nil {
			errs = append(errs, m.Close())
		}
	}
	return errors.Join(errs...)
}

// Aim says of which addresses the packets are copied, in place of those before.
func (t *Tap) Aim(all []netip.AddrPort) error {
	want := map[netip.AddrPort]bool{}
	var errs []error
	for _, a := range all {
		want[a] = true
		if !t.set[a] && len(t.set) < mostTargets {
			errs = append(errs, t.targets.Put(keyOf(a), uint8(1)))
			t.set[a] = true
		}
	}
	for a := range t.set {
		if !want[a] {
			delete(t.set, a)
			errs = append(errs, t.targets.Delete(keyOf(a)))
		}
	}
	return errors.Join(errs...)
}

// keyOf is an address as the program looks it up.
func keyOf(a netip.AddrPort) []byte {
	key := make([]byte, keySize)
	address := a.Addr().As16()
	copy(key, address[:])
	key[16], key[17] = byte(a.Port()>>8), byte(a.Port())
	return key
}

// readCalmly is how often copies are read of which none looks like trouble, and readEvery
// how often while an attempt is not over, that it is ended in time if nobody answers.
const (
	readCalmly = 100 * time.Millisecond
	readEvery  = 50 * time.Millisecond
)

// Run reads what the program copies until ctx ends, and tells of attempts. within says
// how long one may take.
func (t *Tap) Run(ctx context.Context, within func(Attempt) time.Duration, tell func(Attempt)) error {
	flows := NewFlows(tell)
	var record ringbuf.Record // its bytes are used again for each
	t.reader.SetDeadline(time.Unix(1, 0))
	for ctx.Err() == nil {
		pause := readCalmly
		if len(flows.open) > 0 {
			pause = readEvery
		}
		if err := t.wait(pause); err != nil {
			return fmt.Errorf("waiting for the tap: %w", err)
		}
		for {
			err := t.reader.ReadInto(&record)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				break
			}
			if err != nil {
				return fmt.Errorf("reading the tap: %w", err)
			}
			if p, ok := parse(record.RawSample); ok {
				flows.take(p)
			}
		}
		flows.expire(Now(), within)
	}
	return nil
}

// wait returns when the program wakes who reads, or after a time. The wait is the Go
// runtime's own: one within a system call would take a thread, and wake another one that
// looks after it.
func (t *Tap) wait(most time.Duration) error {
	raw, err := t.woken.SyscallConn()
	if err == nil {
		err = t.woken.SetReadDeadline(time.Now().Add(most))
	}
	if err != nil {
		return err
	}
	waited := false
	err = raw.Read(func(uintptr) bool { waited = !waited; return !waited })
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return err
}

// Now is the clock of attempts.
func Now() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}
