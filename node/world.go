package node

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	kubeletpod "k8s.io/kubernetes/pkg/kubelet/pod"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/lanes"
	"whylet.dev/whylet/node/cgroup"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/effect"
	"whylet.dev/whylet/node/images"
	"whylet.dev/whylet/node/pressure"
	"whylet.dev/whylet/node/report"
	"whylet.dev/whylet/node/static"
	"whylet.dev/whylet/node/volumes"
	"whylet.dev/whylet/pods"
	"whylet.dev/whylet/probe"
	"whylet.dev/whylet/sense"
)

// outside is the world as the loop sees it: everything that happens because of
// a turn, and nothing that waits.
type outside struct {
	node *node
	log  *slog.Logger

	api     *sense.APIPods
	effects *effect.Effects
	volumes *volumes.Manager
	// news takes what the volumes tell of each pod.
	news      *lanes.Lanes[types.UID]
	publisher *report.Publisher
	probes    *probes
	static    *static.Pods
	recorder  record.EventRecorderLogger
	events    *report.Events
	services  *services
	house     *housekeeping
	face      *face
	exits     *sense.Exits
	processes *sense.Processes
	metrics   *report.Metrics
	probed    *report.ProbeMetrics
	inspector *sense.Inspector
	reprobe   *sense.Reprobe // nil: it is not wanted
	hearers   []interface{ Hear(fact.Fact) }
	pressure  *pressure.Manager
}

func (o *outside) act(p pods.Pod, d fact.Fact)             { o.effects.Act(p, d) }
func (o *outside) publish(p fact.Pod, s v1.PodStatus)      { o.publisher.Publish(p, s) }
func (o *outside) probe(p pods.Pod, wanted []health.Probe) { o.probes.want(p, wanted) }

// record lets all hear of a fact that do something with it.
func (o *outside) record(f fact.Fact) {
	for _, h := range o.hearers {
		h.Hear(f)
	}
}

func (o *outside) announce(pod *v1.Pod, f fact.Fact) { o.events.Announce(pod, f) }

// changed lets what is written into running pods follow their labels.
func (o *outside) changed(p pods.Pod) {
	if p.Sandbox.ID != "" {
		o.volumes.Update(p.Object)
	}
}

// gone forgets a pod of which nothing is left.
func (o *outside) gone(p pods.Pod) {
	o.publisher.Forget(p.Key)
	o.metrics.Forget(p.Key)
	o.probed.Forget(p.Key)
	if p.Source == "file" {
		go o.static.Gone(p.Key)
	}
}

// seen is what is known of the node.
func (o *outside) seen() health.Node {
	return health.Node{Object: o.face.object(), Conditions: o.pressure.Conditions(), HostIP: o.node.config.IP}
}

// connect makes every part of the world.
func (o *outside) connect(ctx context.Context, n *node) error {
	o.node, o.log = n, n.log
	o.recorder = n.recorder(context.WithoutCancel(ctx))
	o.events = report.NewEvents(o.recorder)
	o.services = newServices(n.client)
	o.api = sense.NewAPIPods(n.client.CoreV1().RESTClient(), n.config.Name)
	o.api.Mirror, o.api.StatusSeen = o.mirrored, o.statusSeen
	var err error
	if o.face, err = newFace(n); err != nil {
		return err
	}
	o.processes = sense.OpenProcesses(n.log)
	n.onClose(o.processes.Close)
	o.exits = sense.NewExits(o.processes)
	mirror := kubeletpod.NewBasicMirrorClient(n.client, n.config.Name, o.face)
	o.static = static.New(n.config.StaticPodDir, n.config.Name, mirror, o.recorder, n.log)
	o.publisher = report.NewPublisher(n.client, o.static.UID, n.log)
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
	return o.connectReprobe(n)
}

// connectReprobe makes what asks again after a timeout, unless that is not wanted.
func (o *outside) connectReprobe(n *node) error {
	if n.config.NoProbeAgain {
		return nil
	}
	prober, err := probe.NewProber(nil, n.log)
	if err != nil {
		return fmt.Errorf("start the prober that asks again: %w", err)
	}
	n.onClose(prober.Close)
	o.reprobe = &sense.Reprobe{Ask: prober.Ask, Target: o.probes.target}
	return nil
}

func (o *outside) connectEffects(ctx context.Context, n *node) error {
	c := n.config
	o.news = lanes.New[types.UID](ctx)
	vols, err := volumes.New(volumes.Config{
		DataDir: c.DataDir, NodeName: c.Name, Client: n.client, Node: o.face.known,
		Event: func(object runtime.Object, kind, reason, message string) {
			o.recorder.Event(object, kind, reason, message)
		},
		Changed: func(uid types.UID) {
			o.news.Do(uid, func(context.Context) { o.referenceChanged(uid) })
		},
		Content: func(uid types.UID, change fact.ConfigChanged) {
			o.news.Do(uid, func(context.Context) {
				if p, ok := n.known.Get(uid); ok {
					n.submit(fact.Fact{Pod: p.Key, Body: change})
				}
			})
		},
		Failed: func(pod *v1.Pod, err error) {
			o.recorder.Event(report.Reference(pod, ""), v1.EventTypeWarning, "FailedMount", err.Error())
		},
		Log: n.log,
	})
	if err != nil {
		return err
	}
	o.volumes = vols
	n.onClose(vols.Close)
	imgs, err := images.New(ctx, n.runtime, images.Options{
		DataDir: c.DataDir, Secrets: effect.Secrets(vols.SecretGetter()), Recorder: o.recorder, Log: n.log,
	})
	if err != nil {
		return err
	}
	groups, err := cgroup.New(cgroup.Config{Root: c.CgroupRoot, Allocatable: o.face.enforced(), PodPIDs: c.PodPIDs, Log: n.log})
	if err != nil {
		return err
	}
	o.effects, err = effect.New(ctx, effect.Config{
		Client: n.client, Runtime: n.runtime, Images: imgs, Volumes: vols, Cgroups: groups, Machine: cri.DetectMachine(o.face.memory()),
		DNS: cri.DNS{
			Servers: parseIPs(c.ClusterDNS), Domain: c.ClusterDomain, ResolvConf: cri.HostResolvConf(), NodeIPs: parseIPs([]string{c.IP}),
		},
		IP: c.IP, ClusterDomain: c.ClusterDomain, MaxPods: c.MaxPods, DataDir: c.DataDir, PodLogsDir: c.PodLogsDir, SandboxSeccomp: c.SandboxSeccomp,
		Node: o.face.object, Services: o.services.list, Release: o.publisher.Release, Recorder: o.recorder, Submit: n.submit, Log: n.log,
	})
	if err != nil {
		return err
	}
	o.inspector = sense.NewInspector(groups, o.processes.Join, n.lastLines, c.PodLogsDir)
	o.hearers = append(o.hearers, o.processes, o.inspector)
	if o.reprobe != nil {
		o.hearers = append(o.hearers, o.reprobe)
	}
	d := newDisks(n.runtime, c.PodLogsDir)
	o.house = &housekeeping{
		known: n.known, submit: n.submit, runtime: n.runtime, images: imgs, volumes: vols, cgroups: groups, disks: d, logs: c.PodLogsDir, log: n.log,
	}
	o.pressure = o.newPressure(ctx, n, d, groups)
	o.face.pressures = o.pressure.Conditions
	o.face.look = o.inspector.Listening
	if err := o.face.connect(ctx, n, vols, imgs, groups, d); err != nil {
		return err
	}
	o.hearers = append(o.hearers, o.metrics, o.probed)
	return nil
}

// statusSeen hears which status of a pod the API server has.
func (o *outside) statusSeen(pod *v1.Pod, first bool) {
	if first {
		o.publisher.Seen(pods.KeyOf(pod), pod.Status)
		return
	}
	p, ok := o.node.known.Get(pod.UID)
	if ok && o.publisher.Overwritten(p.Key, p.Status, pod) {
		o.publisher.Again(p.Key, p.Status)
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
	observe := func(name string, source sense.Source) {
		spawn(name, func(ctx context.Context) error { return source.Run(ctx, n.known, n.submit) })
	}
	spawn("publisher", quiet(o.publisher.Run))
	spawn("services", quiet(o.services.run))
	observe("runtime events", &sense.Runtime{
		Client: n.runtime, Since: &n.first, Complete: o.exits.Complete, LastLines: n.lastLines, Lost: o.face.runtimeLost, Log: n.log,
	})
	observe("pods of the API server", o.api)
	spawn("sandboxes of no pod", quiet(o.sweep))
	if n.config.StaticPodDir != "" {
		observe("static pods", o.static)
	}
	spawn("node object", o.face.run)
	spawn("node API", o.face.serve)
	observe("OOM kills", &sense.Kernel{Exits: o.exits, Past: n.past, Boot: n.clock.boot, Log: n.log})
	observe("processes", o.processes)
	observe("what the control plane tells", sense.Audit(n.config.AuditEvents))
	observe("the API server's silence", n.contact)
	observe("steps of the clock", sense.NewClockSteps())
	observe("looks and samples", o.inspector)
	if o.reprobe != nil {
		observe("patient requests", o.reprobe)
	}
	spawn("housekeeping", quiet(o.house.run))
	observe("beat", sense.NewAlive(n.config.DataDir, n.log))
	spawn("node pressure", quiet(o.pressure.Run))
}

// staticSettle is how long the directory of static pods may take to be read
// before sandboxes that nobody claims count as left over.
const staticSettle = 30 * time.Second

// sweep takes away sandboxes of no pod, once it is known which pods there are.
func (o *outside) sweep(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-o.api.Synced():
	}
	settle := time.NewTimer(staticSettle)
	defer settle.Stop()
	select {
	case <-ctx.Done():
		return
	case <-settle.C:
	}
	o.effects.Sweep(ctx, orphans(o.node.known, o.node.first))
}

// mirrored hears of a mirror pod: its static pod's status belongs there.
func (o *outside) mirrored(mirror *v1.Pod, gone bool) {
	pod, ok := o.static.Mirrored(mirror, gone)
	if !ok {
		return
	}
	if p, known := o.node.known.Get(pod.UID); known {
		o.publisher.Again(pod, p.Status)
	}
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
