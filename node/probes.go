package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/probe"
)

// probes makes the scheduler run what health wants to be probed, and turns what
// comes of it into facts.
type probes struct {
	scheduler *probe.Scheduler
	submit    func(fact.Fact)

	mu sync.Mutex
	// set are the probes that run, with whom they probe.
	set map[types.UID]map[probe.Key]target
	// targets are what they ask.
	targets map[probe.Key]probe.Target
	// names are the pods behind the UIDs.
	names map[types.UID]fact.Pod
}

// newProbes makes probes that run from now on; their scheduler is to be closed.
func newProbes(runtime *cri.Client, submit func(fact.Fact), log *slog.Logger) (*probes, error) {
	p := &probes{
		submit: submit, set: map[types.UID]map[probe.Key]target{}, targets: map[probe.Key]probe.Target{}, names: map[types.UID]fact.Pod{},
	}
	var err error
	if p.scheduler, err = probe.NewScheduler(probe.Options{Exec: execProbe(runtime), Result: p.result, Log: log}); err != nil {
		return nil, fmt.Errorf("start the prober: %w", err)
	}
	return p, nil
}

// target is what a probe of one run depends on; the specification of a running
// container does not change.
type target struct {
	container, ip string
}

// target finds what a probe that runs asks.
func (p *probes) target(key probe.Key) (probe.Target, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	t, ok := p.targets[key]
	return t, ok
}

func (p *probes) want(v pods.Pod, wanted []health.Probe) {
	p.mu.Lock()
	defer p.mu.Unlock()
	had := p.set[v.Key.UID]
	if len(had) == 0 && len(wanted) == 0 {
		return
	}
	now := make(map[probe.Key]target, len(wanted))
	for _, w := range wanted {
		key := probe.Key{Pod: v.Key.UID, Container: w.Key.Container, Kind: w.Key.Kind, Attempt: w.Key.Attempt}
		now[key] = target{w.ContainerID, w.Host}
		if had[key] == now[key] {
			continue
		}
		t := probe.Target{
			Kind: w.Key.Kind, Spec: w.Spec, Container: w.Container, ContainerID: w.ContainerID, PodIP: w.Host, StartedAt: w.StartedAt,
		}
		p.targets[key] = t
		p.scheduler.Set(key, t)
	}
	for key := range had {
		if _, stays := now[key]; !stays {
			delete(p.targets, key)
			p.scheduler.Remove(key)
		}
	}
	p.set[v.Key.UID], p.names[v.Key.UID] = now, v.Key
	if len(now) == 0 {
		delete(p.set, v.Key.UID)
		delete(p.names, v.Key.UID)
	}
}

// result turns an attempt into a fact.
func (p *probes) result(key probe.Key, began time.Time, probed fact.Probed) {
	p.mu.Lock()
	pod, ok := p.names[key.Pod]
	p.mu.Unlock()
	if ok {
		p.submit(fact.Fact{At: began.UTC(), Pod: pod, Container: key.Container, Attempt: key.Attempt, Body: probed})
	}
}

// execOutputLimit is how much of an exec probe's output is kept, per stream: more
// than any message shows (kubelet: prober/prober.go, maxRespBodyLength).
const execOutputLimit = 10 << 10

// execProbe runs an exec probe's command through the runtime.
func execProbe(runtime *cri.Client) probe.ExecFunc {
	return func(ctx context.Context, id string, cmd []string, timeout time.Duration) ([]byte, int, error) {
		r, err := runtime.Exec(ctx, id, cmd, timeout, execOutputLimit)
		if err != nil {
			// As the runtime words it, like kubelet's event: which container is known.
			if cause := errors.Unwrap(err); cause != nil {
				err = cause
			}
			return nil, 0, err
		}
		if r.TimedOut {
			return nil, 0, errors.Join(probe.ErrExecTimeout, errors.New(r.Message))
		}
		return append(r.Stdout, r.Stderr...), r.ExitCode, nil
	}
}
