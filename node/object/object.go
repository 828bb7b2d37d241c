package object

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
)

// How often it is looked whether something changed that nobody told of, and how
// often the status is written though nothing did
// (nodeStatusUpdateFrequency, nodeStatusReportFrequency of KubeletConfiguration).
const (
	lookEvery   = 10 * time.Second
	reportEvery = 5 * time.Minute
	// imagesEvery is how old the list of images may be (kubelet's image manager
	// looks every 30 s).
	imagesEvery = 30 * time.Second
)

// State is what the node's loop knows. A zero State is a ready node.
type State struct {
	// Problems are what keeps the node from being ready, in words for the user;
	// none: it is ready. See RuntimeDown, NetworkNotReady.
	Problems []string

	MemoryPressure, DiskPressure, PIDPressure bool
	// Conditions are further ones, by type (JournalDegraded…), with status, reason
	// and message. One that was once given is to be given always: what is left
	// out stays in the object as it was.
	Conditions []v1.NodeCondition

	// Runtime is who the runtime is: containerd://2.3.7. Empty: not known now, and
	// the object keeps what it has of the runtime.
	Runtime string
	// Handlers and Features are what the runtime can do; may be empty.
	Handlers []v1.NodeRuntimeHandler
	Features *v1.NodeFeatures
}

// Config says who the node is and where its news come from. Everything without
// "may be" is required.
type Config struct {
	// Name is the node's name, IP its address. Hostname may be empty: the name.
	Name, IP, Hostname string
	// Labels are added to Kubernetes' own; may be nil.
	Labels map[string]string
	// Declares are the optional features of Kubernetes that pods find here
	// (KEP-5328): the scheduler keeps pods that need others away. May be nil.
	Declares []string
	// Port is that of the node's HTTPS API.
	Port int32
	// Version is Whylet's own.
	Version string
	Reserve Reserve
	// Machine looks at the machine, see ReadMachine.
	Machine func() (Machine, error)

	Client kubernetes.Interface
	// State gives what the loop knows. It is called often, and must not wait.
	State func() State
	// Images lists the images on the node; may be nil.
	Images func(context.Context) ([]v1.ContainerImage, error)
	// Event records an event on the Node object; may be nil.
	Event func(Event)
	// Reported is told each time that the status was written, as opposed to found
	// as an earlier process had written it; may be nil.
	Reported func()

	Clock clock.WithTicker
	Log   *slog.Logger
}

func (c Config) hostname() string { return cmp.Or(c.Hostname, c.Name) }

// Reporter keeps the Node object. Make it with New.
type Reporter struct {
	*Own
	c Config

	// The rest belongs to Run's goroutine.
	machine    Machine
	images     []v1.ContainerImage
	imagesAt   time.Time
	reported   time.Time
	failing    string
	failedLook string
}

// New makes a reporter of a node's own object that does nothing until Run.
func New(own *Own, c Config) *Reporter { return &Reporter{Own: own, c: c} }

// Run registers the node and keeps object and lease until ctx ends. What fails
// is logged and tried again.
func (r *Reporter) Run(ctx context.Context) {
	if !r.register(ctx) {
		return
	}
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { r.heartbeat(ctx) })
	wg.Go(func() { r.watch(ctx) })
	tick := r.c.Clock.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		r.update(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
		case <-r.changed:
		}
	}
}

// look gathers everything that the object is made from. What could not be looked
// at is as it was.
func (r *Reporter) look(ctx context.Context) seen {
	now := r.c.Clock.Now()
	var problem string
	if r.machine.Memory == 0 || now.Sub(r.reported) >= reportEvery {
		m, err := r.c.Machine()
		if err == nil {
			r.machine = m
		} else {
			problem = err.Error()
		}
	}
	// The first object does without the images: the runtime may not be there yet.
	if r.c.Images != nil && r.Node() != nil && now.Sub(r.imagesAt) >= imagesEvery {
		images, err := r.c.Images(ctx)
		if err == nil {
			r.images, r.imagesAt = images, now
		} else {
			problem = err.Error()
		}
	}
	if problem != r.failedLook && problem != "" {
		r.c.Log.Warn("the node cannot describe all of itself", "node", r.c.Name, "error", problem)
	}
	r.failedLook = problem
	state := r.c.State()
	if r.machine.Memory == 0 {
		state.Problems = append(state.Problems[:len(state.Problems):len(state.Problems)],
			"missing node capacity for resources: "+problem)
	}
	return seen{machine: r.machine, state: state, images: r.images, now: metav1.NewTime(now)}
}

// update writes what differs, or all that is ours when that is long ago. It
// starts from the object as last seen, so that what others changed is put right.
func (r *Reporter) update(ctx context.Context) {
	old := r.Node()
	node := old.DeepCopy()
	s := r.look(ctx)
	events := r.c.fill(node, s)
	if !differs(old, node) && s.now.Sub(r.reported) < reportEvery {
		return
	}
	updated, err := r.patch(ctx, old, node)
	if err != nil {
		r.failed(fmt.Errorf("status of the node could not be written: %w", err))
		return
	}
	r.failed(nil)
	r.written(s.now.Time)
	r.saw(updated)
	r.tell(events)
}

// written notes that the status as of now is at the API server.
func (r *Reporter) written(now time.Time) {
	r.reported = now
	if r.c.Reported != nil {
		r.c.Reported()
	}
}

func (r *Reporter) tell(events []Event) {
	for _, e := range events {
		r.c.Log.Info("node: "+e.Message, "reason", e.Reason)
		if r.c.Event != nil {
			r.c.Event(e)
		}
	}
}

// failed logs an error when it is not the one that was logged last.
func (r *Reporter) failed(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != r.failing {
		r.failing = text
		if err != nil {
			r.c.Log.Warn("node object", "node", r.c.Name, "error", err)
		} else {
			r.c.Log.Info("node object is written again", "node", r.c.Name)
		}
	}
}
