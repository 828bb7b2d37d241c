package evidence

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
)

// Processes knows which process belongs to which container, from the forks that
// the process connector tells: when a process has ended, nobody else can say. It
// may be used from many goroutines.
type Processes struct {
	// Ended is told of each process of a container that ended, the main one
	// included. It must not call the Processes.
	Ended func(EndedProcess)
	// Command gives a process's name; nil: from /proc/PID/comm.
	Command func(pid int) string

	mu    sync.Mutex
	live  map[int]*process
	mains map[string]*mainProcess // by container
	// late are the newest ends of processes that belonged to nobody: a main process
	// may end before it is known to be one.
	late [lateEnds]lateEnd
	next int
	// gone are the newest ends of processes that belonged to a container, owners
	// whose they were.
	gone   [lateEnds]int
	after  int
	owners map[int]string
	since  time.Time // nothing was lost since then
	names  budget
}

// EndedProcess is the end of a process of a container.
type EndedProcess struct {
	Container string
	At        time.Time
	Status    WaitStatus
	fact.ProcessEnded
}

type process struct {
	container string
	parent    int
	command   string
	began     time.Time // zero where nobody saw it begin
}

type mainProcess struct {
	pid    int
	since  time.Time
	status WaitStatus
	ended  time.Time
}

type lateEnd struct {
	pid    int
	status WaitStatus
	at     time.Time
}

const (
	lateEnds = 4096
	// namesASecond bounds how many names are read from /proc.
	namesASecond = 200
	// rememberMains is how long the end of a main process is kept.
	rememberMains = 10 * time.Minute
)

// NewProcesses makes an empty table.
func NewProcesses(ended func(EndedProcess)) *Processes {
	return &Processes{Ended: ended, live: map[int]*process{}, mains: map[string]*mainProcess{}, owners: map[int]string{}, since: time.Now()}
}

// Adopt makes a process the main one of a container that began at the given time
// (zero: long ago). Its end is told even if it came before this call.
func (p *Processes) Adopt(container string, pid int, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.mains[container]; pid == 0 || m != nil && m.pid == pid {
		return
	}
	now := time.Now()
	for id, m := range p.mains {
		if !m.ended.IsZero() && now.Sub(m.ended) > rememberMains {
			delete(p.mains, id)
		}
	}
	p.mains[container] = &mainProcess{pid: pid, since: now}
	p.live[pid] = &process{container: container, command: p.name(pid), began: began}
	for _, l := range p.late {
		if l.pid == pid && !began.IsZero() && l.at.After(began) {
			p.exit(pid, l.status, l.at)
			return
		}
	}
}

// Join adds processes that are found in a container's cgroup.
func (p *Processes) Join(container string, pids []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pid := range pids {
		if p.live[pid] == nil {
			p.live[pid] = &process{container: container, command: p.name(pid)}
		}
	}
}

// Take takes an event into account.
func (p *Processes) Take(e ProcessEvent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.What {
	case ProcessForked:
		if parent := p.live[e.Parent]; parent != nil {
			p.live[e.PID] = &process{container: parent.container, parent: e.Parent, command: parent.command, began: WallOf(e.At)}
		}
	case ProcessExeced:
		if one := p.live[e.PID]; one != nil && p.names.take(namesASecond) {
			one.command = p.name(e.PID)
		}
	case ProcessExited:
		if p.live[e.PID] != nil {
			p.exit(e.PID, e.Status, WallOf(e.At))
			return
		}
		p.late[p.next] = lateEnd{e.PID, e.Status, WallOf(e.At)}
		p.next = (p.next + 1) % lateEnds
	}
}

// exit tells of the end of a process that is known. The caller holds mu.
func (p *Processes) exit(pid int, status WaitStatus, at time.Time) {
	one := p.live[pid]
	delete(p.live, pid)
	delete(p.owners, p.gone[p.after])
	p.gone[p.after], p.owners[pid] = pid, one.container
	p.after = (p.after + 1) % lateEnds
	end := EndedProcess{Container: one.container, At: at, Status: status, ProcessEnded: fact.ProcessEnded{
		PID: pid, Parent: one.parent, Command: one.command,
		Signal: status.Signal(), ExitCode: status.ExitCode(), CoreDumped: status.CoreDumped(),
	}}
	if !one.began.IsZero() {
		end.Lived = max(at.Sub(one.began), 0)
	}
	if m := p.mains[one.container]; m != nil && m.pid == pid {
		m.status, m.ended, end.Main = status, at, true
	}
	p.Ended(end)
}

// Overrun forgets what cannot be relied on any more after events were lost: who
// is alive. Main processes stay known; their ends may have been among the lost.
func (p *Processes) Overrun() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = time.Now()
	clear(p.live)
	for container, m := range p.mains {
		if m.ended.IsZero() {
			p.live[m.pid] = &process{container: container, command: p.name(m.pid)}
		}
	}
}

// MainEnd gives the wait status of a container's main process. Pending is set
// while the end of one that is known has not been told, and surely will be.
func (p *Processes) MainEnd(container string) (status WaitStatus, ended, pending bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.mains[container]
	if m == nil {
		return 0, false, false
	}
	return m.status, !m.ended.IsZero(), m.ended.IsZero() && m.since.After(p.since)
}

// Of says whose process it is, and what it is called.
func (p *Processes) Of(pid int) (container, command string, main, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.live[pid]
	if one == nil {
		return "", "", false, false
	}
	m := p.mains[one.container]
	return one.container, one.command, m != nil && m.pid == pid, true
}

// Owner gives the container of a process that is alive or ended lately.
func (p *Processes) Owner(pid int) (container string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one := p.live[pid]; one != nil {
		return one.container, true
	}
	container, ok = p.owners[pid]
	return container, ok
}

// Stray says whether a process of a container is none that its main process brought
// forth: somebody put it there, as exec does. It is false where events were lost
// since the container came, and descendants may have been forgotten with them.
func (p *Processes) Stray(container string, pid int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.mains[container]
	_, ended := p.owners[pid]
	return m != nil && m.since.After(p.since) && p.live[pid] == nil && !ended
}

// name reads the name of a process; the old one is no name for a new program.
func (p *Processes) name(pid int) string {
	if p.Command != nil {
		return p.Command(pid)
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(strings.TrimSuffix(string(b), "\n"), "\uFFFD")
}

// WallOf makes a wall time of one on CLOCK_MONOTONIC, by what the clocks say now.
func WallOf(at time.Duration) time.Time { return time.Now().UTC().Add(at - monotonic()) }

// budget allows so many things a second.
type budget struct {
	second int64
	used   int
}

func (b *budget) take(most int) bool {
	if now := time.Now().Unix(); now != b.second {
		b.second, b.used = now, 0
	}
	b.used++
	return b.used <= most
}
