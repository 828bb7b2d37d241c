package why

import (
	"slices"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
)

// programs are by which names the processes of servers run that sign their pages.
var programs = map[string][]string{"nginx": {"nginx", "openresty"}, "openresty": {"nginx", "openresty"}, "apache": {"apache", "httpd"}}

// signed is the server that signs the page of an error with which the attempts were answered,
// and whether the answer's Server header names another.
func (p *probing) signed() (by, signer string, other bool) {
	ev := p.last.Evidence
	if p.mode != answered || ev == nil {
		return "", "", false
	}
	by = logline.SignedBy(ev.Output)
	signer, _, _ = strings.Cut(strings.ToLower(by), "/")
	server := strings.ToLower(ev.Header["Server"])
	return by, signer, by != "" && server != "" && !strings.HasPrefix(server, signer)
}

// relayed is the server that signs such a page, where it is none of the pod's: by the Server
// header or by who listens on the port. Empty where it may be the pod's own.
func (p *probing) relayed() string {
	by, signer, other := p.signed()
	if by == "" || p.mesh.Mesh != "" {
		return ""
	}
	runs := func(l fact.Listener) bool {
		return slices.ContainsFunc(programs[signer], func(name string) bool { return strings.Contains(strings.ToLower(l.Command), name) })
	}
	_, look, seen := p.look()
	if !seen || slices.ContainsFunc(look.Listeners, runs) {
		return ""
	}
	here := p.here(look)
	if other || programs[signer] != nil && len(here) > 0 && !slices.ContainsFunc(here, func(l fact.Listener) bool { return l.Command == "" }) {
		return by
	}
	return ""
}

// asksTLS says whether the answer is that HTTPS is wanted, and nothing shows that it may be
// another's: another answer in this run, or a page that another server signs.
func (p *probing) asksTLS() bool {
	_, _, other := p.signed()
	return p.last.Evidence.Status == 400 && knowledge.WantsHTTPS.In(p.last.Evidence.Output) && !other && p.relayed() == "" && !p.answeredOtherwise()
}

// answeredOtherwise says whether the run's port has answered in this way of asking, and not
// that another is wanted.
func (p *probing) answeredOtherwise() bool {
	return slices.ContainsFunc(p.run.Probes, func(f *fact.Fact) bool {
		b := fact.Of[fact.Probed](f)
		return b.Probe == p.kind && b.Evidence != nil && b.Evidence.Status != 0 && !(b.Evidence.Status == 400 && knowledge.WantsHTTPS.In(b.Evidence.Output))
	})
}
