package sense

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/evidence"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// Kernel follows the kernel's log: each OOM kill and each error of a GPU is a fact, and Exits
// hears of the kills.
type Kernel struct {
	Exits *Exits
	// Past is what was recorded, and Boot the machine's boot id: what an agent of this
	// boot told is not told again.
	Past Past
	Boot string
	Log  *slog.Logger
}

// Run implements [Source]. A log that cannot be read makes the node see less, and is
// said once; it is no reason to end.
func (k *Kernel) Run(ctx context.Context, known pods.Registry, emit func(fact.Fact)) error {
	k.Exits.follows.Store(true)
	defer k.Exits.follows.Store(false)
	agents := k.earlierAgents()
	earlier := k.earlier()
	for _, f := range earlier { // the end that one brought may be told only now
		if b, ok := f.Body.(fact.OOMKilled); ok {
			k.Exits.count(known, f, b)
		}
	}
	source := evidence.Kernel{Containers: running{known, k.Exits.processes}, Reported: evidence.Reported(earlier), Fence: &k.Exits.fence, Log: k.Log}
	err := source.Run(ctx, func(f fact.Fact) {
		if b, ok := f.Body.(fact.OOMKilled); ok {
			k.Exits.count(known, f, b)
			if f.Pod.UID == "" {
				if !agents[b.PID] {
					return // a container of somebody else's
				}
				b.Main = true
				f.Body = b
			}
		}
		emit(f)
	})
	if err != nil {
		k.Exits.follows.Store(false)
		k.Log.Warn("OOM kills are only seen by the runtime", "error", err)
		emit(fact.Fact{Body: fact.Lost{Source: fact.SourceKernelLog, Reason: err.Error(), From: time.Now().UTC()}})
		<-ctx.Done()
	}
	return nil
}

// earlier returns what an agent of this boot has told already.
func (k *Kernel) earlier() []fact.Fact {
	var told []fact.Fact
	for f, err := range k.Past(fact.OOMKilled{}.Kind(), fact.GPUError{}.Kind()) {
		if err == nil && f.Boot == k.Boot {
			told = append(told, f)
		}
	}
	return told
}

// earlierAgents finds the processes whose OOM kill says why the agent was gone.
func (k *Kernel) earlierAgents() map[int]bool {
	agents := map[int]bool{}
	for f, err := range k.Past(fact.AgentStarted{}.Kind()) {
		if b, ok := f.Body.(fact.AgentStarted); err == nil && ok && f.Boot == k.Boot {
			agents[b.PID] = true
		}
	}
	return agents
}

// running tells the kernel's reader whose cgroup it met.
type running struct {
	pods.Registry
	processes *Processes
}

func (r running) Container(id string) (evidence.Container, bool) {
	run, ok := r.ByID(id)
	found := evidence.Container{Pod: run.Pod, Name: run.Name, Attempt: run.Attempt, PID: run.PID}
	found.Starting = run.Newest && run.PID == 0 && !run.Running
	return found, ok
}

func (r running) Running() map[string]evidence.Container {
	all := map[string]evidence.Container{}
	for _, p := range r.All() {
		for name, c := range p.Containers {
			if c.PID != 0 {
				all[pods.BareID(c.ID)] = evidence.Container{Pod: p.Key, Name: name, Attempt: c.Attempt, PID: c.PID}
			}
		}
	}
	return all
}

func (r running) Owner(pid int) (id string, ok bool) { return r.processes.ownerNow(pid) }

func (r running) Pod(uid types.UID) (fact.Pod, bool) {
	p, ok := r.Get(uid)
	return p.Key, ok
}
