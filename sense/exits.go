package sense

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// Exits completes what a runtime tells of an exit with what the kernel told: how the
// main process really ended, and whether the kernel killed it, or others of the
// container, for memory. It is safe for concurrent use.
type Exits struct {
	processes *Processes
	// follows is set while the kernel's log is read: what was not told then did
	// not happen.
	follows atomic.Bool
	fence   evidence.Fence

	mu sync.Mutex
	// kills counts by container id, with when the container was last heard of.
	kills map[string]killed
}

type killed struct {
	count int64
	main  bool
	open  bool // whether the main process was among them is not known
	at    time.Time
}

const (
	// rememberKills is how long a container's kills are kept after the last of them.
	rememberKills = 10 * time.Minute
	// lateStatus is how long an exit waits for the kernel's word of it, which comes
	// a moment after the parent's; lateRecord how long for the kernel's log to be
	// read on a busy machine.
	lateStatus = time.Second
	lateRecord = time.Second
	// sigkilled is the exit code of what SIGKILL ended.
	sigkilled = 137
)

// NewExits makes a completer that asks for ends of processes.
func NewExits(p *Processes) *Exits { return &Exits{processes: p, kills: map[string]killed{}} }

// count hears of a kill for memory.
func (e *Exits) count(known pods.Registry, f fact.Fact, b fact.OOMKilled) {
	id := fact.ParseCgroup(b.TaskCgroup).Container
	p, _ := known.Get(f.Pod.UID)
	if c, ok := p.Containers[f.Container]; id == "" && ok && c.Attempt == f.Attempt {
		id = pods.BareID(c.ID)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.kills[id]
	// A record of long ago may be news: the log is read back to the machine's start.
	c.count, c.main, c.open, c.at = c.count+1, c.main || b.Main, c.open || b.MainOpen, time.Now()
	e.kills[id] = c
	for old, c := range e.kills {
		if time.Since(c.at) > rememberKills {
			delete(e.kills, old)
		}
	}
}

// Complete adds to an exit what the kernel told of the container. It first lets
// every source say what it had to say when the runtime told of the exit, so that
// the exit is judged with all that came before it. It takes up to some two seconds,
// and no longer than ctx.
func (e *Exits) Complete(ctx context.Context, known pods.Registry, exit *fact.Exited) {
	if exit.Vanished {
		return
	}
	e.addStatus(ctx, exit)
	if !e.follows.Load() {
		return
	}
	e.fence.Pass()
	run, _ := known.ByID(exit.ContainerID)
	exit.ByKernel = exit.ExitCode == sigkilled && e.processes.killedByKernel(run.PID)
	c := e.told(exit.ContainerID)
	if c.count == 0 && exit.ExitCode == sigkilled && (exit.RuntimeReason == "OOMKilled" || exit.ByKernel) {
		c = e.await(ctx, exit.ContainerID)
	}
	if c.count == 0 && ctx.Err() != nil || c.open {
		return // nobody waited to the end, so what was not told may still be; or it is not known who was killed
	}
	exit.OOMKnown, exit.OOMKills, exit.MainOOMKilled = true, c.count, c.main
}

// addStatus adds the wait status of the main process. It waits for that word if it is
// sure to come.
func (e *Exits) addStatus(ctx context.Context, exit *fact.Exited) {
	p := e.processes
	if p.connector == nil {
		return
	}
	id := pods.BareID(exit.ContainerID)
	until(ctx, lateStatus, 2*time.Millisecond, func() bool {
		p.connector.Drain()
		status, ended, pending := p.table.MainEnd(id)
		// A code that the runtime made up is left as it is, and unexplained.
		if ended && status.ExitCode() == exit.ExitCode {
			exit.StatusKnown, exit.Signal = true, status.Signal()
		}
		return ended || !pending
	})
}

func (e *Exits) told(container string) killed {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.kills[pods.BareID(container)]
}

// await gives the kernel's record time to be read, where the runtime heard of an
// OOM kill and this process has not yet: both are woken by the same kill, and
// either may come first. Without a record by then the runtime was woken for
// another cgroup's sake (cgroup v1 tells every descendant).
func (e *Exits) await(ctx context.Context, container string) (c killed) {
	until(ctx, lateRecord, 5*time.Millisecond, func() bool {
		e.fence.Pass()
		c = e.told(container)
		return c.count > 0
	})
	return c
}

// until tries again and again until it is done, for a time, and no longer than ctx.
func until(ctx context.Context, most, pause time.Duration, done func() bool) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
