package why

import (
	"strings"

	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// probeRedirected: the application wants HTTPS, and says where. Kubelet follows a
// redirect on the probe's own host (pkg/probe/http/http.go), to whatever port it names.
func probeRedirected(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || p.worked() || p.mode == answered || !strings.HasPrefix(ev.Target, "http://") || !strings.HasPrefix(ev.Redirected, "https://") {
		return nil
	}
	return p.finds(answer.ProbeWrongScheme, certain).
		says("The application answers %s with a redirect to HTTPS, which the node follows, and there it fails: %s.", p.what(), strings.TrimSuffix(p.how(), ".")).
		fix(p.h.specFix("have the probe ask by HTTPS, on the port where the application speaks it, or for a path that is not redirected"), p.h.inside("see the redirect", p.run.Container, shell.Linef("wget -S -O- %s", prose.Brief(ev.Target, 80))))
}
