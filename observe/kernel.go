package observe

import (
	"context"
	"errors"
	"iter"
	"path/filepath"
	"sync"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/probe"
	"whylet.dev/whylet/sense"
	"whylet.dev/whylet/sense/containers"
)

// kernel are the sources that ask this machine's kernel, and the one request that a
// workload may ever notice: a probe made once more, with patience, after it timed out.
type kernel struct {
	agent     *Agent
	processes *sense.Processes
	exits     *sense.Exits
	inspector *sense.Inspector
	groups    *cgroups // nil: it is not known where they are
	prober    *probe.Prober
	// began is when the kernel's word was heard from on.
	began   time.Time
	reprobe *sense.Reprobe
}

func openKernel(a *Agent) (*kernel, error) {
	k := &kernel{agent: a, processes: sense.OpenProcesses(a.o.Log), began: time.Now()}
	k.exits = sense.NewExits(k.processes)
	groups, err := newCgroups(a.loop.pods)
	if err != nil {
		return k, err
	}
	k.groups = groups
	said := sense.LastSaid(func(v containers.ContainerView) fact.LogSaid {
		v.LogPath = filepath.Join(a.logs(), v.LogPath)
		return containers.LastSaid(v)
	})
	if a.o.NoLogLines {
		said = nil
	}
	k.inspector = sense.NewInspector(groups, k.processes.Join, said, "")
	if k.prober, err = probe.NewProber(nil, a.o.Log); err != nil {
		return k, err
	}
	k.reprobe = &sense.Reprobe{Ask: k.prober.Ask, Hello: k.prober.Hello, Target: k.target}
	return k, nil
}

func (k *kernel) close() {
	k.processes.Close()
	if k.prober != nil {
		k.prober.Close()
	}
}

// sources names what is seen by the kernel's own word.
func (k *kernel) sources() []fact.Source { return k.processes.Sources() }

// run runs them all until ctx ends. One that fails is said once, and the rest go on.
func (k *kernel) run(ctx context.Context) {
	var all sync.WaitGroup
	past := func(kinds ...fact.Kind) iter.Seq2[fact.Fact, error] {
		return k.agent.journal.Query(journal.Query{Kinds: kinds})
	}
	sources := map[fact.Source]sense.Source{
		fact.SourceKernelLog: &sense.Kernel{Exits: k.exits, Past: past, Boot: k.agent.loop.clock.boot, Log: k.agent.o.Log},
		fact.SourceProcesses: k.processes,
		fact.SourceClock:     sense.NewClockSteps(),
	}
	if k.inspector != nil {
		sources[fact.SourceLooks] = k.inspector
	}
	if k.reprobe != nil && !k.agent.o.NoProbeAgain {
		sources[fact.SourceReprobe] = k.reprobe
	}
	for name, s := range sources {
		all.Go(func() {
			if _, log := s.(*sense.Kernel); log {
				k.acquainted(ctx)
			}
			if err := s.Run(ctx, k.agent.loop.pods, k.agent.loop.submit); err != nil && !errors.Is(err, context.Canceled) {
				k.agent.o.Log.Warn("a source failed", "source", name, "error", err)
				k.agent.loop.submit(fact.Fact{Body: fact.Lost{Source: name, Reason: err.Error(), From: time.Now().UTC()}})
			}
		})
	}
	all.Wait()
}

// acquainted waits until it is known which containers there are, and were before: only
// then is it of use to read the kernel's log back. It does not wait for long, and not
// where an earlier agent knew them.
func (k *kernel) acquainted(ctx context.Context) {
	if !k.agent.before.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, acquaintedWithin)
	defer cancel()
	known := []chan struct{}{k.agent.synced}
	if k.agent.runtime != nil {
		known = append(known, k.agent.listed)
	}
	for _, one := range known {
		select {
		case <-one:
		case <-ctx.Done():
		}
	}
}

const (
	acquaintedWithin = 15 * time.Second
	readBackSurely   = 10 * time.Minute
)

// complete adds to an exit what the kernel told of it. Of an end of long before this agent
// nothing is added: that the kernel's log has nothing of it may be because that was
// overwritten.
func (k *kernel) complete(e *fact.Exited, ended time.Time) {
	if before := k.began.Sub(ended); before > 0 && k.agent.before.IsZero() || before > readBackSurely {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), completeWithin)
	defer cancel()
	k.exits.Complete(ctx, k.agent.loop.pods, e)
}

// completeWithin bounds how long an exit waits for the kernel's word of it.
const completeWithin = 3 * time.Second

// heard tells the sources of what was written. It does not wait.
func (k *kernel) heard(f fact.Fact) {
	if act, ok := f.Body.(fact.Act); ok {
		f.Body = act.Body
	}
	k.processes.Hear(f)
	if k.inspector != nil {
		k.inspector.Hear(f)
	}
	if k.reprobe != nil && !k.agent.o.NoProbeAgain {
		k.reprobe.Hear(f)
	}
}

// target is what kubelet's probe asks.
func (k *kernel) target(key probe.Key) (probe.Target, bool) {
	pod, ok := k.agent.loop.pods.Get(key.Pod)
	c, known := pod.Containers[key.Container]
	spec := probeOf(pod, key.Container, key.Kind)
	if !ok || !known || !c.Running || c.Attempt != key.Attempt || spec == nil {
		return probe.Target{}, false
	}
	of, _ := pod.Spec(key.Container)
	ip := addressOf(pod)
	return probe.Target{Kind: key.Kind, Spec: spec, Container: of, ContainerID: c.ID, PodIP: ip}, ip != ""
}

func addressOf(pod pods.Pod) string {
	if pod.Status.PodIP != "" {
		return pod.Status.PodIP
	}
	if len(pod.Sandbox.IPs) > 0 {
		return pod.Sandbox.IPs[0]
	}
	return ""
}
