package why

import (
	"fmt"
	"strings"

	"whylet.dev/whylet/why/answer"
)

// probeOtherHost: the probe's host field sends it away from the pod, so what fails
// is not the container's doing (kubelet, prober.go: the host is the pod's IP only
// where the field is empty).
func probeOtherHost(p *probing) *finding {
	host := askedBy(p.spec).host
	own := loopback(host)
	if !p.asksAnother() {
		return nil
	}
	f := p.finds(answer.DependencyDown, certain).
		says("The %s probe does not ask container %s: its host is %s, and what fails is there: %s.", kindWord(p.kind), p.run.Container, host, strings.TrimSuffix(p.how(), ".")).
		fix(p.h.specFix("leave the probe's host out, so that the pod itself is asked"))
	if own && !p.worked() {
		f.cause = answer.ProbeWrongPort
		f.text = fmt.Sprintf("The %s probe does not ask container %s: its host is %s, which is the node's own and not the pod's: %s.", kindWord(p.kind), p.run.Container, host, strings.TrimSuffix(p.how(), "."))
	}
	return f
}
