package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// Container is a container that is running, or ended lately.
type Container struct {
	Pod     fact.Pod
	Name    string
	Attempt int32
	// PID is its main process on the host; 0 where that is not known.
	PID int
	// Starting is set while its main process is about to be known.
	Starting bool
}

// Containers knows the pods of the node. It is asked from one goroutine.
type Containers interface {
	// Container finds a container by the runtime's id, without a scheme. It must
	// remember those that ended a little while ago: the kernel's word may come
	// after the runtime's.
	Container(id string) (Container, bool)
	// Pod finds a pod by its UID.
	Pod(uid types.UID) (fact.Pod, bool)
	// Running lists the containers that run or ran lately and whose main process is
	// known, by the runtime's id.
	Running() map[string]Container
	// Owner finds the container of a process that runs or ran lately by its number;
	// false where nobody keeps book.
	Owner(pid int) (id string, ok bool)
}

// Kernel follows the kernel's log and tells of OOM kills and of errors of GPUs.
type Kernel struct {
	Containers Containers
	// Reported says whether a record of before the start was told by an earlier
	// agent of this boot: see [Reported]. Nil: none was.
	Reported func(b fact.Body, at time.Time) bool
	// Fence, if not nil, can be passed while Run runs.
	Fence *Fence
	Log   *slog.Logger

	// Path is the log, /dev/kmsg if empty; Proc is /proc if empty; Cgroups is
	// /sys/fs/cgroup if empty.
	Path, Proc, Cgroups string
}

const (
	// recordBytes is more than the kernel gives in one read (CONSOLE_EXT_LOG_MAX).
	recordBytes = 16 << 10
	// unknownFor is how long a container that nobody knows yet is waited for.
	unknownFor = 2 * time.Second
	// droppedEvery is how often it is told that the table of connections is full.
	droppedEvery = 10 * time.Second
)

// Run emits facts until ctx ends: fact.OOMKilled for each kill, with pod and
// container where the victim's cgroup is a container's, fact.GPUError, and fact.Lost where the
// kernel overwrote records before they were read. It begins with what the log
// still holds of this boot. emit is called from one goroutine; the facts have At,
// Pod, Container, Attempt and Body.
//
// It fails where the log cannot be read; kills are then seen by the cgroups'
// counters only.
func (k Kernel) Run(ctx context.Context, emit func(fact.Fact)) error {
	f, err := os.OpenFile(k.path(), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("reading the kernel's log: %w", err)
	}
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := f.SyscallConn()
	if err != nil {
		return fmt.Errorf("reading the kernel's log: %w", err)
	}
	r := kernelReader{Kernel: k, emit: emit, clock: startClock(), buf: make([]byte, recordBytes)}
	r.begin()
	if k.Fence != nil {
		k.Fence.set(func() { _ = raw.Control(func(fd uintptr) { _ = r.drain(ctx, int(fd)) }) })
		defer k.Fence.set(nil)
	}
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		failed = r.drain(ctx, int(fd))
		return failed != nil // else it is called again when there is more
	})
	r.end()
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("reading the kernel's log: %w", errors.Join(failed, err))
}

// Fence waits until a source has told all that the kernel had to say. It needs no
// marker in the kernel's log: whoever passes it reads, in the source's place, until
// there is nothing left to read.
type Fence struct {
	mu    sync.Mutex
	drain func()
}

// Pass returns when what was in the kernel's log at the time of the call was
// emitted; at once where nobody reads it.
func (f *Fence) Pass() {
	f.mu.Lock()
	drain := f.drain
	f.mu.Unlock()
	if drain != nil {
		drain()
	}
}

func (f *Fence) set(drain func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drain = drain
}

func (k Kernel) path() string {
	if k.Path == "" {
		return "/dev/kmsg"
	}
	return k.Path
}

// kernelReader is one Run.
type kernelReader struct {
	Kernel
	mu     sync.Mutex // held while records are read and emitted
	buf    []byte
	emit   func(fact.Fact)
	clock  kernelClock
	parser OOMParser
	next   uint64 // the sequence number that is due; 0 before the first
	lastAt time.Time
	// droppedAt is when it was last told that the table of connections is full.
	droppedAt time.Time
	// gpuToldAt is when each error of a GPU was told last.
	gpuToldAt map[any]time.Time
	// told counts the kills that were attributed, by container.
	told     map[string]int64
	unplaced []unplaced
	placing  bool // a look at the unplaced is due
	ended    bool
}

// end lets nothing be emitted any more.
func (r *kernelReader) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// drain reads until there is nothing more.
func (r *kernelReader) drain(ctx context.Context, fd int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for ctx.Err() == nil {
		n, err := unix.Read(fd, r.buf)
		switch {
		case err == unix.EAGAIN:
			r.place()
			return nil
		case err == unix.EINTR:
		case err == unix.EPIPE:
			r.parser.Forget() // the next record says how many are gone
		case err != nil:
			return err
		case n == 0:
			return io.EOF
		default:
			r.take(ctx, r.buf[:n])
		}
	}
	return nil
}

func (r *kernelReader) take(ctx context.Context, b []byte) {
	rec, err := ParseRecord(b)
	if err != nil {
		r.Log.Debug("kernel log: skipping a record", "error", err)
		return
	}
	at, backlog := r.clock.wall(rec.At)
	if r.next != 0 && rec.Seq > r.next {
		r.parser.Forget()
		r.emit(fact.Fact{At: at, Body: fact.Lost{
			Source: fact.SourceKernelLog, Reason: "the kernel overwrote records of its log before they were read",
			From: r.lastAt, Until: at, Count: int64(rec.Seq - r.next),
		}})
	}
	r.next, r.lastAt = rec.Seq+1, at
	if !backlog && tableFull(rec) && at.Sub(r.droppedAt) >= droppedEvery {
		r.droppedAt = at
		r.emit(fact.Fact{At: at, Body: fact.PacketsDropped{Message: rec.Text}})
	}
	reported := func(b fact.Body) bool { return backlog && r.Reported != nil && r.Reported(b, at) }
	if e, ok := ParseXid(rec); ok && !reported(e) {
		if f, ok := r.gpuError(e, at, backlog); ok {
			r.emit(f)
		}
	}
	for _, k := range r.parser.Take(rec) {
		if reported(k.OOMKilled) {
			continue
		}
		if !backlog && k.TaskCgroup == "" {
			r.putAside(k, at)
			continue
		}
		r.emit(r.fact(ctx, k, at, backlog))
	}
}

// fact says whose process it was.
func (r *kernelReader) fact(ctx context.Context, k OOM, at time.Time, backlog bool) fact.Fact {
	f := fact.Fact{At: at}
	whose := fact.ParseCgroup(k.TaskCgroup)
	if !backlog {
		r.tell(whose.Container) // what came before the start is counted already
	}
	if whose.Pod == "" {
		f.Body = k.OOMKilled
		return f
	}
	f.Pod = fact.Pod{UID: whose.Pod}
	pod, ours := r.Containers.Pod(whose.Pod)
	if ours {
		f.Pod = pod
	}
	// The kernel may be faster than the runtime's word of a container of ours.
	wait := ours && !backlog && whose.Container != ""
	if c, ok := r.find(ctx, whose.Container, wait); ok && c.Pod.UID == whose.Pod {
		f.Pod, f.Container, f.Attempt = c.Pod, c.Name, c.Attempt
		k.Main = c.PID != 0 && (c.PID == k.PID || c.PID == k.TGID)
		if c.PID == 0 { // it ended long ago, or before anybody could look which process is its main one
			k.Main = k.alone()
			k.MainOpen = !k.Main
		}
	}
	if wait && f.Container == "" { // on a busy machine the runtime's word comes later than that, too
		k.Main = k.alone()
		k.MainOpen = !k.Main
	}
	f.Body = k.OOMKilled
	return f
}

// alone says whether the victim was the only process of its container: then it was the
// main one. The kernel's table has all those below the cgroup whose limit was hit.
func (k OOM) alone() bool {
	return k.OOMCgroup == k.TaskCgroup && len(k.Tasks) == 1 && (k.Tasks[0].PID == k.PID || k.Tasks[0].PID == k.TGID)
}

// find asks for a container, and may wait a little for it.
func (r *kernelReader) find(ctx context.Context, id string, wait bool) (Container, bool) {
	deadline := time.Now().Add(unknownFor)
	for {
		c, ok := r.Containers.Container(id)
		if ok && !c.Starting || !wait || time.Now().After(deadline) {
			return c, ok
		}
		select {
		case <-ctx.Done():
			return c, false
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// cgroupOf asks for the cgroup of a process that dies, where the kernel has not
// printed it. It may be gone already.
func (r *kernelReader) cgroupOf(pid int) string {
	proc := r.Proc
	if proc == "" {
		proc = "/proc"
	}
	b, err := os.ReadFile(filepath.Join(proc, fmt.Sprint(pid), "cgroup"))
	if err != nil {
		return ""
	}
	return memoryCgroup(string(b))
}

// memoryCgroup picks, of /proc/PID/cgroup, the memory controller's path or, on
// v2, the only one.
func memoryCgroup(text string) string {
	unified := ""
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) < 3 {
			continue
		}
		for c := range strings.SplitSeq(parts[1], ",") {
			if c == "memory" {
				return parts[2]
			}
		}
		if parts[0] == "0" {
			unified = parts[2]
		}
	}
	return unified
}

// kernelClock makes wall times of the log's times. These are of a clock that
// runs beside CLOCK_MONOTONIC and is not disciplined: over weeks they part by
// seconds. A record that is read as it comes cannot be younger than now, so the
// least difference seen is how far they are apart.
type kernelClock struct {
	began time.Duration // by CLOCK_MONOTONIC
	apart time.Duration
	known bool
}

func startClock() kernelClock { return kernelClock{began: monotonic()} }

// wall gives the time of a record, and whether it is from before the start.
func (c *kernelClock) wall(at time.Duration) (t time.Time, backlog bool) {
	mono, now := monotonic(), time.Now().UTC()
	age := mono - at
	backlog = at < c.began
	if !backlog && (!c.known || age < c.apart) {
		c.apart, c.known = age, true
	}
	return now.Add(-max(age-c.apart, 0)), backlog
}

// monotonic asks without telling Go's scheduler, as [batch.read] does: it is asked
// for every process that comes or goes.
func monotonic() time.Duration {
	var ts unix.Timespec
	if _, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0
	}
	return time.Duration(ts.Nano())
}

// Reported makes [Kernel.Reported] of the facts that the journal has of the kernel's log in
// this boot. The same record gets slightly different wall times from two readers.
func Reported(told []fact.Fact) func(b fact.Body, at time.Time) bool {
	const close = 5 * time.Second
	times := map[any][]time.Time{}
	for _, f := range told {
		if key := recordKey(f.Body); key != nil {
			times[key] = append(times[key], f.When())
		}
	}
	return func(b fact.Body, at time.Time) bool {
		for _, t := range times[recordKey(b)] {
			if at.Sub(t).Abs() < close {
				return true
			}
		}
		return false
	}
}

// recordKey returns what tells the records of the log apart, of facts that come from it; nil
// for other facts.
func recordKey(b fact.Body) any {
	switch b := b.(type) {
	case fact.OOMKilled:
		return b.PID
	case fact.GPUError:
		return fact.GPUError{Device: b.Device, Code: b.Code, PID: b.PID}
	}
	return nil
}
