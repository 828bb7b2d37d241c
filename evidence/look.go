package evidence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
)

// Looker looks into containers when a probe begins to fail. It may be used from
// many goroutines.
type Looker struct {
	// Proc is /proc if empty.
	Proc string
	// Apart is how far apart the two looks at the CPU time are, where there was no
	// look lately; 0: 250 ms.
	Apart time.Duration

	mu   sync.Mutex
	seen map[int]look
}

// look is a process as it was at one time.
type look struct {
	at  time.Time
	cpu time.Duration
	// began tells it from a later process of the same number.
	began uint64
}

const (
	// lately is how old an earlier look may be to be compared with.
	lately = time.Minute
	// These bound the answer.
	maxListeners, maxDials, maxOpen, maxCommands, maxLately = 64, 8, 16, 8, 16
)

// Look sees what the main process of a container is doing and what listens in
// its network namespace. among are the processes that may be the container's or have
// what listens there open; nil: all of the machine, which costs some 30 µs each. It
// takes a quarter of a second where there was no look at this process lately, since
// CPU use needs two. What could not be seen is said in Error; the rest is there.
func (l *Looker) Look(ctx context.Context, pid int, among []int) fact.Looked {
	looked := fact.Looked{PID: pid}
	p, err := l.process(pid)
	if err != nil {
		looked.Error = fmt.Sprintf("process %d cannot be looked at: %v", pid, err)
		return looked
	}
	before, ok := l.earlier(pid, p.Began)
	if !ok {
		before = look{at: time.Now(), cpu: p.CPU, began: p.Began}
		if p, err = l.wait(ctx, pid, p); err != nil {
			looked.Error = fmt.Sprintf("process %d ended while it was looked at: %v", pid, err)
			return looked
		}
	}
	now := look{at: time.Now(), cpu: p.CPU, began: p.Began}
	l.remember(pid, now)
	looked.State, looked.CPUTotal, looked.Age, looked.MaxCPU = p.State, p.CPU, age(p.Began), l.maxCPU(pid)
	looked.CPUUsed, looked.Over = now.cpu-before.cpu, now.at.Sub(before.at).Round(time.Millisecond)

	if err := l.around(pid, among, &looked); err != nil {
		looked.Error = err.Error()
	}
	return looked
}

// Listening sees only what is around a process of a container, and takes no time for
// how busy it is.
func (l *Looker) Listening(pid int, among []int) fact.Looked {
	looked := fact.Looked{PID: pid}
	if err := l.around(pid, among, &looked); err != nil {
		looked.Error = err.Error()
	}
	return looked
}

// age is how long ago a process began; 0 where the clock cannot be read.
func age(began uint64) time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return max(time.Duration(ts.Nano())-time.Duration(began)*tick, 0).Round(tick)
}

// wait lets a little time pass, and looks at the process again.
func (l *Looker) wait(ctx context.Context, pid int, first Process) (Process, error) {
	apart := l.Apart
	if apart <= 0 {
		apart = 250 * time.Millisecond
	}
	select {
	case <-ctx.Done():
	case <-time.After(apart):
	}
	p, err := l.process(pid)
	if err == nil && p.Began != first.Began {
		err = errors.New("its number has gone to another process")
	}
	return p, err
}

func (l *Looker) earlier(pid int, began uint64) (look, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before, ok := l.seen[pid]
	return before, ok && before.began == began && time.Since(before.at) < lately
}

func (l *Looker) remember(pid int, now look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[int]look{}
	}
	for pid, old := range l.seen {
		if now.at.Sub(old.at) > lately {
			delete(l.seen, pid)
		}
	}
	l.seen[pid] = now
}

// around looks at the processes around one: how many share its cgroup, which of
// these may open the fewest more files, and what those of its network namespace
// listen on. The container's own come first.
func (l *Looker) around(pid int, among []int, looked *fact.Looked) error {
	sockets, err := l.sockets(pid)
	netns, err2 := os.Readlink(l.path(pid, "ns/net"))
	cgroup, err3 := l.cgroup(pid)
	if err := errors.Join(err, err2, err3); err != nil {
		return fmt.Errorf("what is around process %d cannot be seen: %w", pid, err)
	}
	if among == nil {
		if among, err = l.all(); err != nil {
			return err
		}
	}
	owners := map[uint64]owner{}
	for _, other := range among {
		// Processes come and go meanwhile: one that cannot be read is passed over.
		path, err := l.cgroup(other)
		own := err == nil && (path == cgroup || strings.HasPrefix(path, cgroup+"/"))
		if own {
			looked.Processes++
			if p, err := l.process(other); err == nil && other != pid {
				beside(looked, other, p)
			}
			if f, ok := l.files(other); ok && (looked.Files == nil || f.Limit-f.Open < looked.Files.Limit-looked.Files.Open) {
				looked.Files = &f
			}
		}
		if ns, err := os.Readlink(l.path(other, "ns/net")); err == nil && ns == netns && len(sockets) > 0 {
			l.owns(other, own, owners)
		}
	}
	listeners, dialing, open, over := apart(sockets)
	looked.Open = l.outward(pid, open, listeners, owners)
	looked.Lately, looked.From = peers(open, over, listeners)
	looked.Listeners = listed(listeners, owners, l.v6Only(pid, listeners))
	l.full(looked, listeners, open, among)
	for _, s := range dialing[:min(len(dialing), maxDials)] {
		o := owners[s.Inode]
		looked.Dialing = append(looked.Dialing, fact.Dial{Remote: s.Address.String(), PID: o.pid, Command: o.command, Other: o.pid != 0 && !o.inside})
	}
	if looked.Files != nil {
		if p, err := l.process(looked.Files.PID); err == nil {
			looked.Files.Command = p.Command
		}
	}
	return nil
}

// beside notes a process of the container that is not the main one.
func beside(looked *fact.Looked, pid int, p Process) {
	if p.State == "T" || p.State == "t" {
		looked.Stopped = &fact.StoppedProcess{PID: pid, Command: p.Command, State: p.State}
	}
	if len(looked.Commands) < maxCommands && !slices.Contains(looked.Commands, p.Command) {
		looked.Commands = append(looked.Commands, p.Command)
	}
}

// all lists the machine's processes.
func (l *Looker) all() ([]int, error) {
	names, err := os.ReadDir(l.proc())
	var pids []int
	for _, n := range names {
		if pid, err := strconv.Atoi(n.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// maxCPU is how much CPU time a process may use; 0: no limit is known.
func (l *Looker) maxCPU(pid int) time.Duration {
	_, hard, err := l.limit(pid, "Max cpu time")
	if err != nil {
		return 0
	}
	return time.Duration(hard) * time.Second
}

func (l *Looker) limit(pid int, name string) (soft, hard int, err error) {
	limits, err := os.ReadFile(l.path(pid, "limits"))
	if err != nil {
		return 0, 0, err
	}
	return ParseLimit(string(limits), name)
}

// files counts the open files of a process that has a limit of them.
func (l *Looker) files(pid int) (fact.Files, bool) {
	soft, hard, err := l.limit(pid, "Max open files")
	if err != nil || soft == 0 {
		return fact.Files{}, false
	}
	dir, err := os.Open(l.path(pid, "fd"))
	if err != nil {
		return fact.Files{}, false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	f := fact.Files{PID: pid, Limit: soft, Most: hard}
	for _, name := range names {
		// The limit is one of numbers: what was open above it before it was set takes
		// none of those below.
		if fd, err := strconv.Atoi(name); err == nil && fd < soft {
			f.Open++
		}
	}
	return f, err == nil
}

// owner is who has a socket open, and whether it is in the container.
type owner struct {
	pid     int
	command string
	state   string
	inside  bool
}

// owns notes the sockets that a process has open. Of several that share one, a
// process of the container counts, or else the one with the least number.
func (l *Looker) owns(pid int, inside bool, owners map[uint64]owner) {
	dir := l.path(pid, "fd")
	fds, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	command, state := "", ""
	for _, fd := range fds {
		link, err := os.Readlink(filepath.Join(dir, fd.Name()))
		if err != nil {
			continue
		}
		inner, ok := strings.CutPrefix(link, "socket:[")
		if !ok {
			continue
		}
		inode, err := strconv.ParseUint(strings.TrimSuffix(inner, "]"), 10, 64)
		if err != nil {
			continue
		}
		if have, ok := owners[inode]; ok && (have.inside || !inside) && have.pid < pid {
			continue
		}
		if command == "" {
			if p, err := l.process(pid); err == nil {
				command, state = p.Command, p.State
			}
		}
		owners[inode] = owner{pid, command, state, inside}
	}
}

// v6Only are those of the sockets that are known to take no connection over IPv4,
// where that is in question.
func (l *Looker) v6Only(pid int, sockets []Socket) map[uint64]bool {
	if !slices.ContainsFunc(sockets, func(s Socket) bool { return s.Address.Addr() == netip.IPv6Unspecified() }) {
		return nil
	}
	only, err := v6Only(l.path(pid, "ns/net"))
	if err != nil {
		return nil // a kernel without that diagnosis: they may take both
	}
	return only
}

// listed words the sockets, the container's own first, bounded.
func listed(sockets []Socket, owners map[uint64]owner, v6Only map[uint64]bool) []fact.Listener {
	slices.SortStableFunc(sockets, func(a, b Socket) int {
		if in, other := owners[a.Inode].inside, owners[b.Inode].inside; in != other {
			if in {
				return -1
			}
			return 1
		}
		return a.Address.Compare(b.Address)
	})
	var all []fact.Listener
	for _, s := range sockets[:min(len(sockets), maxListeners)] {
		o := owners[s.Inode]
		all = append(all, fact.Listener{Address: s.Address.String(), PID: o.pid, Command: o.command, State: o.state, Other: o.pid != 0 && !o.inside, Backlog: s.Waiting, V6Only: v6Only[s.Inode]})
	}
	return all
}

// apart tells the sockets that listen from those that connect, those that are connected and
// those that were.
func apart(all []Socket) (listeners, dialing, open, over []Socket) {
	for _, s := range all {
		switch {
		case s.Dialing:
			dialing = append(dialing, s)
		case s.Open:
			open = append(open, s)
		case s.Over:
			over = append(over, s)
		default:
			listeners = append(listeners, s)
		}
	}
	return listeners, dialing, open, over
}

// inward says whether a connection came to a listener: then the own port is the listener's.
func inward(s Socket, listeners []Socket) bool {
	return slices.ContainsFunc(listeners, func(l Socket) bool { return l.Port == s.Port })
}

// peers are the places that connections which are over went to, and the addresses that any
// came from; each once, bounded.
func peers(open, over, listeners []Socket) (lately, from []string) {
	add := func(all []string, one string) []string {
		if len(all) == maxLately || slices.Contains(all, one) {
			return all
		}
		return append(all, one)
	}
	for i, s := range append(slices.Clone(open), over...) {
		at := netip.AddrPortFrom(s.Address.Addr().Unmap(), s.Address.Port())
		switch {
		case at.Addr().IsLoopback():
		case inward(s, listeners):
			from = add(from, at.Addr().String())
		case i >= len(open):
			lately = add(lately, at.String())
		}
	}
	return lately, from
}

// outward are the connections that were asked for from within, those of one process to one
// place together.
func (l *Looker) outward(pid int, open, listeners []Socket, owners map[uint64]owner) []fact.Dial {
	var all []fact.Dial
	var said map[uint64]talk
	alike := instants{}
	for _, s := range open {
		o := owners[s.Inode]
		if o.pid == 0 || inward(s, listeners) {
			continue
		}
		if said == nil {
			said = talks(l.path(pid, "ns/net"))
		}
		at := netip.AddrPortFrom(s.Address.Addr().Unmap(), s.Address.Port())
		d := fact.Dial{Remote: at.String(), PID: o.pid, Command: o.command, Other: !o.inside, Unanswered: said[s.Inode].waits, Heard: said[s.Inode].heard}
		i := slices.IndexFunc(all, func(have fact.Dial) bool { return have.Remote == d.Remote && have.PID == d.PID })
		switch {
		case i < 0 && len(all) == maxOpen:
			continue
		case i < 0:
			i, all = len(all), append(all, d)
		default:
			all[i].Unanswered, all[i].Heard = later(all[i].Unanswered, d.Unanswered), later(all[i].Heard, d.Heard)
		}
		all[i].Unanswered = later(all[i].Unanswered, alike.another(i, said[s.Inode]))
	}
	for i := range all {
		if all[i].Unanswered == 0 {
			all[i].Heard = 0 // it tells something only of who does not answer
		}
	}
	return all
}

// sockets are those of the process's network namespace that listen or connect.
func (l *Looker) sockets(pid int) ([]Socket, error) {
	var all []Socket
	for _, name := range []string{"net/tcp", "net/tcp6"} {
		table, err := readTable(l.path(pid, name))
		if errors.Is(err, os.ErrNotExist) && name == "net/tcp6" {
			continue // a kernel without IPv6
		}
		if err != nil {
			return all, err
		}
		some, err := ParseSockets(string(table))
		if err != nil {
			return all, err
		}
		all = append(all, some...)
	}
	return all, nil
}

// readTable reads one of the kernel's tables of sockets. Behind those that listen the
// kernel looks through all places for connections that the machine has, which takes
// it over a millisecond, and does so again to say that the end was reached. So it is
// not asked where its first answer had room for more: it fills pages.
func readTable(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const longestLine = 256
	first := make([]byte, os.Getpagesize())
	n, err := f.Read(first)
	if err != nil || n < len(first)-longestLine {
		return first[:n], err
	}
	rest, err := io.ReadAll(f)
	return append(first[:n], rest...), err
}

func (l *Looker) process(pid int) (Process, error) {
	b, err := os.ReadFile(l.path(pid, "stat"))
	if err != nil {
		return Process{}, err
	}
	return ParseStat(string(b))
}

func (l *Looker) cgroup(pid int) (string, error) {
	b, err := os.ReadFile(l.path(pid, "cgroup"))
	return memoryCgroup(string(b)), err
}

func (l *Looker) proc() string {
	if l.Proc == "" {
		return "/proc"
	}
	return l.Proc
}

func (l *Looker) path(pid int, name string) string {
	return filepath.Join(l.proc(), strconv.Itoa(pid), name)
}
