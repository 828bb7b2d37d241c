package why

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/why/history"
)

// probing is the case of a probe that failed: why?
type probing struct {
	h    *inquiry
	run  *history.Run // as it was when its end was decided
	kind fact.ProbeKind
	spec *v1.Probe     // nil when it is not known
	of   *v1.Container // empty when it is not known
	mesh mesh.Probe    // the probe as a mesh has it, empty outside of one

	// failed are the attempts to explain, oldest first; mode is how most of them
	// failed, and last is the newest of those.
	failed []*fact.Fact
	mode   mode
	last   fact.Probed
	// before are the successes of this run before them, ever those of any run.
	before, ever []*fact.Fact
	from, until  time.Time
	// cameUp says that it was refused before them: from is when it had come up.
	cameUp bool

	// through is where its command was run without the grep that had let nothing through; nil where it was not.
	through *fact.Fact

	heard *hearing[*probing]
}

// newProbing makes the case of the failed attempts that a decision names; of the
// newest ones in a row where it names none that are kept.
func newProbing(h *inquiry, run *history.Run, kind fact.ProbeKind, decisive []fact.ID) *probing {
	run = run.Decided()
	p := &probing{h: h, run: run, kind: kind, of: h.spec(run.Container)}
	p.spec = fact.ProbeOf(p.of, kind)
	for f, b := range each[fact.Probed](run.Probes) {
		if b.Probe == kind && bad(b) && slices.Contains(decisive, f.ID) {
			p.failed = append(p.failed, f)
		}
	}
	if len(p.failed) == 0 {
		p.failed = lastFailures(run, kind)
		p.inOneRow()
	}
	if len(p.failed) > 0 {
		p.from, p.until = p.failed[0].When(), p.failed[len(p.failed)-1].Seen
	}
	for _, f := range h.goodAttempts(run.Container, sameAsked(p.of, kind)) {
		if f.When().After(p.until) {
			continue
		}
		p.ever = append(p.ever, f)
		if f.Attempt == run.Attempt && f.When().Before(p.from) {
			p.before = append(p.before, f)
		}
	}
	if h.Object != nil {
		p.mesh, _ = mesh.Original(h.Object, run.Container, kind)
	}
	p.leaveOutStart()
	p.mode, p.last = p.commonMode()
	p.hearOut()
	p.findOut()
	return p
}

// place returns the index of the case's run among runs, below zero where it is not there.
func (p *probing) place(runs []*history.Run) int {
	return slices.IndexFunc(runs, func(r *history.Run) bool { return r.Attempt == p.run.Attempt })
}

// attempts are those of a container's probes that ask the same.
type attempts struct {
	container string
	probe     fact.ProbeKind // the first of them
}

// sameAsked are the probes of a container that ask what one asks, the one itself among them: what answers
// one of them answers all.
func sameAsked(c *v1.Container, kind fact.ProbeKind) (all []fact.ProbeKind) {
	asked := fact.ProbeOf(c, kind)
	for _, other := range []fact.ProbeKind{fact.Startup, fact.Liveness, fact.Readiness} {
		if p := fact.ProbeOf(c, other); other == kind || asked != nil && p != nil && equality.Semantic.DeepEqual(p.ProbeHandler, asked.ProbeHandler) {
			all = append(all, other)
		}
	}
	return all
}

// goodAttempts are those that succeeded, in all runs: found once, as each end is asked for them.
func (h *inquiry) goodAttempts(container string, kinds []fact.ProbeKind) []*fact.Fact {
	which := attempts{container, kinds[0]}
	all, known := h.good[which]
	if known {
		return all
	}
	for _, r := range h.Runs(container) {
		for _, f := range r.Probes {
			if b, ok := f.Body.(fact.Probed); ok && slices.Contains(kinds, b.Probe) && (b.Verdict == fact.Success || b.Verdict == fact.Warning) {
				all = append(all, f)
			}
		}
	}
	if h.good == nil {
		h.good = map[attempts][]*fact.Fact{}
	}
	h.good[which] = all
	return all
}

// lastFailures are the newest attempts in a row that did not succeed.
func lastFailures(run *history.Run, kind fact.ProbeKind) []*fact.Fact {
	var row []*fact.Fact
	for f, b := range each[fact.Probed](run.Probes) {
		switch {
		case b.Probe != kind:
		case bad(b):
			row = append(row, f)
		default:
			row = nil
		}
	}
	return row[max(0, len(row)-10):]
}

// leaveOutStart leaves out the refusals with which a row of failed readiness probes begins
// where the container has come up since and goes on failing: they were its start.
func (p *probing) leaveOutStart() {
	if p.kind != fact.Readiness || len(p.before) > 0 {
		return
	}
	for i, f := range p.failed {
		if _, m := p.read(fact.Of[fact.Probed](f)); m != refused {
			if m == answered || m == silent || m == broken || m == mismatch || m == notServing {
				p.cameUp = i > 0
				p.failed = p.failed[i:]
				p.from = p.failed[0].When()
			}
			return
		}
	}
}

// port is where the probe goes, 0 when that is not known.
func (p *probing) port() int {
	if p.last.Evidence == nil {
		return 0
	}
	target := cmp.Or(p.last.Evidence.Remote, addressOf(p.last.Evidence.Target))
	if target == "" {
		return p.portOfSpec()
	}
	_, port, _ := splitAddress(target)
	n, _ := strconv.Atoi(port)
	return n
}

// asked is what a probe's spec has it ask: how its manifest calls that, the host where that is another than the pod's,
// and the port; empty for a command, and where no spec is known.
type asked struct {
	as, host string
	port     intstr.IntOrString
}

func askedBy(p *v1.Probe) asked {
	switch {
	case p == nil:
	case p.HTTPGet != nil:
		return asked{"httpGet", p.HTTPGet.Host, p.HTTPGet.Port}
	case p.TCPSocket != nil:
		return asked{"tcpSocket", p.TCPSocket.Host, p.TCPSocket.Port}
	case p.GRPC != nil:
		return asked{"grpc", "", intstr.FromInt32(p.GRPC.Port)}
	}
	return asked{}
}

// portOfSpec is where the probe goes by its spec, for words that do not say it: of an answer
// kubelet tells the status alone. 0 for another host's, and for a name that is not there.
func (p *probing) portOfSpec() int {
	a := askedBy(p.spec)
	if a.as == "" || a.host != "" || p.mesh.Rewritten {
		return 0
	}
	if i := slices.IndexFunc(p.of.Ports, func(port v1.ContainerPort) bool { return port.Name == a.port.StrVal }); i >= 0 && a.port.Type == intstr.String {
		return int(p.of.Ports[i].ContainerPort)
	}
	return a.port.IntValue()
}

// argv is the command of an exec probe; nil of another one.
func (p *probing) argv() []string {
	if p.spec == nil || p.spec.Exec == nil {
		return nil
	}
	return p.spec.Exec.Command
}

// timeout is the probe's own.
func (p *probing) timeout() time.Duration {
	if p.spec == nil || p.spec.TimeoutSeconds == 0 {
		return time.Second
	}
	return time.Duration(p.spec.TimeoutSeconds) * time.Second
}

func (p *probing) period() time.Duration {
	if p.spec == nil || p.spec.PeriodSeconds == 0 {
		return 10 * time.Second
	}
	return time.Duration(p.spec.PeriodSeconds) * time.Second
}

// look is the newest look into the container while the attempts failed, or shortly after,
// and not what was seen once they succeeded again; ok is false without one that succeeded.
func (p *probing) look() (*fact.Fact, fact.Looked, bool) {
	until := p.until.Add(p.period() + p.timeout())
	for _, f := range p.run.Probes {
		if b := fact.Of[fact.Probed](f); b.Probe == p.kind && !bad(b) && f.When().After(p.until) && f.Seen.Before(until) {
			until = f.Seen
			break
		}
	}
	for f, b := range newest[fact.Looked](p.run.Looks) {
		meant := slices.ContainsFunc(p.failed, func(at *fact.Fact) bool { return slices.Contains(f.Because, at.ID) })
		if b.Error == "" && !f.Seen.Before(p.from) && (meant || !f.Seen.After(until)) {
			return f, b, true
		}
	}
	return nil, fact.Looked{}, false
}

// asksAnother reports whether the probe's host field sends it to another host than the pod, of whose sockets nobody here
// knows.
func (p *probing) asksAnother() bool {
	host := askedBy(p.spec).host
	return host != "" && !(loopback(host) && p.h.Object != nil && p.h.Object.Spec.HostNetwork)
}

// here are the listeners of a look at the probed port, elsewhere the others; none where another host is asked.
func (p *probing) here(look fact.Looked) []fact.Listener      { return p.listeners(look, true) }
func (p *probing) elsewhere(look fact.Looked) []fact.Listener { return p.listeners(look, false) }

func (p *probing) listeners(look fact.Looked, here bool) (all []fact.Listener) {
	for _, l := range look.Listeners {
		host, port, ok := splitAddress(l.Address)
		if ok && !p.asksAnother() && here == (port == strconv.Itoa(p.port()) && !loopback(host) && !p.otherFamily(l)) {
			all = append(all, l)
		}
	}
	return all
}

// otherFamily says whether a listener takes connections over IPv6 only, and the probe
// asks over IPv4.
func (p *probing) otherFamily(l fact.Listener) bool {
	if p.last.Evidence == nil {
		return false
	}
	host, _, _ := splitAddress(cmp.Or(p.last.Evidence.Remote, addressOf(p.last.Evidence.Target)))
	return l.V6Only && !strings.Contains(host, ":")
}

// splitAddress takes host:port apart as package net would, which a pure room does
// without.
func splitAddress(address string) (host, port string, ok bool) {
	i := strings.LastIndexByte(address, ':')
	if i < 0 || i == len(address)-1 {
		return "", "", false
	}
	return strings.Trim(address[:i], "[]"), address[i+1:], true
}

func listenersAt(listeners []fact.Listener, port string) (all []fact.Listener) {
	for _, l := range listeners {
		if _, on, ok := splitAddress(l.Address); ok && on == port {
			all = append(all, l)
		}
	}
	return all
}

func loopback(host string) bool {
	return host == "localhost" || strings.HasPrefix(host, "127.") || host == "::1" || strings.HasPrefix(host, "::ffff:127.")
}

// bad says whether an attempt counts against the container, or could not be made.
func bad(b fact.Probed) bool { return b.Verdict == fact.Failure || b.Verdict == fact.Unknown }
