package nodestatus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	utilclock "k8s.io/utils/clock"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/otlp"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/images"
	"whylet.dev/whylet/node/object"
)

// Config is what the node's status comes from.
type Config struct {
	// Config says who the node is; what it says of itself is added here.
	object.Config
	// DataDir is on the disk whose capacity the node reports.
	DataDir string
	Journal *journal.Journal

	// The rest is not known while the runtime is away: see Away.

	Exporter *otlp.Exporter // nil: none
	Runtime  *cri.Client
	Stored   *images.Manager
	// Pressures are those that the node is under.
	Pressures func() []v1.NodeConditionType
	// ShuttingDown says whether the machine is about to shut down.
	ShuttingDown func() bool
}

// Status says how the node is, in its Node object.
type Status struct {
	c        Config
	own      *object.Own
	reporter *object.Reporter

	mu sync.Mutex
	// runtimeErr is why the runtime does not answer; nil while it does. health is
	// what it said last; nil before it was asked.
	runtimeErr error
	health     *cri.Health
	// silentSince is when the runtime stopped answering; zero while it does.
	silentSince time.Time
}

// New makes a status of the node's own object that does nothing until Run.
func New(own *object.Own, c Config) *Status {
	s := &Status{c: c, own: own}
	o := c.describe()
	o.State, o.Images = s.state, s.images
	s.reporter = object.New(own, o)
	return s
}

// Away keeps what of the node's object needs no runtime, with why as the reason of its
// not being ready. It does nothing until its Run.
func Away(ctx context.Context, c Config, why func() error) *object.Reporter {
	o := c.describe()
	o.State = func() object.State {
		return object.State{
			Problems: []string{object.RuntimeDown(why())}, Conditions: []v1.NodeCondition{journalCondition(c.Journal)},
		}
	}
	return object.New(object.NewOwn(ctx), o)
}

// declared are the optional features that the scheduler looks for on a node
// (KEP-5328, k8s.io/component-helpers/nodedeclaredfeatures).
var declared = []string{
	"ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers",
	"RestartAllContainersOnContainerExits",
}

// describe adds what does not change.
func (c Config) describe() object.Config {
	o := c.Config
	o.Declares, o.Clock = declared, utilclock.RealClock{}
	o.Machine = func() (object.Machine, error) { return object.ReadMachine("/", c.DataDir) }
	return o
}

// Run keeps the object until ctx ends.
func (s *Status) Run(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { s.watchRuntime(ctx) })
	s.reporter.Run(ctx)
	wg.Wait()
}

// healthEvery is how often the runtime is asked whether it can start pods
// (kubelet: runtimeStateUpdatePeriod in kubelet.go is 5 s).
const healthEvery = 5 * time.Second

func (s *Status) watchRuntime(ctx context.Context) {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		health, err := s.c.Runtime.Health(ctx)
		s.mu.Lock()
		changed := s.health == nil || fmt.Sprint(*s.health, s.runtimeErr) != fmt.Sprint(health, err)
		s.health, s.runtimeErr = &health, err
		s.mu.Unlock()
		if changed {
			s.own.Changed()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// RuntimeLost hears at once that the runtime does not answer, or answers again.
// Kubelet tells of it in the node's condition only, and not at all when it is
// shorter than the 30 s for which the runtime may be silent.
func (s *Status) RuntimeLost(err error) {
	now := time.Now()
	s.mu.Lock()
	since := s.silentSince
	s.runtimeErr = err
	switch {
	case err == nil:
		s.silentSince = time.Time{}
	case since.IsZero():
		s.silentSince = now
	}
	s.mu.Unlock()
	s.own.Changed()
	switch {
	case err != nil && since.IsZero():
		s.c.Event(object.Event{Type: v1.EventTypeWarning, Reason: "ContainerRuntimeDown", Message: object.RuntimeDown(err) + "; containers run on"})
	case err == nil && !since.IsZero():
		s.c.Event(object.Event{
			Type: v1.EventTypeNormal, Reason: "ContainerRuntimeUp",
			Message: fmt.Sprintf("%s answers again after %s", s.c.Runtime.Name(), now.Sub(since).Round(100*time.Millisecond)),
		})
	}
}

// state is what the node's condition says.
func (s *Status) state() object.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := object.State{Runtime: s.c.Runtime.Name() + "://" + s.c.Runtime.Version()}
	switch {
	case s.runtimeErr != nil:
		state.Problems = append(state.Problems, object.RuntimeDown(s.runtimeErr))
	case s.health == nil:
		state.Problems = append(state.Problems, object.RuntimeNotSeen)
	case !s.health.RuntimeReady:
		state.Problems = append(state.Problems, object.RuntimeDown(errors.New(s.health.RuntimeReason)))
	case !s.health.NetworkReady:
		state.Problems = append(state.Problems, object.NetworkNotReady("NetworkPluginNotReady", s.health.NetworkReason))
	}
	if s.c.ShuttingDown() {
		state.Problems = append(state.Problems, object.ShuttingDown)
	}
	state.Conditions = append(state.Conditions, journalCondition(s.c.Journal))
	if s.c.Exporter != nil || exportWasOn(s.own.Node()) {
		state.Conditions = append(state.Conditions, exportCondition(s.c.Exporter))
	}
	pressures := s.c.Pressures()
	state.MemoryPressure = slices.Contains(pressures, v1.NodeMemoryPressure)
	state.DiskPressure = slices.Contains(pressures, v1.NodeDiskPressure)
	state.PIDPressure = slices.Contains(pressures, v1.NodePIDPressure)
	if s.health == nil {
		return state
	}
	for _, h := range s.health.Handlers {
		rro, userns := h.RecursiveReadOnly, h.UserNamespaces
		state.Handlers = append(state.Handlers, v1.NodeRuntimeHandler{
			Name: h.Name, Features: &v1.NodeRuntimeHandlerFeatures{RecursiveReadOnlyMounts: &rro, UserNamespaces: &userns},
		})
	}
	return state
}

// journalCondition says whether the node can remember.
func journalCondition(j *journal.Journal) v1.NodeCondition {
	c := v1.NodeCondition{
		Type: "JournalDegraded", Status: v1.ConditionFalse,
		Reason: "JournalWritten", Message: "what happens is written to disk",
	}
	if why := j.Degraded(); why != "" {
		c.Status, c.Reason = v1.ConditionTrue, "JournalInMemory"
		c.Message = "what happens is kept in memory only: " + why
	}
	return c
}

func (s *Status) images(ctx context.Context) ([]v1.ContainerImage, error) {
	stored, err := s.c.Stored.List(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]v1.ContainerImage, len(stored))
	for i, image := range stored {
		all[i] = v1.ContainerImage{Names: append(append([]string{}, image.Digests...), image.Tags...), SizeBytes: image.Bytes}
	}
	return all, nil
}
