package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// together is how close the first failures of several pods lie when one thing
// made them fail.
const together = 1 // periods

// sameAge is how close the starts of pods lie that count as started together.
const sameAge = 15 * time.Second

// probeDependency: the probe tests something else, which is down: pods that have
// the same probe and had been well began to fail at the same time and in the same way.
func probeDependency(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || len(p.before) == 0 && !p.halfSeen() || p.mode != answered && p.mode != exitCode && p.mode != commandLate {
		return nil
	}
	first := p.h.neighboursFailures()
	var names []string
	independent := 0
	for f, b := range every[fact.Probed](p.h.Neighbours) {
		if first[f.Pod] != f || b.Evidence == nil || modeOf(b) != p.mode || b.Evidence.Status != ev.Status || pathOf(b.Evidence.Target) != pathOf(ev.Target) || b.Evidence.Output != ev.Output {
			continue
		}
		if f.When().Sub(p.from).Abs() > together*p.period() {
			continue
		}
		names = append(names, f.Pod.String())
		if p.otherAge(f) {
			independent++
		}
	}
	if len(names) == 0 {
		return nil
	}
	f := p.finds(answer.DependencyDown, fair)
	slices.Sort(names)
	if independent > 1 {
		f.weight = strong
	}
	f.text = fmt.Sprintf("What %s depends on is down: %s began to fail in the same way at the same time (%s).", p.what(), prose.Plural(len(names), "other pod"), prose.Brief(strings.Join(names, ", "), 120))
	f.fixes = []answer.Fix{p.h.specFix("probe only the container itself, so that an outage elsewhere does not restart or remove it"), p.h.inspect("see what the pods have in common", "kubectl get pods -A -o wide")}
	return f
}

// neighboursFailures are the first failed attempts that are known of other pods.
func (h *inquiry) neighboursFailures() map[fact.Pod]*fact.Fact {
	first := map[fact.Pod]*fact.Fact{}
	for f, b := range every[fact.Probed](h.Neighbours) {
		if bad(b) && (first[f.Pod] == nil || f.When().Before(first[f.Pod].When())) {
			first[f.Pod] = f
		}
	}
	return first
}

// otherAge says whether a neighbour is known to have started at another time.
func (p *probing) otherAge(failed *fact.Fact) bool {
	if p.run.Started == nil {
		return false
	}
	var start time.Time
	for f := range every[fact.Started](p.h.Neighbours) {
		if f.Pod == failed.Pod && f.Container == failed.Container && f.When().Before(failed.When()) && f.When().After(start) {
			start = f.When()
		}
	}
	return !start.IsZero() && start.Sub(p.run.Started.When()).Abs() > sameAge
}

// pathOf is a probe's target without the address of its pod.
func pathOf(target string) string {
	if _, rest, ok := strings.Cut(target, "://"); ok {
		_, path, _ := strings.Cut(rest, "/")
		return "/" + path
	}
	return target
}
