package why

import (
	"fmt"
	"time"

	"whylet.dev/whylet/fact"
)

// probeStartRules are about containers that were not up yet.
var probeStartRules = []rule[*probing]{
	{
		name: "probe-slow-start", causes: []Cause{AppSlowStart},
		needs:   "no success in this run, and a longer start of another run, or CPU use of at least half a CPU while it was asked",
		against: "a success before",
		judge:   probeSlowStart,
	},
}

// probeSlowStart: killed before it ever was healthy, and still starting. Needs:
// no success in this run, while an earlier run did become healthy later than
// this one was given, or it was busy while it was asked.
func probeSlowStart(p *probing) *finding {
	if p.kind == fact.Readiness || len(p.before) > 0 || p.run.Started == nil || len(p.failed) == 0 || p.mode != refused && p.mode != silent && p.mode != exitCode && p.mode != answered {
		return nil
	}
	given := p.until.Sub(p.run.Started.When())
	f := &finding{
		cause: AppSlowStart, weight: weak, chain: append(links(p.run.Started), p.chain()...),
		text: fmt.Sprintf("Container %s was still starting: it was ended %s after its start, before %s had succeeded once.", p.run.Container, span(given), p.what()),
		fixes: []Fix{
			p.h.specFix(fmt.Sprintf("add a startupProbe that allows more than %s, or a larger initialDelaySeconds", span(given))),
			p.h.inspect("see how far it came", p.h.kubectl("logs %s -c %s -p", p.h.Pod.Name, p.run.Container)),
		},
	}
	if took := p.h.timeToHealth(p.run.Container, p.kind); took > given {
		f.weight = strong
		f.text += fmt.Sprintf(" Another run needed %s.", span(took))
	}
	if at, look, ok := p.look(); ok && share(look) >= busyShare {
		f.weight = strong
		f.chain = append(f.chain, link(at))
		f.text += fmt.Sprintf(" It was at work: %s CPU in %s.", span(look.CPUUsed), span(look.Over))
	}
	if p.kind == fact.Startup && p.mode == refused && f.weight == weak {
		f.weight = fair
	}
	return f
}

// timeToHealth is the longest time that a run took from its start to the first
// success of a probe; 0 when none did.
func (h *History) timeToHealth(container string, kind fact.ProbeKind) time.Duration {
	var longest time.Duration
	for _, r := range h.Runs(container) {
		if r.Started == nil {
			continue
		}
		failedFirst := false
		for _, f := range r.Probes {
			b := of[fact.Probed](f)
			if b.Probe != kind {
				continue
			}
			if bad(b) {
				failedFirst = true
				continue
			}
			if failedFirst {
				longest = max(longest, f.When().Sub(r.Started.When()))
			}
			break
		}
	}
	return longest
}
