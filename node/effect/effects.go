package effect

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/lanes"
	"whylet.dev/whylet/node/cgroup"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/images"
	"whylet.dev/whylet/node/pressure"
	"whylet.dev/whylet/node/volumes"
	"whylet.dev/whylet/pods"
)

// Config is what effects work with.
type Config struct {
	Client  kubernetes.Interface
	Runtime *cri.Client
	Images  *images.Manager
	Volumes *volumes.Manager
	Cgroups *cgroup.Manager
	Machine cri.Machine
	DNS     cri.DNS
	// IP is the node's address, ClusterDomain the pods' domain, and MaxPods how many
	// there can be.
	IP, ClusterDomain string
	MaxPods           int
	// DataDir is the node's directory, PodLogsDir that of the pods' logs.
	DataDir, PodLogsDir string
	// SandboxSeccomp is the seccomp profile for sandboxes' own processes, as the runtime
	// finds it; empty: the runtime's default.
	SandboxSeccomp string
	// Node is the Node object, nil before it is known; Services lists all Services, for
	// the environment.
	Node     func() *v1.Node
	Services func(context.Context) ([]*v1.Service, error)
	// Release has the API server drop a pod's object.
	Release  func(ctx context.Context, pod fact.Pod) error
	Recorder record.EventRecorder
	// Submit takes what comes of effects.
	Submit func(fact.Fact)
	Log    *slog.Logger
}

// Effects attempts what was decided. What comes of it goes back to the loop as
// facts, which name the decision as their reason. Everything here can be asked
// for twice: after a restart of the agent, what was decided and never came back
// is attempted again.
//
// A pod's set-up, starts and tear-down happen one after the other on one lane,
// as kubelet's pod worker does them: a container's postStart hook delays the
// next container. Kills have a lane for each container, so that all grace
// periods run at once.
//
// Effects end with the agent and not with the turn that decided them: that the agent
// ends is no failure of theirs, so none is told then, and the next agent asks again.
type Effects struct {
	Config
	ctx   context.Context
	lanes *lanes.Lanes[lane]
	// handlers and users say how the runtime is to run a pod, and as whom.
	handlers *handlers
	users    *cri.Users

	mu sync.Mutex
	// starting cancels the start that is under way, by pod and container.
	starting map[startKey]context.CancelFunc
	// left are the sandboxes of known pods that the runtime had when the agent started
	// and no fact tells of.
	left map[types.UID][]cri.SandboxView
	// untaken are pods whose volumes an earlier agent set up and this one could not
	// yet take over.
	untaken map[types.UID]bool
}

// New makes effects that go on until ctx ends, and for as long after as they need to
// say how they went: see Wait.
func New(ctx context.Context, c Config) (*Effects, error) {
	e := &Effects{
		Config: c, ctx: ctx, lanes: lanes.New[lane](ctx), handlers: newHandlers(c.Client, c.Runtime),
		starting: map[startKey]context.CancelFunc{}, left: map[types.UID][]cri.SandboxView{}, untaken: map[types.UID]bool{},
	}
	var err error
	e.users, err = cri.NewUsers(c.Volumes.PodsDir(), c.MaxPods, func() (cri.Health, error) { return c.Runtime.Health(ctx) })
	if err != nil {
		return nil, fmt.Errorf("user namespaces of pods: %w", err)
	}
	return e, nil
}

// Wait returns when the effects that go on have ended, after ctx has.
func (e *Effects) Wait() { e.lanes.Wait() }

// lane is what effects happen one after the other on: of a pod, of one of its
// containers, or of one decision to kill.
type lane struct {
	kind      laneKind
	uid       types.UID
	container string
	decision  fact.ID
}

type laneKind int

const (
	podLane laneKind = iota
	killLane
	removeLane
	resizeLane
	holdLane
)

type startKey struct {
	pod       types.UID
	container string
}

// Act queues the effect of a decision.
func (e *Effects) Act(p pods.Pod, d fact.Fact) {
	on := lane{uid: p.Key.UID}
	switch body := d.Body.(type) {
	case fact.SetUp:
		e.lanes.Do(on, func(ctx context.Context) { e.setUp(ctx, p, d, body) })
	case fact.Start:
		key := startKey{p.Key.UID, d.Container}
		start, cancel := context.WithCancel(e.ctx)
		e.mu.Lock()
		e.starting[key] = cancel
		e.mu.Unlock()
		e.lanes.Do(on, func(context.Context) {
			e.start(start, p, d)
			e.endStart(key)
		})
	case fact.Kill:
		e.endStart(startKey{p.Key.UID, d.Container})
		// A kill with a shorter grace period must not wait for the first one.
		e.lanes.Do(lane{killLane, p.Key.UID, d.Container, d.ID}, func(ctx context.Context) { e.kill(ctx, p, d, body) })
	case fact.Evict:
		if pressure.Signal(body.Signal).Memory() {
			e.lanes.Do(lane{kind: holdLane, uid: p.Key.UID}, func(context.Context) { e.holdBack(p) })
		}
	case fact.Resize:
		// One after the other, so that what shrinks makes room for what grows.
		e.lanes.Do(lane{kind: resizeLane, uid: p.Key.UID}, func(ctx context.Context) { e.resize(ctx, p, d, body) })
	case fact.Remove:
		e.lanes.Do(lane{kind: removeLane, uid: p.Key.UID, container: d.Container}, func(ctx context.Context) { e.remove(ctx, p, d, body) })
	case fact.TearDown:
		e.lanes.Do(on, func(ctx context.Context) { e.tearDown(ctx, p, d) })
	case fact.Release:
		e.lanes.Do(on, func(ctx context.Context) { e.letGo(ctx, p, d) })
	}
}

// endStart ends a start that has not yet created its container, and a postStart hook.
func (e *Effects) endStart(key startKey) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if cancel, ok := e.starting[key]; ok {
		cancel()
		delete(e.starting, key)
	}
}

// say submits what came of a decision.
func (e *Effects) say(d fact.Fact, body fact.Observed) {
	e.sayAt(d, time.Time{}, body)
}

// sayAt is say for what happened at a known time.
func (e *Effects) sayAt(d fact.Fact, at time.Time, body fact.Observed) {
	e.Submit(fact.Fact{
		At: at, Pod: d.Pod, Container: d.Container, Attempt: d.Attempt, Because: []fact.ID{d.ID}, Body: body,
	})
}

// retry runs try until it succeeds or ctx ends, with a growing pause.
func retry(ctx context.Context, try func() error, failed func(error)) {
	pause := 100 * time.Millisecond
	for {
		err := try()
		if err == nil || ctx.Err() != nil {
			return
		}
		failed(err)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, 10*time.Second)
	}
}
