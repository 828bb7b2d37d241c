package node

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	quota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/fold"
	"whylet.dev/whylet/journal/otlp"
	"whylet.dev/whylet/node/cgroup"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/object"
	"whylet.dev/whylet/node/pressure"
	"whylet.dev/whylet/sense"
	"whylet.dev/whylet/sense/containers"
)

// ground is what all parts of a node stand on.
type ground struct {
	config   Config
	log      *slog.Logger
	clock    clock
	capacity capacity
	journal  *fold.Journal
	// exporter sends the facts elsewhere, from one on; nil: nowhere.
	exporter   *otlp.Exporter
	exportFrom fact.ID
	runtime    *cri.Client
	// first is what the runtime had when the agent started.
	first   cri.Snapshot
	contact *sense.Contact
	client  kubernetes.Interface
	// lastSaid reads the end of a container's log; nil: it is not kept.
	lastSaid sense.LastSaid
}

// annotations reads those of a namespace.
func (g ground) annotations(ctx context.Context, namespace string) (map[string]string, error) {
	of, err := g.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return of.Annotations, nil
}

// openGround opens the journal, waits for the runtime, and looks at what it has.
func openGround(ctx context.Context, c Config, closing *closers) (g ground, err error) {
	g = ground{config: c, log: c.Log, contact: &sense.Contact{}}
	if g.clock, err = newClock(); err != nil {
		return g, err
	}
	for _, dir := range []string{c.DataDir, c.PodLogsDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return g, fmt.Errorf("make the node's directory: %w", err)
		}
	}
	if g.capacity, err = readCapacity(c); err != nil {
		return g, err
	}
	c.Progress("opening the journal")
	if g.journal, err = fold.Open(filepath.Join(c.DataDir, "journal"), journal.Options{Log: c.Log}, fold.Options{}); err != nil {
		return g, err
	}
	closing.add(func() { g.warn("journal", g.journal.Close()) })
	if c.OTLPEndpoint != "" {
		g.exporter, err = otlp.New(otlp.Options{Endpoint: c.OTLPEndpoint, Headers: c.OTLPHeaders, WithValues: c.OTLPWithValues, Node: c.Name, Version: c.Version, Log: c.Log})
		if err != nil {
			return g, err
		}
		g.exportFrom = g.journal.Next(1)
	}
	if !c.NoLogLines {
		g.lastSaid = containers.LastSaid
	}
	if g.runtime, g.first, err = g.reachRuntime(ctx, closing); err != nil {
		return g, err
	}
	api := clientConfig(c.API)
	api.Wrap(g.contact.Wrap)
	if g.client, err = kubernetes.NewForConfig(api); err != nil {
		return g, fmt.Errorf("client of the API server: %w", err)
	}
	return g, nil
}

// reachRuntime waits for the runtime, and looks at what it has. It answered a moment
// before that, but may have ended since.
func (g ground) reachRuntime(ctx context.Context, closing *closers) (client *cri.Client, first cri.Snapshot, err error) {
	g.config.Progress("reaching the container runtime")
	err = g.untilRuntime(ctx, func(ctx context.Context) (err error) {
		client, err = cri.Dial(ctx, g.config.RuntimeEndpoint, g.log)
		return err
	})
	if err != nil {
		return nil, first, err
	}
	closing.add(func() { g.warn("runtime", client.Close()) })
	if g.config.Answered != nil {
		if err := g.config.Answered(ctx); err != nil {
			return nil, first, err
		}
	}
	g.config.Progress("looking at what runs already")
	err = g.untilRuntime(ctx, func(ctx context.Context) (err error) {
		first, err = client.Snapshot(ctx)
		return err
	})
	return client, first, err
}

// clientConfig lets a whole node's worth of pods start at once.
func clientConfig(c *rest.Config) *rest.Config {
	c = rest.CopyConfig(c)
	c.QPS, c.Burst = 200, 400
	c.ContentType = "application/vnd.kubernetes.protobuf"
	c.AcceptContentTypes = c.ContentType + ",application/json"
	return c
}

func (g ground) warn(what string, err error) {
	if err != nil {
		g.log.Warn("closing the "+what, "error", err)
	}
}

// past gives the recorded facts of some kinds.
func (g ground) past(kinds ...fact.Kind) iter.Seq2[fact.Fact, error] {
	return g.journal.Query(journal.Query{Kinds: kinds})
}

// capacity is what the machine has, and what of it is kept from the pods.
type capacity struct {
	machine object.Machine
	reserve object.Reserve
}

func readCapacity(c Config) (capacity, error) {
	machine, err := object.ReadMachine("/", c.DataDir)
	if err != nil {
		return capacity{}, err
	}
	all := capacity{machine, object.Reserve{Memory: c.Memory, Kept: quota.Add(c.SystemReserved, c.KubeReserved), MaxPods: c.MaxPods}}
	if t, ok := pressure.Of(c.Eviction, pressure.MemoryAvailable); ok {
		all.reserve.EvictionMemory = t.Amount(all.memory()).Value()
	}
	if t, ok := pressure.Of(c.Eviction, pressure.NodeFSAvailable); ok && machine.Disk > 0 {
		all.reserve.EvictionDisk = float64(t.Amount(machine.Disk).Value()) / float64(machine.Disk)
	}
	return all, nil
}

// memory is how much the node says it has, in bytes.
func (c capacity) memory() int64 {
	all, _ := object.Resources(c.machine, c.reserve)
	return all.Memory().Value()
}

// enforced is what a cgroup bounds all pods together by: what is allocatable, and
// the hard threshold of memory on top; pids bounds their processes, 0: nothing does.
// Pods are evicted at what is allocatable, and
// the kernel kills where the threshold is used up as well (kubelet:
// pkg/kubelet/cm/node_container_manager_linux.go, getNodeAllocatableInternalAbsolute).
func (c capacity) enforced(pids int64) v1.ResourceList {
	reserve := c.reserve
	reserve.EvictionMemory = 0
	_, limits := object.Resources(c.machine, reserve)
	if pids > 0 {
		limits[cgroup.PIDs] = *resource.NewQuantity(pids, resource.DecimalSI)
	}
	return limits
}
