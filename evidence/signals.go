package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Signals tells of each signal on this machine by which somebody may end a process, and
// who sent it, from an instance of the kernel's tracing that is ours alone: whoever else
// traces is not disturbed, and does not disturb. It needs root, tracefs, and the machine's
// first pid namespace.
type Signals struct {
	instance string
	pipe     *os.File
	mount    *os.File // tracefs, where it was mounted nowhere

	mu   sync.Mutex // held while lines are read and told
	rest []byte     // the beginning of a line
	buf  []byte
	tell func(Signal)
	lost func(count int64)
}

// instancePrefix begins the names of our instances; the number of the process and
// when it began follow.
const instancePrefix = "whylet-"

// firstPIDNamespace is the inode of the machine's first (PROC_PID_INIT_INO).
const firstPIDNamespace = "pid:[4026531836]"

// OpenSignals makes the instance, and removes those of agents of ours that died.
// tell and lost are called from one goroutine at a time; they must not call the
// Signals.
func OpenSignals(tell func(Signal), lost func(count int64)) (s *Signals, err error) {
	if ns, err := os.Readlink("/proc/self/ns/pid"); err != nil || ns != firstPIDNamespace {
		return nil, fmt.Errorf("tracing signals: not in the machine's first pid namespace (%s)", ns)
	}
	s = &Signals{tell: tell, lost: lost, buf: make([]byte, 64<<10)}
	root, err := s.tracefs()
	if err != nil {
		return nil, fmt.Errorf("tracing signals: %w", err)
	}
	defer func() {
		if err != nil {
			_ = s.Close()
			s = nil
		}
	}()
	instances := filepath.Join(root, "instances")
	removeStale(instances)
	name, err := instanceName(os.Getpid())
	if err != nil {
		return s, err
	}
	dir := filepath.Join(instances, name)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return s, fmt.Errorf("tracing signals: %w", err)
	}
	s.instance = dir
	if err := setUp(dir); err != nil {
		return s, fmt.Errorf("tracing signals: %w", err)
	}
	s.pipe, err = os.OpenFile(filepath.Join(dir, "trace_pipe"), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return s, fmt.Errorf("tracing signals: %w", err)
	}
	return s, nil
}

// traced are the signals that end a process. Of those by which programs also talk
// (SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2) only what kill(2) sent counts (SI_USER):
// runtimes send their own threads such by the thousand, with tgkill(2).
const traced = "sig==9||sig==15||(code==0&&(sig==1||sig==2||sig==3||sig==10||sig==12))"

// setUp has an instance trace these signals, and nothing else. The buffer's size
// holds some thousand of them; a reader is woken by the first.
func setUp(dir string) error {
	for _, one := range []struct{ file, value string }{
		{"buffer_size_kb", "64"},
		{"trace_clock", "mono"},
		{"events/signal/signal_generate/filter", traced},
		{"events/signal/signal_generate/enable", "1"},
	} {
		if err := os.WriteFile(filepath.Join(dir, one.file), []byte(one.value), 0); err != nil {
			return err
		}
	}
	// Kernels before 5.0 have no such file, and wake the reader at once.
	if err := os.WriteFile(filepath.Join(dir, "buffer_percent"), []byte("0"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// tracefs finds where tracefs is mounted, or mounts it where only this process
// sees it.
func (s *Signals) tracefs() (string, error) {
	for _, dir := range []string{"/sys/kernel/tracing", "/sys/kernel/debug/tracing"} {
		if _, err := os.Stat(filepath.Join(dir, "instances")); err == nil {
			return dir, nil
		}
	}
	fs, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return "", os.NewSyscallError("fsopen tracefs", err)
	}
	defer unix.Close(fs)
	if err := unix.FsconfigCreate(fs); err != nil {
		return "", os.NewSyscallError("fsconfig tracefs", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return "", os.NewSyscallError("fsmount tracefs", err)
	}
	s.mount = os.NewFile(uintptr(fd), "tracefs")
	return fmt.Sprintf("/proc/self/fd/%d", fd), nil
}

// Run reads until ctx ends.
func (s *Signals) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.pipe.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := s.pipe.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		failed = s.drain(int(fd))
		return failed != nil
	})
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(failed, err)
}

// Drain returns when all signals that were sent before the call have been told.
func (s *Signals) Drain() {
	raw, err := s.pipe.SyscallConn()
	if err != nil {
		return // closed
	}
	_ = raw.Control(func(fd uintptr) { _ = s.drain(int(fd)) })
}

func (s *Signals) drain(fd int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		n, err := unix.Read(fd, s.buf)
		switch {
		case err == unix.EAGAIN, err == nil && n == 0:
			return nil
		case err == unix.EINTR:
			continue
		case err != nil:
			return os.NewSyscallError("read trace_pipe", err)
		}
		s.take(s.buf[:n])
	}
}

// longestLine bounds what is kept of a line without an end.
const longestLine = 4 << 10

func (s *Signals) take(b []byte) {
	s.rest = append(s.rest, b...)
	for {
		line, after, ok := bytes.Cut(s.rest, []byte{'\n'})
		if !ok {
			break
		}
		if signal, ok := ParseSignal(string(line)); ok {
			s.tell(signal)
		} else if n, ok := parseLost(string(line)); ok {
			s.lost(n)
		}
		s.rest = after
	}
	s.rest = bytes.Clone(s.rest[:min(len(s.rest), longestLine)])
}

// Close ends the tracing and removes the instance.
func (s *Signals) Close() error {
	var errs []error
	if s.pipe != nil {
		errs = append(errs, s.pipe.Close())
	}
	if s.instance != "" {
		errs = append(errs, removeInstance(s.instance))
	}
	if s.mount != nil {
		errs = append(errs, s.mount.Close())
	}
	return errors.Join(errs...)
}

// removeInstance ends an instance. The kernel refuses while somebody has one of
// its files open, which ends with our reader.
func removeInstance(dir string) error {
	_ = os.WriteFile(filepath.Join(dir, "events/signal/signal_generate/enable"), []byte("0"), 0)
	err := os.Remove(dir)
	for try := 0; errors.Is(err, unix.EBUSY) && try < 50; try++ {
		time.Sleep(10 * time.Millisecond)
		err = os.Remove(dir)
	}
	return err
}

// instanceName names the instance of a process.
func instanceName(pid int) (string, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", err
	}
	p, err := ParseStat(string(b))
	return fmt.Sprintf("%s%d-%d", instancePrefix, pid, p.Began), err
}

// removeStale removes the instances of agents that are no more. Those of agents
// that live, and everybody else's, stay.
func removeStale(instances string) {
	names, err := os.ReadDir(instances)
	if err != nil {
		return
	}
	for _, n := range names {
		rest, ours := strings.CutPrefix(n.Name(), instancePrefix)
		number, began, whole := strings.Cut(rest, "-")
		pid, err := strconv.Atoi(number)
		_, err2 := strconv.ParseUint(began, 10, 64)
		if !ours || !whole || err != nil || err2 != nil {
			continue
		}
		if now, err := instanceName(pid); err == nil && now == n.Name() {
			continue
		}
		_ = removeInstance(filepath.Join(instances, n.Name()))
	}
}
