package node

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/pods"
)

// kernel follows the kernel's OOM kills: each is a fact, and completes the exit
// of the container that it ended.
type kernel struct {
	known   pods.Registry
	submit  func(fact.Fact)
	journal *journal.Journal
	boot    string
	log     *slog.Logger
	// follows is set while the kernel's log is read: what was not told then did
	// not happen.
	follows atomic.Bool
	fence   evidence.Fence
	// processes tells how main processes ended.
	processes *processes

	// agents are the processes that were this node's agent since the machine started.
	agents map[int]bool

	mu sync.Mutex
	// kills counts by container id, with when the container was last heard of.
	kills map[string]killed
}

type killed struct {
	count int64
	main  bool
	at    time.Time
}

// remembered is how long a container's kills are kept after the last of them.
const rememberKills = 10 * time.Minute

// run reads the kernel's log until ctx ends. A log that cannot be read makes the
// node see less, and is said once; it is no reason to end.
func (k *kernel) run(ctx context.Context) error {
	k.follows.Store(true)
	defer k.follows.Store(false)
	k.agents = k.earlierAgents()
	source := evidence.Kernel{Containers: k, Reported: evidence.Reported(k.earlier()), Fence: &k.fence, Log: k.log}
	if err := source.Run(ctx, k.emit); err != nil {
		k.follows.Store(false)
		k.log.Warn("OOM kills are only seen by the runtime", "error", err)
		k.submit(fact.Fact{Body: fact.Lost{Source: "kmsg", Reason: err.Error(), From: time.Now().UTC()}})
		<-ctx.Done()
	}
	return nil
}

// earlier are the kills that an agent of this boot has told already.
func (k *kernel) earlier() []fact.Fact {
	var kills []fact.Fact
	for f, err := range k.journal.Query(journal.Query{Kinds: []fact.Kind{fact.OOMKilled{}.Kind()}}) {
		if err == nil && f.Boot == k.boot {
			kills = append(kills, f)
		}
	}
	return kills
}

// earlierAgents finds the processes whose OOM kill says why the agent was gone.
func (k *kernel) earlierAgents() map[int]bool {
	agents := map[int]bool{}
	for f, err := range k.journal.Query(journal.Query{Kinds: []fact.Kind{fact.AgentStarted{}.Kind()}}) {
		if b, ok := f.Body.(fact.AgentStarted); err == nil && ok && f.Boot == k.boot {
			agents[b.PID] = true
		}
	}
	return agents
}

func (k *kernel) emit(f fact.Fact) {
	if b, ok := f.Body.(fact.OOMKilled); ok {
		k.count(f, b)
		if f.Pod.UID == "" {
			if !k.agents[b.PID] {
				return // a container of somebody else's
			}
			b.Main = true
			f.Body = b
		}
	}
	k.submit(f)
}

func (k *kernel) count(f fact.Fact, b fact.OOMKilled) {
	id := fact.ParseCgroup(b.TaskCgroup).Container
	p, _ := k.known.Get(f.Pod.UID)
	if c, ok := p.Containers[f.Container]; id == "" && ok && c.Attempt == f.Attempt {
		id = pods.BareID(c.ID)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.kills[id]
	c.count, c.main, c.at = c.count+1, c.main || b.Main, f.When()
	k.kills[id] = c
	for old, c := range k.kills {
		if time.Since(c.at) > rememberKills {
			delete(k.kills, old)
		}
	}
}

// complete adds to an exit what the kernel told of the container. It first lets
// every source say what it had to say when the runtime told of the exit, so that
// the exit is judged with all that came before it.
func (k *kernel) complete(e *fact.Exited) {
	if k.processes != nil {
		k.processes.complete(e)
	}
	if !k.follows.Load() || e.Vanished {
		return
	}
	k.fence.Pass()
	c := k.told(e.ContainerID)
	e.ByKernel = e.ExitCode == sigkilled && k.byKernel(e.ContainerID)
	if c.count == 0 && e.ExitCode == sigkilled && (e.RuntimeReason == "OOMKilled" || e.ByKernel) {
		c = k.wait(e.ContainerID)
	}
	e.OOMKnown, e.OOMKills, e.MainOOMKilled = true, c.count, c.main
}

// byKernel says whether the kernel itself killed a container's main process: its
// log then says why, in a moment.
func (k *kernel) byKernel(container string) bool {
	c, ok := k.Container(pods.BareID(container))
	return ok && k.processes != nil && k.processes.killedByKernel(c.PID)
}

func (k *kernel) told(container string) killed {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kills[pods.BareID(container)]
}

// sigkilled is the exit code of what SIGKILL ended; lateRecord is how long the
// kernel's record of it may take to be read on a busy machine.
const (
	sigkilled  = 137
	lateRecord = time.Second
)

// wait gives the kernel's record time to be read, where the runtime heard of an
// OOM kill and this process has not yet: both are woken by the same kill, and
// either may come first. Without a record by then the runtime was woken for
// another cgroup's sake (cgroup v1 tells every descendant).
func (k *kernel) wait(container string) killed {
	deadline := time.Now().Add(lateRecord)
	for {
		k.fence.Pass()
		c := k.told(container)
		if c.count > 0 || time.Now().After(deadline) {
			return c
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Container, Pod, Running and Owner tell the kernel's reader whose cgroup it met.
func (k *kernel) Container(id string) (evidence.Container, bool) {
	run, ok := k.known.ByID(id)
	found := evidence.Container{Pod: run.Pod, Name: run.Name, Attempt: run.Attempt, PID: run.PID}
	found.Starting = run.Newest && run.PID == 0 && !run.Running
	return found, ok
}

// Running lists the containers that run, and those that ended last.
func (k *kernel) Running() map[string]evidence.Container {
	running := map[string]evidence.Container{}
	for _, p := range k.known.All() {
		for name, c := range p.Containers {
			if c.PID != 0 {
				running[pods.BareID(c.ID)] = evidence.Container{Pod: p.Key, Name: name, Attempt: c.Attempt, PID: c.PID}
			}
		}
	}
	return running
}

// Owner finds the container of a process.
func (k *kernel) Owner(pid int) (id string, ok bool) {
	if k.processes == nil {
		return "", false
	}
	return k.processes.table.Owner(pid)
}

// Pod finds a pod by its UID.
func (k *kernel) Pod(uid types.UID) (fact.Pod, bool) {
	p, ok := k.known.Get(uid)
	return p.Key, ok
}
