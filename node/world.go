package node

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	kubeletpod "k8s.io/kubernetes/pkg/kubelet/pod"
	kubelettypes "k8s.io/kubernetes/pkg/kubelet/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/node/cgroup"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/images"
	"whylet.dev/whylet/node/pressure"
	"whylet.dev/whylet/node/volumes"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/probe"
)

// outside is the world as the loop sees it: everything that happens because of
// a turn, and nothing that waits.
type outside struct {
	node  *node
	log   *slog.Logger
	lanes *lanes

	api       *apiSource
	effects   *effects
	publisher *publisher
	probes    *probes
	static    *staticPods
	recorder  record.EventRecorderLogger
	later     *later
	services  *services
	house     *housekeeping
	face      *face
	kernel    *kernel
	processes *processes
	metrics   *metrics
	probed    *probeMetrics
	looks     *looks
	asks      *asks
	hidden    sparing
	pressure  *pressure.Manager
}

func (o *outside) act(p pods.Pod, d fact.Fact)             { o.effects.act(p, d) }
func (o *outside) publish(p fact.Pod, s v1.PodStatus)      { o.publisher.publish(p, s) }
func (o *outside) probe(p pods.Pod, wanted []health.Probe) { o.probes.want(p, wanted) }

// record counts a fact, and has a failing container looked into.
func (o *outside) record(f fact.Fact) {
	o.metrics.count(f, killedFor(o.node.known, f))
	o.probed.count(f)
	if b, ok := f.Body.(fact.Started); ok {
		o.processes.adopt(b.ContainerID, b.PID, f.At)
	}
	o.looks.heard(f)
	if b, ok := f.Body.(fact.Marked); ok && b.Ready {
		o.looks.ready(f)
	}
	if b, ok := f.Body.(fact.Probed); ok && b.Verdict == fact.Failure {
		o.looks.failed(f, b.Probe)
		o.asks.failed(f)
	}
}

func (o *outside) announce(pod *v1.Pod, f fact.Fact) { recordEvents(o.later, &o.hidden, pod, f) }

// changed lets what is written into running pods follow their labels.
func (o *outside) changed(p pods.Pod) {
	if p.Sandbox.ID != "" {
		o.effects.volumes.Update(p.Object)
	}
}

// gone forgets a pod of which nothing is left.
func (o *outside) gone(p pods.Pod) {
	o.publisher.forget(p.Key)
	o.metrics.forget(p.Key)
	o.probed.forget(p.Key)
	if p.Source == "file" {
		go o.static.gone(p.Key)
	}
}

// admit says what follows from meeting a pod for the first time.
func (o *outside) admit(pod *v1.Pod, others []*v1.Pod) []fact.Fact {
	if full, ok := o.api.get(pods.KeyOf(pod)); ok {
		if before := adopt(full, o.node.first); before != nil {
			return before
		}
	}
	if refused, no := refusesUnder(o.pressure.Conditions(), pod, kubelettypes.IsStaticPod(pod)); no {
		return []fact.Fact{podFact(pod, refused)}
	}
	if node := o.face.object(); node != nil { // until it is known there is nothing to compare with
		if refused, no := refuses(node, others, pod); no {
			return []fact.Fact{podFact(pod, refused)}
		}
	}
	return []fact.Fact{podFact(pod, fact.Admitted{HostIP: o.node.config.IP})}
}

// connect makes every part of the world.
func (o *outside) connect(ctx context.Context, n *node) error {
	o.node, o.log = n, n.log
	// Effects outlive the request to end for as long as they need to say how they went.
	o.lanes = newLanes(ctx)
	o.recorder = n.recorder(context.WithoutCancel(ctx))
	o.later = &later{recorder: o.recorder}
	o.services = newServices(n.client)
	o.api = newAPISource(n.client, n.config.Name, n.submit)
	o.api.mirror = o.mirrored
	o.api.known = o.statusSeen
	var err error
	if o.face, err = newFace(n); err != nil {
		return err
	}
	o.processes = newProcesses(n.known, n.submit, n.log)
	n.onClose(o.processes.close)
	o.kernel = &kernel{known: n.known, submit: n.submit, journal: n.journal, boot: n.clock.boot, log: n.log, processes: o.processes, kills: map[string]killed{}}
	mirror := kubeletpod.NewBasicMirrorClient(n.client, n.config.Name, o.face)
	o.static = newStaticPods(n.config.StaticPodDir, n.config.Name, mirror, n.submit, o.recorder, n.log)
	o.publisher = newPublisher(n.client, o.static.uid, n.log)
	if err := o.connectProbes(n); err != nil {
		return err
	}
	return o.connectEffects(ctx, n)
}

func (o *outside) connectProbes(n *node) error {
	o.probes = &probes{
		submit: n.submit, set: map[types.UID]map[probe.Key]target{}, targets: map[probe.Key]probe.Target{}, names: map[types.UID]fact.Pod{},
	}
	scheduler, err := probe.NewScheduler(probe.Options{Exec: execProbe(n.runtime), Result: o.probes.result, Log: n.log})
	if err != nil {
		return fmt.Errorf("start the prober: %w", err)
	}
	n.onClose(scheduler.Close)
	o.probes.scheduler = scheduler
	return o.connectAsks(n)
}

// connectAsks makes what asks again after a timeout, unless that is not wanted.
func (o *outside) connectAsks(n *node) error {
	if n.config.NoProbeAgain {
		return nil
	}
	prober, err := probe.NewProber(nil, n.log)
	if err != nil {
		return fmt.Errorf("start the prober that asks again: %w", err)
	}
	n.onClose(prober.Close)
	o.asks = newAsks(prober.Ask, o.probes.target, n.known, n.submit, o.lanes)
	return nil
}

func (o *outside) connectEffects(ctx context.Context, n *node) error {
	c := n.config
	vols, err := volumes.New(volumes.Config{
		DataDir: c.DataDir, NodeName: c.Name, Client: n.client, Node: o.face.known,
		Event: func(object runtime.Object, kind, reason, message string) {
			o.recorder.Event(object, kind, reason, message)
		},
		Changed: func(uid types.UID) {
			o.lanes.do("changed/"+string(uid), func(context.Context) { o.referenceChanged(uid) })
		},
		Content: func(uid types.UID, change fact.ConfigChanged) {
			o.lanes.do("content/"+string(uid), func(context.Context) {
				if p, ok := n.known.Get(uid); ok {
					n.submit(fact.Fact{Pod: p.Key, Body: change})
				}
			})
		},
		Failed: func(pod *v1.Pod, err error) {
			o.recorder.Event(reference(pod, ""), v1.EventTypeWarning, "FailedMount", err.Error())
		},
		Log: n.log,
	})
	if err != nil {
		return err
	}
	n.onClose(vols.Close)
	imgs, err := images.New(ctx, n.runtime, images.Options{
		DataDir: c.DataDir, Secrets: secrets(vols.SecretGetter()), Recorder: o.recorder, Log: n.log,
	})
	if err != nil {
		return err
	}
	groups, err := cgroup.New(cgroup.Config{Root: c.CgroupRoot, Allocatable: o.face.enforced(), PodPIDs: c.PodPIDs, Log: n.log})
	if err != nil {
		return err
	}
	ways := newHandlers(n.client, n.runtime)
	ids, err := newUsers(ways, vols.PodsDir(), c.MaxPods)
	if err != nil {
		return err
	}
	o.effects = &effects{
		handlers: ways, users: ids,
		ctx: ctx, lanes: o.lanes, runtime: n.runtime, images: imgs, volumes: vols, cgroups: groups, config: c,
		machine: cri.DetectMachine(o.face.memory()),
		dns: cri.DNS{
			Servers: parseIPs(c.ClusterDNS), Domain: c.ClusterDomain, ResolvConf: cri.HostResolvConf(), NodeIPs: parseIPs([]string{c.IP}),
		},
		node: o.face.object, services: o.services.list, others: func(uid types.UID) []*v1.Pod { return holders(n.known, uid) }, release: o.publisher.release, recorder: o.recorder,
		submit: n.submit, log: n.log,
		starting: map[startKey]context.CancelFunc{}, left: map[types.UID][]cri.SandboxView{}, untaken: map[types.UID]bool{},
	}
	o.looks = &looks{known: n.known, submit: n.submit, lastLines: n.lastLines, lanes: o.lanes, cgroups: groups, join: o.processes.join, logs: c.PodLogsDir, seen: map[string]*attention{}, killed: map[runsKey]bool{}}
	d := newDisks(n.runtime, c.PodLogsDir)
	o.house = &housekeeping{
		known: n.known, submit: n.submit, runtime: n.runtime, images: imgs, volumes: vols, cgroups: groups, disks: d, logs: c.PodLogsDir, log: n.log,
	}
	o.pressure = o.newPressure(ctx, n, d, groups)
	o.face.pressures = o.pressure.Conditions
	o.face.look = o.looks.asked
	return o.face.connect(ctx, n, vols, imgs, groups, d)
}

// statusSeen hears which status of a pod the API server has. Others may have
// written into what is the node's to say: while a node is missed, the control
// plane calls its pods unready (kubelet: status/status_manager.go, needsReconcile).
func (o *outside) statusSeen(pod *v1.Pod, first bool) {
	if first {
		o.publisher.seen(pods.KeyOf(pod), pod.Status)
		return
	}
	p, ok := o.node.known.Get(pod.UID)
	if ok && overwritten(p.Status, pod.Status) && o.publisher.news(p.Key, pod.ResourceVersion) {
		o.publisher.again(p.Key, p.Status)
	}
}

// referenceChanged tells a pod that waits that there is news of what it refers to.
// A pod that lacks nothing is not told: its volumes follow by themselves.
func (o *outside) referenceChanged(uid types.UID) {
	p, ok := o.node.known.Get(uid)
	if ok && (p.Sandbox.ID == "" || anyWaiting(p.Status)) {
		o.node.submit(fact.Fact{Pod: p.Key, Body: fact.ReferenceChanged{}})
	}
}

func anyWaiting(s v1.PodStatus) bool {
	for _, set := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range set {
			if set[i].State.Waiting != nil {
				return true
			}
		}
	}
	return false
}

// start runs the sources and everything else that goes on by itself.
func (o *outside) start(spawn func(string, func(context.Context) error)) {
	n := o.node
	quiet := func(f func(context.Context)) func(context.Context) error {
		return func(ctx context.Context) error { f(ctx); return nil }
	}
	rt := &runtimeSource{
		client: n.runtime, submit: n.submit, known: n.known, complete: o.kernel.complete, lastLines: n.lastLines, lost: o.face.runtimeLost,
		lanes: o.lanes, log: n.log,
	}
	spawn("publisher", quiet(o.publisher.run))
	spawn("services", quiet(o.services.run))
	spawn("runtime events", quiet(func(ctx context.Context) { rt.run(ctx, &n.first) }))
	spawn("pods of the API server", func(ctx context.Context) error { return o.watchPods(ctx) })
	if n.config.StaticPodDir != "" {
		spawn("static pods", quiet(o.static.run))
	}
	spawn("node object", o.face.run)
	spawn("node API", o.face.serve)
	spawn("OOM kills", o.kernel.run)
	spawn("processes", quiet(o.processes.run))
	spawn("what the control plane tells", quiet(n.hear))
	spawn("steps of the clock", quiet((&clockSteps{submit: n.submit, apart: clocksApart}).run))
	spawn("samples", quiet(o.looks.run))
	spawn("housekeeping", quiet(o.house.run))
	spawn("beat", quiet(newAlive(n.config.DataDir, n.submit, n.log).run))
	spawn("node pressure", quiet(o.pressure.Run))
}

// staticSettle is how long the directory of static pods may take to be read
// before sandboxes that nobody claims count as left over.
const staticSettle = 30 * time.Second

// watchPods watches the API server's pods. Once its first list is in, pods that
// vanished while no agent looked are ended, and so are sandboxes of no pod.
func (o *outside) watchPods(ctx context.Context) error {
	synced := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-synced:
		}
		for _, p := range o.node.known.All() {
			if p.Source == "api" && !o.api.has(p.Key) {
				o.node.submit(fact.Fact{Pod: p.Key, Body: fact.DeletionSeen{Gone: true}})
			}
		}
		settle := time.NewTimer(staticSettle)
		defer settle.Stop()
		select {
		case <-ctx.Done():
		case <-settle.C:
			o.effects.sweep(ctx, orphans(o.node.known, o.node.first))
		}
	}()
	o.api.run(ctx, synced)
	return nil
}

// mirrored hears of a mirror pod: its static pod's status belongs there.
func (o *outside) mirrored(mirror *v1.Pod, gone bool) {
	pod, ok := o.static.mirrored(mirror, gone)
	if !ok {
		return
	}
	if p, known := o.node.known.Get(pod.UID); known {
		o.publisher.again(pod, p.Status)
	}
}
