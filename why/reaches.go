package why

import (
	"cmp"
	"fmt"
	"slices"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// mostReaches bounds how many places are told of.
const mostReaches = 24

// reaches are the places that the pod's containers ask for something, those first of which
// their own words say that it failed, then those that have not answered.
func (h *inquiry) reaches() []answer.Reach {
	var all []answer.Reach
	add := func(f *fact.Fact, how answer.Reached, place, text string) {
		known := func(r answer.Reach) bool { return r.Place == place && r.Container == f.Container }
		if place != "" && !slices.ContainsFunc(all, known) {
			all = append(all, answer.Reach{Container: f.Container, Place: place, How: how, Text: prose.Brief(text, kept), Fact: f.ID})
		}
	}
	for _, name := range h.Containers() {
		run := h.Last(name)
		if run == nil {
			continue
		}
		said(run, func(f *fact.Fact, line string) {
			if n, ok := dependency(line); ok {
				add(f, answer.ReachSaid, n.place, words.Gist(line))
			}
		})
		if f, host := h.askedByProbe(run); host != "" {
			add(f, answer.ReachSaid, host, "the command of its probe asks "+host)
		}
		for _, f := range slices.Backward(run.Looks) {
			look := fact.Of[fact.Looked](f)
			for _, d := range look.Dialing {
				if !d.Other {
					add(f, answer.ReachDialing, d.Remote, fmt.Sprintf("its connection to %s has not been answered yet", d.Remote))
				}
			}
			for _, d := range look.Open {
				if !d.Other {
					add(f, answer.ReachOpen, d.Remote, fmt.Sprintf("%s is connected to %s", cmp.Or(prose.Brief(d.Command, 40), "it"), d.Remote))
				}
			}
			break // what an older look saw need not be so any more
		}
	}
	rank := map[answer.Reached]int{answer.ReachSaid: 0, answer.ReachDialing: 1, answer.ReachOpen: 2}
	slices.SortStableFunc(all, func(a, b answer.Reach) int { return cmp.Compare(rank[a.How], rank[b.How]) })
	return all[:min(len(all), mostReaches)]
}

// askedByProbe is the host that the command of a run's probe asks, where its newest attempt
// failed: whether its connection is open when somebody looks is luck.
func (h *inquiry) askedByProbe(run *history.Run) (f *fact.Fact, host string) {
	for _, f := range slices.Backward(run.Probes) {
		if b := fact.Of[fact.Probed](f); b.Evidence != nil && b.Evidence.Handler == fact.Exec {
			if !bad(b) {
				return nil, ""
			}
			return f, h.askedBy(b.Evidence.Target)
		}
	}
	return nil, ""
}

// said gives what a run said last, the newest first: the output of probes, the end of its
// log as looks have it, its last words.
func said(run *history.Run, tell func(f *fact.Fact, line string)) {
	if run.Exit != nil {
		for _, line := range slices.Backward(fact.Of[fact.Exited](run.Exit).LastLines) {
			tell(run.Exit, line)
		}
	}
	for i, f := range slices.Backward(run.Probes) {
		if b := fact.Of[fact.Probed](f); bad(b) && b.Evidence != nil && i >= len(run.Probes)-fact.MostNamed {
			tell(f, b.Evidence.Output)
		}
	}
	for _, f := range slices.Backward(run.Looks) {
		if lines := fact.Of[fact.Looked](f).Said; len(lines) > 0 {
			for _, line := range slices.Backward(lines) {
				tell(f, line)
			}
			break
		}
	}
}
