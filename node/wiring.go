package node

import (
	"context"
	"fmt"
	"net"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/node/api"
	"whylet.dev/whylet/node/cgroup"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/effect"
	"whylet.dev/whylet/node/images"
	"whylet.dev/whylet/node/nodestatus"
	"whylet.dev/whylet/node/object"
	"whylet.dev/whylet/node/pressure"
	"whylet.dev/whylet/node/report"
	"whylet.dev/whylet/node/server"
	"whylet.dev/whylet/node/shutdown"
	"whylet.dev/whylet/node/upkeep"
	"whylet.dev/whylet/node/volumes"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/probe"
	"whylet.dev/whylet/sense"
	"whylet.dev/whylet/sense/containers"
)

// newNode puts a node together, each part of those that were made before it; none is
// changed afterwards. What is open, also after an error, is among the closers.
func newNode(ctx context.Context, c Config, closing *closers) (*node, error) {
	g, err := openGround(ctx, c, closing)
	if err != nil {
		return nil, err
	}
	in, known, own := newInbox(g.clock, sense.NewNamespaces(g.annotations, g.log).Keep), pods.New(), object.NewOwn(ctx)
	probes, err := newProbes(g.runtime, in.submit, g.log)
	if err != nil {
		return nil, err
	}
	closing.add(probes.scheduler.Close)
	told, err := newReports(ctx, g, own, known, probes.scheduler.Stats, closing)
	if err != nil {
		return nil, err
	}
	kept, err := newStores(ctx, g, own, told, closing)
	if err != nil {
		return nil, err
	}
	services := newServices(g.client)
	effects, err := newEffects(ctx, g, in, own, told, kept, services)
	if err != nil {
		return nil, err
	}
	seen, err := newSenses(g, told, kept, probes, closing)
	if err != nil {
		return nil, err
	}
	well := newCare(ctx, g, in, own, told, kept, closing)
	l := newLoop(loopConfig{
		inbox: in, memory: g.journal, known: known, log: g.log, first: g.first,
		world: outside{reports: told, effects: effects, volumes: kept.volumes, probes: probes, hearers: append(seen.hearers(), told.metrics, told.probed, well.shutdown)},
		node: func() health.Node {
			return health.Node{Object: own.Node(), Conditions: well.pressure.Conditions(), HostIP: c.IP, ShuttingDown: well.shutdown.Begun()}
		},
	})
	if err := l.replay(g.journal.Query(journal.Query{SinceCheckpoint: true})); err != nil {
		return nil, err
	}
	g.journal.SetLive(func(uid types.UID) bool {
		_, ok := known.Get(uid)
		return ok
	})
	api, err := newAPI(ctx, g, l, told, kept, seen, well)
	if err != nil {
		return nil, err
	}
	return &node{
		ground: g, reports: told, stores: kept, senses: seen, care: well, loop: l, effects: effects, services: services, api: api,
	}, nil
}

// stores are what pods are made of.
type stores struct {
	volumes *volumes.Manager
	images  *images.Manager
	cgroups *cgroup.Manager
}

func newStores(ctx context.Context, g ground, own *object.Own, r reports, closing *closers) (s stores, err error) {
	c := g.config
	s.volumes, err = volumes.New(volumes.Config{
		DataDir: c.DataDir, NodeName: c.Name, Client: g.client, Node: func() (*v1.Node, error) { return own.Get(c.Name) },
		Event: func(object runtime.Object, kind, reason, message string) {
			r.recorder.Event(object, kind, reason, message)
		},
		Failed: func(pod *v1.Pod, err error) {
			r.recorder.Event(report.Reference(pod, ""), v1.EventTypeWarning, "FailedMount", err.Error())
		},
		Log: g.log,
	})
	if err != nil {
		return s, err
	}
	closing.add(s.volumes.Close)
	s.images, err = images.New(ctx, g.runtime, images.Options{
		DataDir: c.DataDir, Secrets: s.volumes, Recorder: r.recorder, Log: g.log,
	})
	if err != nil {
		return s, err
	}
	s.cgroups, err = cgroup.New(cgroup.Config{Root: c.CgroupRoot, Allocatable: g.capacity.enforced(c.PIDs), PodPIDs: c.PodPIDs, Log: g.log})
	return s, err
}

func newEffects(ctx context.Context, g ground, in inbox, own *object.Own, r reports, s stores, services *services) (*effect.Effects, error) {
	c := g.config
	return effect.New(ctx, effect.Config{
		Client: g.client, Runtime: g.runtime, Images: s.images, Volumes: s.volumes, Cgroups: s.cgroups, Machine: cri.DetectMachine(g.capacity.memory()),
		DNS: cri.DNS{
			Servers: parseIPs(c.ClusterDNS), Domain: c.ClusterDomain, ResolvConf: cri.HostResolvConf(), NodeIPs: parseIPs([]string{c.IP}),
		},
		IP: c.IP, ClusterDomain: c.ClusterDomain, MaxPods: c.MaxPods, DataDir: c.DataDir, PodLogsDir: c.PodLogsDir, SandboxSeccomp: c.SandboxSeccomp,
		Node: own.Node, Services: services.list, Release: r.publisher.Release, Recorder: r.recorder, Submit: in.submit, Log: g.log,
	})
}

// parseIPs leaves out what is no address.
func parseIPs(texts []string) []net.IP {
	var ips []net.IP
	for _, t := range texts {
		if ip := net.ParseIP(t); ip != nil {
			ips = append(ips, ip)
		}
	}
	return ips
}

// senses are the sources that somebody else needs too.
type senses struct {
	pods      *sense.APIPods
	processes *sense.Processes
	exits     *sense.Exits
	inspector *sense.Inspector
	reprobe   *sense.Reprobe // nil: it is not wanted
}

func newSenses(g ground, r reports, s stores, p *probes, closing *closers) (senses, error) {
	c := g.config
	processes := sense.OpenProcesses(g.log)
	closing.add(processes.Close)
	said := sense.LastSaid(containers.LastSaid)
	if c.NoLogLines {
		said = nil
	}
	all := senses{
		pods:      sense.NewAPIPods(g.client.CoreV1().RESTClient(), c.Name, sense.APIHearers{Mirror: r.mirrored, StatusSeen: r.statusSeen}),
		processes: processes, exits: sense.NewExits(processes),
		inspector: sense.NewInspector(s.cgroups, processes.Join, said, c.PodLogsDir),
	}
	if c.NoProbeAgain {
		return all, nil
	}
	prober, err := probe.NewProber(execProbe(g.runtime), g.log)
	if err != nil {
		return all, fmt.Errorf("start the prober that asks again: %w", err)
	}
	closing.add(prober.Close)
	all.reprobe = &sense.Reprobe{Ask: prober.Ask, Hello: prober.Hello, Target: p.target, Commands: true}
	return all, nil
}

// hearers are those of the sources that are told of recorded facts.
func (s senses) hearers() []hearer {
	all := []hearer{s.processes, s.inspector}
	if s.reprobe != nil {
		all = append(all, s.reprobe)
	}
	return all
}

// care is who looks after the node itself.
type care struct {
	upkeep   *upkeep.Upkeep
	pressure *pressure.Manager
	shutdown *shutdown.Manager
	status   *nodestatus.Status
}

func newCare(ctx context.Context, g ground, in inbox, own *object.Own, r reports, s stores, closing *closers) care {
	c := g.config
	event := r.nodeEvent(c.Name)
	u := upkeep.New(upkeep.Config{
		Known: r.known, Submit: in.submit, Runtime: g.runtime, Images: s.images, Volumes: s.volumes, Cgroups: s.cgroups, PodLogsDir: c.PodLogsDir, Log: g.log,
	})
	p, closeAlarm := u.Pressure(ctx, pressure.Reader{Memory: c.Memory, PIDs: c.PIDs, NodeDir: c.DataDir}, pressure.Config{
		Thresholds: c.Eviction, Transition: c.PressureTransition, SoftGrace: c.EvictionSoftGraceSeconds, Changed: own.Changed,
		Event: func(reason, message string) {
			event(object.Event{Type: v1.EventTypeWarning, Reason: reason, Message: message})
		},
	})
	closing.add(closeAlarm)
	down := newShutdown(g, in, own, r)
	o := g.describe(g.client)
	o.Exporter, o.Runtime, o.Stored, o.Pressures, o.Event, o.Reported = g.exporter, g.runtime, s.images, p.Conditions, event, c.Reported
	o.ShuttingDown = down.Begun
	return care{upkeep: u, pressure: p, shutdown: down, status: nodestatus.New(own, o)}
}

func newAPI(ctx context.Context, g ground, l *loop, r reports, s stores, seen senses, well care) (*server.Server, error) {
	c := g.config
	return api.Listen(ctx, api.Config{
		Config: server.Config{
			NodeName: c.Name, Address: c.ListenAddress, Port: c.Port, ServingCert: c.ServingCert, ServingKey: c.ServingKey, ClientCA: c.ClientCA,
			Client: g.client, Probes: r.attempts, Configz: c.configz, Log: g.log,
		},
		Metrics: r.numbers, Known: r.known, Runtime: g.runtime, BusySince: l.busySince, Cgroups: s.cgroups, Volumes: s.volumes,
		Layer: well.upkeep.Layer, DataDir: c.DataDir, PodLogsDir: c.PodLogsDir, Memory: c.Memory,
		Journal: g.journal.Journal, Exporter: g.exporter, Look: seen.inspector.Look,
	})
}
