package why

import (
	"slices"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/words"
)

// programs are by which names the processes of servers run that sign their pages.
var programs = map[string][]string{"nginx": {"nginx", "openresty"}, "openresty": {"nginx", "openresty"}, "apache": {"apache", "httpd"}}

// relayed is the server whose page of an error the attempts were answered with, where that is
// none of the pod's: by the Server header, or by who listens on the port. Empty where it may be
// the pod's own.
func (p *probing) relayed() string {
	ev := p.last.Evidence
	if p.mode != answered || ev == nil || p.mesh.Mesh != "" {
		return ""
	}
	by := words.SignedBy(ev.Output)
	if by == "" {
		return ""
	}
	signer, _, _ := strings.Cut(strings.ToLower(by), "/")
	runs := func(l fact.Listener) bool {
		return slices.ContainsFunc(programs[signer], func(name string) bool { return strings.Contains(strings.ToLower(l.Command), name) })
	}
	_, look, seen := p.look()
	if seen && slices.ContainsFunc(look.Listeners, runs) {
		return ""
	}
	if server := ev.Header["Server"]; server != "" && !strings.HasPrefix(strings.ToLower(server), signer) {
		return by
	}
	here, _ := p.listeners(look)
	if seen && programs[signer] != nil && len(here) > 0 && !slices.ContainsFunc(here, func(l fact.Listener) bool { return l.Command == "" }) {
		return by
	}
	return ""
}

// answeredOtherwise says whether the run's port has answered in this way of asking, and not
// that another is wanted.
func (p *probing) answeredOtherwise() bool {
	return slices.ContainsFunc(p.run.Probes, func(f *fact.Fact) bool {
		b := fact.Of[fact.Probed](f)
		return b.Probe == p.kind && b.Evidence != nil && b.Evidence.Status != 0 && !(b.Evidence.Status == 400 && words.WantsHTTPS.In(b.Evidence.Output))
	})
}
