package why

import (
	"fmt"
	"slices"
	"strings"

	"whylet.dev/whylet/fact"
)

// probeTogetherRules are about several pods that fail at once.
var probeTogetherRules = []rule[*probing]{
	{
		name: "probe-dependency", causes: []Cause{DependencyDown},
		needs:   "pods with the same probe that had been well and began to fail within a period, in the same way",
		against: "",
		judge:   probeDependency,
	},
}

// together is how close the first failures of several pods lie when one thing
// made them fail.
const together = 1 // periods

// probeDependency: the probe tests something else, which is down: pods that have
// the same probe and had been well began to fail at the same time and in the same way.
func probeDependency(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || len(p.before) == 0 || p.mode != answered && p.mode != exitCode && p.mode != commandLate {
		return nil
	}
	pods := map[fact.Pod]*fact.Fact{}
	for i := range p.h.Neighbours {
		f := &p.h.Neighbours[i]
		b := of[fact.Probed](f)
		if !bad(b) || b.Evidence == nil || modeOf(b) != p.mode || b.Evidence.Status != ev.Status || pathOf(b.Evidence.Target) != pathOf(ev.Target) || b.Evidence.Output != ev.Output {
			continue
		}
		if f.When().Sub(p.from).Abs() > together*p.period() {
			continue
		}
		pods[f.Pod] = f
	}
	if len(pods) == 0 {
		return nil
	}
	f := &finding{cause: DependencyDown, weight: fair, chain: p.chain()}
	var names []string
	for pod := range pods {
		names = append(names, pod.String())
	}
	slices.Sort(names)
	if len(pods) > 1 {
		f.weight = strong
	}
	f.text = fmt.Sprintf("What %s depends on is down: %s began to fail in the same way at the same time (%s).", p.what(), plural(len(pods), "other pod"), brief(strings.Join(names, ", "), 120))
	f.fixes = []Fix{p.h.specFix("probe only the container itself, so that an outage elsewhere does not restart or remove it"), p.h.inspect("see what the pods have in common", "kubectl get pods -A -o wide")}
	return f
}

// pathOf is a probe's target without the address of its pod.
func pathOf(target string) string {
	if _, rest, ok := strings.Cut(target, "://"); ok {
		_, path, _ := strings.Cut(rest, "/")
		return "/" + path
	}
	return target
}
