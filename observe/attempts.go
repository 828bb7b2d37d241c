package observe

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/kubelet"
	"whylet.dev/whylet/observe/tap"
	"whylet.dev/whylet/pods"
)

// attempts makes facts of what the tap on kubelet's cgroup shows.
type attempts struct {
	agent *Agent

	mu   sync.Mutex
	on   bool
	aims map[netip.AddrPort][]probed
	last map[probeKey]time.Time // when each probe was last seen to be made
	up   map[probeKey]bool      // startup probes that succeeded
	// unread is when an attempt of a probe was last seen that packets do not explain.
	unread map[probeKey]time.Time
	// news tells that there may be something else to probe.
	news chan struct{}
}

// probeKey is a probe of a run of a container.
type probeKey struct {
	pod       types.UID
	container string
	attempt   int32
	kind      fact.ProbeKind
}

// probed is what an address is probed for.
type probed struct {
	probeKey
	key  fact.Pod
	spec *v1.Probe
}

func newAttempts(a *Agent) *attempts {
	return &attempts{agent: a, aims: map[netip.AddrPort][]probed{}, last: map[probeKey]time.Time{}, up: map[probeKey]bool{}, unread: map[probeKey]time.Time{}, news: make(chan struct{}, 1)}
}

// What there is to probe is looked for when something was heard of a pod, aimApart apart at
// least; what was seen of probes is forgotten after rememberProbes.
const (
	aimApart       = 100 * time.Millisecond
	rememberProbes = time.Hour
)

// heard learns that containers come and go. It does not wait.
func (t *attempts) heard(f fact.Fact) {
	switch f.Body.(type) {
	case fact.SpecSeen, fact.StatusSeen, fact.SetUpDone, fact.Started, fact.Exited, fact.ObjectGone:
		select {
		case t.news <- struct{}{}:
		default:
		}
	}
}

// run taps one kubelet until ctx ends.
func (t *attempts) run(ctx context.Context, p kubelet.Process) {
	dir, err := tap.CgroupOf(p.PID)
	var on *tap.Tap
	if err == nil {
		on, err = tap.Open(dir)
	}
	if err != nil {
		t.agent.o.Log.Info("kubelet's probe attempts are not seen, only what it says of them", "error", err)
		return
	}
	defer on.Close()
	t.agent.o.Log.Info("kubelet's probe attempts are seen", "cgroup", dir)
	var aim sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	aim.Go(func() { t.aim(ctx, on) })
	t.set(true)
	err = on.Run(ctx, t.within, t.tell)
	t.set(false)
	cancel()
	aim.Wait()
	if err != nil {
		t.agent.loop.submit(fact.Fact{Body: fact.Lost{Source: fact.SourceTap, Reason: err.Error(), From: time.Now().UTC()}})
	}
}

func (t *attempts) set(on bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.on = on
}

func (t *attempts) aim(ctx context.Context, on *tap.Tap) {
	for {
		aims := aimsOf(t.agent.loop.pods.All())
		if err := on.Aim(slices.Collect(maps.Keys(aims))); err != nil {
			t.agent.o.Log.Debug("the tap does not take all addresses", "error", err)
		}
		t.take(aims)
		select {
		case <-ctx.Done():
			return
		case <-time.After(aimApart):
		}
		select {
		case <-ctx.Done():
			return
		case <-t.news:
		}
	}
}

// take takes what there is to probe now, and forgets what has not been for a while.
func (t *attempts) take(aims map[netip.AddrPort][]probed) {
	there := map[probeKey]bool{}
	for _, all := range aims {
		for _, one := range all {
			there[one.probeKey] = true
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.aims = aims
	for key, at := range t.last {
		if !there[key] && time.Since(at) > rememberProbes {
			delete(t.last, key)
			delete(t.up, key)
			delete(t.unread, key)
		}
	}
}

// aimsOf are the addresses that kubelet probes, and for whom.
func aimsOf(all []pods.Pod) map[netip.AddrPort][]probed {
	aims := map[netip.AddrPort][]probed{}
	for _, pod := range all {
		if pod.Object == nil {
			continue
		}
		ip := addressOf(pod)
		for name, c := range pod.Containers {
			spec, ok := pod.Spec(name)
			if !ok || !c.Running {
				continue
			}
			for kind, probe := range map[fact.ProbeKind]*v1.Probe{fact.Startup: spec.StartupProbe, fact.Readiness: spec.ReadinessProbe, fact.Liveness: spec.LivenessProbe} {
				if a, ok := addressProbed(probe, spec, ip); ok {
					aims[a] = append(aims[a], probed{probeKey{pod.Key.UID, name, c.Attempt, kind}, pod.Key, probe})
				}
			}
		}
	}
	return aims
}

// addressProbed is where a probe goes; ok is false for one by command, and for names.
func addressProbed(p *v1.Probe, c *v1.Container, ip string) (netip.AddrPort, bool) {
	if p == nil {
		return netip.AddrPort{}, false
	}
	host, port := ip, intstr.IntOrString{}
	switch {
	case p.HTTPGet != nil:
		port = p.HTTPGet.Port
		if p.HTTPGet.Host != "" {
			host = p.HTTPGet.Host
		}
	case p.TCPSocket != nil:
		port = p.TCPSocket.Port
		if p.TCPSocket.Host != "" {
			host = p.TCPSocket.Host
		}
	case p.GRPC != nil:
		port = intstr.FromInt32(p.GRPC.Port)
	}
	number := port.IntVal
	if port.Type == intstr.String {
		for _, named := range c.Ports {
			if named.Name == port.StrVal {
				number = named.ContainerPort
			}
		}
	}
	addr, err := netip.ParseAddr(host)
	return netip.AddrPortFrom(addr, uint16(number)), err == nil && number > 0 && number < 1<<16
}

// within is how long an attempt may take.
func (t *attempts) within(a tap.Attempt) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	longest := time.Second
	for _, p := range t.aims[a.Far] {
		longest = max(longest, time.Duration(p.spec.TimeoutSeconds)*time.Second)
	}
	return longest
}

// tell makes a fact of an attempt.
func (t *attempts) tell(a tap.Attempt) {
	began := time.Now().UTC().Add(a.Began - tap.Now())
	t.mu.Lock()
	p, ok := t.whose(a, began)
	t.mu.Unlock()
	if !ok {
		return
	}
	body, ok := bodyOf(a, p)
	t.mu.Lock()
	t.last[p.probeKey] = began
	if !ok {
		before := t.unread[p.probeKey]
		t.unread[p.probeKey] = began
		t.mu.Unlock()
		if !a.TLS && began.Sub(before) > unreadFor { // what is encrypted is never read
			pod, ok := t.agent.loop.pods.Get(p.pod)
			t.agent.trouble.unread(p.pod, ok && well(pod.Status))
		}
		return
	}
	if p.kind == fact.Startup && body.Verdict == fact.Success {
		t.up[p.probeKey] = true
	}
	t.mu.Unlock()
	t.agent.loop.submit(fact.Fact{At: began, Pod: p.key, Container: p.container, Attempt: p.attempt, Body: body})
}

// whose finds the probe that an attempt belongs to: of several that ask the same the one
// that has been due for longest. The caller holds mu.
func (t *attempts) whose(a tap.Attempt, began time.Time) (best probed, ok bool) {
	overdue := -1.0
	for _, p := range t.aims[a.Far] {
		if !asks(p.spec, a) || !t.active(p) {
			continue
		}
		due := 1e6 // never seen
		if last := t.last[p.probeKey]; !last.IsZero() {
			due = began.Sub(last).Seconds() / float64(max(1, p.spec.PeriodSeconds))
		}
		if due > overdue || due == overdue && p.kind < best.kind {
			best, overdue, ok = p, due, true
		}
	}
	return best, ok
}

// active says whether kubelet makes a probe now: until the startup probe has succeeded
// it makes no other.
func (t *attempts) active(p probed) bool {
	startup := p.probeKey
	startup.kind = fact.Startup
	if pod, ok := t.agent.loop.pods.Get(p.pod); ok {
		if c, ok := pod.Spec(p.container); ok && c.StartupProbe != nil && c.StartupProbe.Exec == nil {
			return (t.up[startup] || started(pod, p)) != (p.kind == fact.Startup)
		}
	}
	return true
}

// started says whether the status has it that the startup probe of a run has succeeded,
// which may have been before anybody looked at packets.
func started(pod pods.Pod, p probed) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c v1.ContainerStatus) bool {
		return c.Name == p.container && c.RestartCount == p.attempt && c.Started != nil && *c.Started
	})
}

// tells says whether the attempts of a probe are seen, so that words about them repeat
// what is known.
func (t *attempts) tells(uid types.UID, container string, kind fact.ProbeKind) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.on {
		return false
	}
	for key, at := range t.last {
		if key.pod == uid && key.container == container && key.kind == kind && time.Since(at) < tellsFor && time.Since(t.unread[key]) > tellsFor {
			return true
		}
	}
	return false
}

// unreadFor is how long nothing new is expected of a probe whose attempts are not read again and again.
const unreadFor = 5 * time.Minute

// tellsFor is how long a probe counts as seen after its last attempt.
const tellsFor = 30 * time.Second
