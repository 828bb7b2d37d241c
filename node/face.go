package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/tools/record"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
	utilclock "k8s.io/utils/clock"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/otlp"
	"whylet.dev/whylet/node/cgroup"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/images"
	"whylet.dev/whylet/node/object"
	"whylet.dev/whylet/node/pressure"
	"whylet.dev/whylet/node/report"
	"whylet.dev/whylet/node/server"
	"whylet.dev/whylet/node/stats"
	"whylet.dev/whylet/node/volumes"
	"whylet.dev/whylet/why/serve"
)

// face is how the node looks from outside: its Node object and its HTTPS API.
type face struct {
	config   Config
	runtime  *cri.Client
	journal  *journal.Journal
	exporter *otlp.Exporter // nil: none
	log      *slog.Logger
	machine  object.Machine
	reserve  object.Reserve
	reporter *object.Reporter
	server   *server.Server
	// event records an event about the node.
	event func(object.Event)
	// registered is closed once the Node object is known.
	registered   chan struct{}
	registerOnce sync.Once

	// pressures are those that the node is under.
	pressures func() []v1.NodeConditionType
	// look looks into a pod because somebody asks.
	look serve.Look

	mu sync.Mutex
	// runtimeErr is why the runtime does not answer; nil while it does. health is
	// what it said last; nil before it was asked.
	runtimeErr error
	health     *cri.Health
	// silentSince is when the runtime stopped answering; zero while it does.
	silentSince time.Time
}

func newFace(n *node) (*face, error) {
	f := &face{config: n.config, runtime: n.runtime, journal: n.journal, exporter: n.exporter, log: n.log, registered: make(chan struct{})}
	var err error
	if f.machine, err = object.ReadMachine("/", n.config.DataDir); err != nil {
		return nil, err
	}
	f.reserve = object.Reserve{Memory: n.config.Memory, Kept: quota.Add(n.config.SystemReserved, n.config.KubeReserved), MaxPods: n.config.MaxPods}
	thresholds := n.config.thresholds()
	if t, ok := pressure.Of(thresholds, pressure.MemoryAvailable); ok {
		f.reserve.EvictionMemory = t.Amount(f.memory()).Value()
	}
	if t, ok := pressure.Of(thresholds, pressure.NodeFSAvailable); ok && f.machine.Disk > 0 {
		f.reserve.EvictionDisk = float64(t.Amount(f.machine.Disk).Value()) / float64(f.machine.Disk)
	}
	return f, nil
}

// memory is how much the node says it has, in bytes.
func (f *face) memory() int64 {
	capacity, _ := object.Resources(f.machine, f.reserve)
	return capacity.Memory().Value()
}

// object is the Node object as last seen, nil before it is known.
func (f *face) object() *v1.Node { return f.reporter.Node() }

// registration is how long those who need the Node object wait for it.
const registration = 10 * time.Second

// known is object for those who need one; it waits for the node to be registered.
func (f *face) known() (*v1.Node, error) {
	timeout := time.NewTimer(registration)
	defer timeout.Stop()
	select {
	case <-f.registered:
		return f.reporter.Node(), nil
	case <-timeout.C:
		return nil, fmt.Errorf("node %s is not registered yet", f.config.Name)
	}
}

// Get finds the node for mirror pods, which it owns.
func (f *face) Get(string) (*v1.Node, error) { return f.known() }

// declared are the optional features that the scheduler looks for on a node
// (KEP-5328, k8s.io/component-helpers/nodedeclaredfeatures).
var declared = []string{
	"ExtendWebSocketsToKubelet", "InPlacePodLevelResourcesVerticalScaling", "InPlacePodVerticalScalingInitContainers",
	"RestartAllContainersOnContainerExits",
}

// connect makes the object's reporter and takes the port of the API.
func (f *face) connect(ctx context.Context, n *node, vols *volumes.Manager, imgs *images.Manager, groups *cgroup.Manager, d *disks) error {
	f.event = func(e object.Event) { nodeEvent(n.world.recorder, f.config.Name, e) }
	c := f.describe(n.client)
	c.State, c.Event, c.Reported = f.state, f.event, f.config.Reported
	c.Images = func(ctx context.Context) ([]v1.ContainerImage, error) { return nodeImages(ctx, imgs) }
	c.Updated = func(*v1.Node) { f.registerOnce.Do(func() { close(f.registered) }) }
	f.reporter = object.New(c)
	h := &host{known: n.known, runtime: n.runtime, busySince: n.loop.busySince}
	collector := stats.New(stats.Config{
		NodeName: f.config.Name, Pods: h.Pods, Group: groups.Path, All: groups.Node(), NetworkPID: func(uid types.UID) int {
			p, _ := n.known.Get(uid)
			return p.NetworkPID()
		},
		Volumes: func(uid types.UID) (ephemeral, persistent []statsapi.VolumeStats) {
			usage := vols.Usage(uid, time.Minute)
			return usage.Ephemeral, usage.Persistent
		},
		Layer: func(id string) (used, inodes uint64, ok bool) {
			layer, ok := d.layer(ctx, id)
			return uint64(layer.bytes), uint64(layer.inodes), ok
		},
		LogsDir: f.config.PodLogsDir, NodeDir: f.config.DataDir, ImageDir: f.config.DataDir, Memory: f.config.Memory,
		Proc: "/proc", Clock: utilclock.RealClock{}, Log: n.log,
	})
	own, resources, probed, cadvisor := server.NewRegistry(), prometheus.NewRegistry(), prometheus.NewRegistry(), prometheus.NewRegistry()
	var err error
	if n.world.metrics, err = report.NewMetrics(own, n.world.probes.scheduler.Stats, n.known); err != nil {
		return fmt.Errorf("register the node's metrics: %w", err)
	}
	if n.exporter != nil {
		if err := registerExport(own, n.exporter); err != nil {
			return fmt.Errorf("register the export's metrics: %w", err)
		}
	}
	if err := resources.Register(stats.NewResources(collector)); err != nil {
		return fmt.Errorf("register the resource metrics: %w", err)
	}
	if n.world.probed, err = report.NewProbeMetrics(probed); err != nil {
		return fmt.Errorf("register the probes' metrics: %w", err)
	}
	if err := cadvisor.Register(stats.NewCAdvisor(collector)); err != nil {
		return fmt.Errorf("register the containers' metrics: %w", err)
	}
	f.server, err = server.Listen(server.Config{
		NodeName: f.config.Name, Address: f.config.ListenAddress, Port: f.config.Port,
		ServingCert: f.config.ServingCert, ServingKey: f.config.ServingKey, ClientCA: f.config.ClientCA,
		Client: n.client, Host: h, Runtime: n.runtime.Runtime(), Stats: collector,
		Metrics: own, Resources: resources, Probes: probed, Containers: cadvisor, Extra: f.questions(),
		Configz: f.config.configz,
		LogsDir: "/var/log", Log: n.log,
	})
	return err
}

func (f *face) run(ctx context.Context) error {
	var wg sync.WaitGroup
	wg.Go(func() { f.watchRuntime(ctx) })
	f.reporter.Run(ctx)
	wg.Wait()
	return nil
}

func (f *face) serve(ctx context.Context) error { return f.server.Serve(ctx) }

// healthEvery is how often the runtime is asked whether it can start pods
// (kubelet: runtimeStateUpdatePeriod in kubelet.go is 5 s).
const healthEvery = 5 * time.Second

func (f *face) watchRuntime(ctx context.Context) {
	tick := time.NewTicker(healthEvery)
	defer tick.Stop()
	for {
		health, err := f.runtime.Health(ctx)
		f.mu.Lock()
		changed := f.health == nil || fmt.Sprint(*f.health, f.runtimeErr) != fmt.Sprint(health, err)
		f.health, f.runtimeErr = &health, err
		f.mu.Unlock()
		if changed {
			f.reporter.Changed()
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// runtimeLost hears at once that the runtime does not answer, or answers again.
// Kubelet tells of it in the node's condition only, and not at all when it is
// shorter than the 30 s for which the runtime may be silent.
func (f *face) runtimeLost(err error) {
	now := time.Now()
	f.mu.Lock()
	since := f.silentSince
	f.runtimeErr = err
	switch {
	case err == nil:
		f.silentSince = time.Time{}
	case since.IsZero():
		f.silentSince = now
	}
	f.mu.Unlock()
	f.reporter.Changed()
	switch {
	case err != nil && since.IsZero():
		f.event(object.Event{Type: v1.EventTypeWarning, Reason: "ContainerRuntimeDown", Message: object.RuntimeDown(err) + "; containers run on"})
	case err == nil && !since.IsZero():
		f.event(object.Event{
			Type: v1.EventTypeNormal, Reason: "ContainerRuntimeUp",
			Message: fmt.Sprintf("%s answers again after %s", f.runtime.Name(), now.Sub(since).Round(100*time.Millisecond)),
		})
	}
}

// state is what the node's condition says.
func (f *face) state() object.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := object.State{Runtime: f.runtime.Name() + "://" + f.runtime.Version()}
	switch {
	case f.runtimeErr != nil:
		s.Problems = append(s.Problems, object.RuntimeDown(f.runtimeErr))
	case f.health == nil:
		s.Problems = append(s.Problems, object.RuntimeNotSeen)
	case !f.health.RuntimeReady:
		s.Problems = append(s.Problems, object.RuntimeDown(errors.New(f.health.RuntimeReason)))
	case !f.health.NetworkReady:
		s.Problems = append(s.Problems, object.NetworkNotReady("NetworkPluginNotReady", f.health.NetworkReason))
	}
	s.Conditions = append(s.Conditions, f.journalCondition())
	if f.exporter != nil || exportWasOn(f.object()) {
		s.Conditions = append(s.Conditions, exportCondition(f.exporter))
	}
	pressures := f.pressures()
	s.MemoryPressure = slices.Contains(pressures, v1.NodeMemoryPressure)
	s.DiskPressure = slices.Contains(pressures, v1.NodeDiskPressure)
	s.PIDPressure = slices.Contains(pressures, v1.NodePIDPressure)
	if f.health == nil {
		return s
	}
	for _, h := range f.health.Handlers {
		rro, userns := h.RecursiveReadOnly, h.UserNamespaces
		s.Handlers = append(s.Handlers, v1.NodeRuntimeHandler{
			Name: h.Name, Features: &v1.NodeRuntimeHandlerFeatures{RecursiveReadOnlyMounts: &rro, UserNamespaces: &userns},
		})
	}
	return s
}

// journalCondition says whether the node can remember.
func (f *face) journalCondition() v1.NodeCondition {
	c := v1.NodeCondition{
		Type: "JournalDegraded", Status: v1.ConditionFalse,
		Reason: "JournalWritten", Message: "what happens is written to disk",
	}
	if why := f.journal.Degraded(); why != "" {
		c.Status, c.Reason = v1.ConditionTrue, "JournalInMemory"
		c.Message = "what happens is kept in memory only: " + why
	}
	return c
}

func nodeImages(ctx context.Context, imgs *images.Manager) ([]v1.ContainerImage, error) {
	stored, err := imgs.List(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]v1.ContainerImage, len(stored))
	for i, s := range stored {
		all[i] = v1.ContainerImage{Names: append(append([]string{}, s.Digests...), s.Tags...), SizeBytes: s.Bytes}
	}
	return all, nil
}

// nodeEvent records an event about the node. Its UID is the node's name, because
// that is what kubectl describe looks for.
func nodeEvent(recorder record.EventRecorder, name string, e object.Event) {
	ref := &v1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: name, UID: types.UID(name)}
	recorder.Event(ref, e.Type, e.Reason, e.Message)
}
