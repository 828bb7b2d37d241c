package why

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// worked says whether this probe ever succeeded: in this run, or in an earlier one.
func (p *probing) worked() bool {
	b, _ := p.counted()
	return len(p.ever) > 0 || b.Successes > 0 || p.told() && p.wasReady()
}

// succeededTimes counts attempts, folded ones too.
func succeededTimes(facts []*fact.Fact) int64 {
	var n int64
	for _, f := range facts {
		n += max(1, fact.Of[fact.Probed](f).Count)
	}
	return n
}

// probeSidecarAnswered: the failure was another container's answer.
func probeSidecarAnswered(p *probing) *finding {
	if p.mode != answered {
		return nil
	}
	ev := p.last.Evidence
	proxy, how := p.otherListener()
	if proxy == "" && strings.Contains(strings.ToLower(ev.Header["Server"]), "envoy") {
		proxy, how = "a sidecar (envoy)", "its Server header says so"
	}
	if ev.Header[linkerdSays] != "" {
		proxy, how = "Linkerd's proxy", fmt.Sprintf("its header %s says so: %s", strings.ToLower(linkerdSays), prose.Brief(ev.Header[linkerdSays], 100))
	}
	if p.h.FromAPI && ev.Header == nil {
		return nil // kubelet does not tell who answered
	}
	if proxy == "" || !p.h.isSidecar(strings.TrimPrefix(proxy, "container ")) && p.complainsNow() {
		return nil
	}
	f := p.finds(answer.MeshSidecarAnswered, strong).
		says("The answer %d was not the application's: %s answers on port %d (%s), in place of container %s.", ev.Status, proxy, p.port(), how, p.run.Container).
		fix(p.h.logsFix(p.run))
	if name := strings.TrimPrefix(proxy, "container "); name != proxy { // it is the one that says no
		f.fixes = []answer.Fix{p.h.inspect("read what container "+name+" says", p.h.kubectl("logs %s -c %s --tail=20", p.h.Pod.Name, name))}
	}
	if len(p.of.Ports) > 0 {
		f.first(p.h.inside("ask the application itself", p.run.Container, shell.Linef("wget -S -O- http://127.0.0.1:%d/", p.of.Ports[0].ContainerPort)))
	}
	at, look, ok := p.look()
	if ok && p.appSilent(look) {
		f.cause, f.weight = answer.AppNotListening, certain
		f.notes = []answer.Note{{Cause: answer.MeshSidecarAnswered, Text: fmt.Sprintf("the %d is the answer of %s, which could not reach it", ev.Status, proxy), Facts: idsOf(f.chain)}}
		f.text = fmt.Sprintf("Container %s does not listen on any port that it declares; %s answered its %s probe with %d in its place.", p.run.Container, proxy, kindWord(p.kind), ev.Status)
	}
	if ok {
		f.chain = append(f.chain, link(at))
	}
	return f
}

// otherListener names the other container that serves the probed port, and how
// that is known.
func (p *probing) otherListener() (container, how string) {
	if _, look, ok := p.look(); ok {
		for _, l := range p.here(look) {
			switch owner := p.h.Owner(l.PID); {
			case owner == p.run.Container:
				return "", ""
			case owner != "":
				return "container " + owner, "its process listens there"
			case l.Other:
				return "another container of the pod", "its process " + prose.Brief(l.Command, 20) + " listens there"
			}
		}
	}
	if p.asksAnother() || p.h.Object == nil || p.of.Name == "" || declares(p.of, p.port()) {
		return "", ""
	}
	for i := range p.h.Object.Spec.Containers {
		c := &p.h.Object.Spec.Containers[i]
		if c.Name != p.run.Container && declares(c, p.port()) {
			return "container " + c.Name, "it declares that port"
		}
	}
	return "", ""
}

// appSilent says whether the look shows that the container declares ports, and
// nothing listens on any of them.
func (p *probing) appSilent(look fact.Looked) bool {
	return len(p.of.Ports) > 0 &&
		!slices.ContainsFunc(p.of.Ports, func(c v1.ContainerPort) bool {
			return len(listenersAt(look.Listeners, fmt.Sprint(c.ContainerPort))) > 0
		})
}
