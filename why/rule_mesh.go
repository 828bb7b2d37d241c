package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// noSidecar is how an attempt failed that was to go through a mesh's sidecar and
// got no answer from it.
const noSidecar mode = "no sidecar"

// read gives an attempt as the rules should see it. One that went through a
// sidecar is told as if the application had been asked itself: at its own port,
// with what the sidecar reports of it.
func (p *probing) read(b fact.Probed) (fact.Probed, mode) {
	if ev := b.Evidence; p.mesh.Mesh == mesh.Linkerd && b.By == fact.BySay && ev != nil && ev.Status >= 502 && ev.Status <= 504 && ev.Header == nil {
		return b, unclear // it may be the proxy's own, which got none: without its header only that knows
	}
	if !p.mesh.Rewritten || b.Evidence == nil || b.Evidence.Handler == fact.Exec {
		return b, modeOf(b)
	}
	if b.Evidence.Status == 0 && !b.Evidence.Timeout {
		return b, noSidecar
	}
	if b.Evidence.Status == 0 && p.sidecarStopped() {
		return b, noSidecar
	}
	b = told(b, p.mesh.Original)
	if p.mesh.Mesh == mesh.Istio && unmarked(b.Evidence) {
		if !p.nobodyBehind() {
			return b, unclear
		}
		b.Evidence.Status, b.Evidence.Errno = 0, "ECONNREFUSED" // told has made it a copy
	}
	return b, modeOf(b)
}

// linkerdSays is the header of an answer of Linkerd's proxy itself.
const linkerdSays = "L5d-Proxy-Error"

// nobodyBehind says whether a look shows that nobody listens on the port that the probe was
// made for.
func (p *probing) nobodyBehind() bool {
	o := p.mesh.Original
	_, look, ok := p.look()
	if !ok || o == nil || o.HTTPGet == nil || o.HTTPGet.Port.IntVal == 0 {
		return false
	}
	return len(listenersAt(look.Listeners, o.HTTPGet.Port.String())) == 0
}

// unmarked says whether an answer may be that of Istio's agent itself: it says 500 and nothing
// else where the application did not answer it, and hands on status and body of the application
// otherwise, to which the type of what it says is added (istio, pilot/cmd/pilot-agent/status,
// handleAppProbeHTTPGet).
func unmarked(ev *fact.Evidence) bool {
	return ev.Status == 500 && ev.Output == "" && ev.Header["Server"] == "" && ev.Header["Content-Type"] == ""
}

// told moves an attempt's evidence from the sidecar's port to the one of the
// original probe, and takes the sidecar's report of the application for what was seen.
func told(b fact.Probed, original *v1.Probe) fact.Probed {
	ev := *b.Evidence
	b.Evidence = &ev
	if original != nil {
		move(&ev, original)
	}
	by := ev.Header[mesh.AnsweredBy]
	if original != nil && original.GRPC != nil && by == mesh.Application {
		b.Message, ev.Error, ev.Status = ev.Output, ev.Output, 0
		return b
	}
	if original != nil && original.TCPSocket != nil && ev.Status == 404 {
		by = mesh.Sidecar // osm-edge's health-check server leaves no mark
	}
	if by != mesh.Sidecar {
		return b
	}
	seen := ev
	seen.Status, seen.Error = 0, ev.Output
	switch report := ev.Output; {
	case knowledge.ConnectionRefused.In(report):
		seen.Errno = "ECONNREFUSED"
	case knowledge.ConnectionReset.In(report):
		seen.Errno = "ECONNRESET"
	case knowledge.NoRoute.In(report):
		seen.Errno = "EHOSTUNREACH"
	case ev.Status == 504:
		seen.Timeout = true
	case knowledge.OtherProtocol.In(report), words.BrokeOff(report):
	case original != nil && original.TCPSocket != nil && ev.Status == 404:
		seen.Errno = "ECONNREFUSED" // all that a bare 404 of the health-check server says
	default:
		return b // it speaks of itself
	}
	*b.Evidence = seen
	return b
}

// move puts the original probe's address into the evidence.
func move(ev *fact.Evidence, original *v1.Probe) {
	a := askedBy(original)
	if a.as == "" {
		return
	}
	host, _, _ := splitAddress(cmp.Or(ev.Remote, addressOf(ev.Target)))
	ev.Remote = prose.Whether(strings.Contains(host, ":"), "["+host+"]:", host+":") + a.port.String()
	ev.Target = ev.Remote
	switch get := original.HTTPGet; {
	case get != nil:
		ev.Target = strings.ToLower(string(cmp.Or(get.Scheme, v1.URISchemeHTTP))) + "://" + ev.Remote + "/" + strings.TrimPrefix(get.Path, "/")
	case original.TCPSocket != nil:
		ev.Handler = fact.TCPSocket
	default:
		ev.Handler = fact.GRPC
	}
}

// addressOf is the host and port of a URL or an address.
func addressOf(target string) string {
	if _, rest, ok := strings.Cut(target, "://"); ok {
		target = rest
	}
	target, _, _ = strings.Cut(target, "/")
	return target
}

// sidecarStopped says whether a look shows that what holds the probed port, the
// sidecar's, is stopped.
func (p *probing) sidecarStopped() bool {
	if p.mesh.Current == nil || p.mesh.Current.HTTPGet == nil {
		return false
	}
	_, look, _ := p.look()
	return slices.ContainsFunc(listenersAt(look.Listeners, p.mesh.Current.HTTPGet.Port.String()), func(l fact.Listener) bool { return stopped(l.State) })
}

// probeNotRewritten: the probe goes to the application's port in a pod whose sidecar
// demands mutual TLS.
func probeNotRewritten(p *probing) *finding {
	in := p.mesh.Mesh
	if in == mesh.None || in == mesh.Linkerd || p.mesh.Rewritten || p.worked() || in == mesh.Whylet && !mesh.HasRedirect(p.h.Object) {
		return nil
	}
	if mesh.PastSidecar(p.mesh.Current) || p.mode != broken && p.mode != mismatch && p.mode != unclear && p.mode != notServing && p.mode != silent {
		return nil
	}
	return p.finds(answer.MeshNotRewritten, certain).
		says("The probe of container %s (%s) is not rewritten: it goes through the sidecar %s, which demands mutual TLS, and the node has no identity in the mesh.",
			p.run.Container, p.mesh, mesh.SidecarOf(in)).
		fix(p.h.meshCheck(), answer.Fix{Text: "create the pod again while the mesh's webhook runs, and without an annotation that turns rewriting off", Risk: answer.Restarts})
}

func (h *inquiry) meshCheck() answer.Fix {
	return h.inspect("go through the checks of the mesh", string(shell.Linef("whylet mesh check pod/%s -n %s", h.Pod.Name, h.Pod.Namespace)))
}

// probeNoSidecar: the sidecar through which the probe goes gives no answer.
func probeNoSidecar(p *probing) *finding {
	name := mesh.SidecarOf(p.mesh.Mesh)
	if get := p.mesh.Current.HTTPGet; get != nil && get.Port.IntVal == mesh.HealthcheckPort && p.h.Spec(mesh.HealthcheckName) != nil {
		name = mesh.HealthcheckName
	}
	f := p.finds(answer.MeshSidecarNotReady, strong)
	state, facts := p.h.stateOf(name, p)
	if len(facts) > 0 {
		f.weight = certain
	}
	if p.sidecarStopped() {
		at, _, _ := p.look()
		f.weight, state, facts = certain, "is stopped: it is alive and never runs", []*fact.Fact{at}
	}
	f.chain = p.chain(facts...)
	f.text = fmt.Sprintf("The probe of container %s (%s) got no answer because the sidecar %s %s; the application was not asked.",
		p.run.Container, p.mesh, name, cmp.Or(state, "does not answer on its port"))
	ended := len(facts) > 0 && facts[0].Body.Kind() == (fact.Exited{}).Kind()
	f.fixes = []answer.Fix{
		p.h.inspect("see what the sidecar says", p.h.kubectl("logs %s -c %s%s", p.h.Pod.Name, name, prose.Whether(ended, " --previous", shell.Line("")))),
		p.h.meshCheck(),
	}
	return f
}

// stateOf words how a container was while the attempts failed, where that
// explains why it did not answer.
func (h *inquiry) stateOf(name string, p *probing) (string, []*fact.Fact) {
	last := h.Last(name)
	ended := func(how string, f *fact.Fact) (string, []*fact.Fact) {
		text, _ := describe(f.Body)
		return how + text, []*fact.Fact{f}
	}
	for _, r := range h.Runs(name) {
		if r.Exit != nil && !r.Exit.When().After(p.until) && !r.Exit.When().Before(p.from.Add(-p.period()-p.timeout())) {
			return ended("did not run: ", r.Exit)
		}
	}
	switch {
	case last == nil && h.Object != nil && h.Spec(name) == nil:
		return "is not in the pod", nil
	case last == nil:
		return "has never been started", nil
	case last.Exit != nil:
		return ended("did not run: ", last.Exit)
	case last.Failed != nil:
		return ended("did not start: ", last.Failed)
	case last.Started == nil:
		return "was not started yet", nil
	case last.Started.When().After(p.from):
		return "had not been started yet", []*fact.Fact{last.Started}
	}
	return "", nil
}

// probeSidecarSaid: the sidecar answered of itself.
func probeSidecarSaid(p *probing) *finding {
	if p.mode != answered || p.last.Evidence.Header[mesh.AnsweredBy] != mesh.Sidecar {
		return nil
	}
	ev := p.last.Evidence
	return p.finds(answer.MeshSidecarAnswered, certain).recorded().fix(p.h.meshCheck()).
		says("The answer %d was not the application's: the sidecar %s answered the probe of container %s (%s) itself%s.",
			ev.Status, mesh.SidecarOf(p.mesh.Mesh), p.run.Container, p.mesh, saying(ev.Output))
}

// sidecarReport is what the newest attempt's answer says of itself, where it is
// the sidecar's report of an application that gave none.
func (p *probing) sidecarReport() (answer.Note, bool) {
	for i := len(p.failed) - 1; i >= 0; i-- {
		ev := fact.Of[fact.Probed](p.failed[i]).Evidence
		if ev == nil || ev.Header[mesh.AnsweredBy] != mesh.Sidecar || p.mode == answered {
			continue
		}
		return answer.Note{
			Cause: answer.MeshSidecarAnswered, Facts: []fact.ID{p.failed[i].ID},
			Text: fmt.Sprintf("the %d was the answer of the sidecar %s, which got none from the application%s", ev.Status, mesh.SidecarOf(p.mesh.Mesh), saying(ev.Output)),
		}, true
	}
	return answer.Note{}, false
}

// isSidecar says whether a container of the pod is its mesh's sidecar.
func (h *inquiry) isSidecar(name string) bool {
	return h.Object != nil && name != "" && name == mesh.SidecarOf(mesh.Of(h.Object))
}
