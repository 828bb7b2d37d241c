package why

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

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
			n, ok := dependency(line)
			if !ok {
				_, n.place, ok = words.FailedBy(line)
			}
			if ok && !ephemeral(n.place) {
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
			for _, at := range look.Lately {
				add(f, answer.ReachLately, at, fmt.Sprintf("a connection from it to %s was open less than a minute before", at))
			}
			break // what an older look saw need not be so any more
		}
	}
	rank := map[answer.Reached]int{answer.ReachSaid: 0, answer.ReachDialing: 1, answer.ReachOpen: 2, answer.ReachLately: 3}
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

// ephemeral says whether a place is one from which somebody was asked, and at which nobody
// is: an address, with a port of those that the kernel chooses (ip_local_port_range).
func ephemeral(place string) bool {
	host, port, ok := splitAddress(place)
	n, err := strconv.Atoi(port)
	return ok && err == nil && numeric(host) && n >= 32768
}

// complaints are what the pod's containers say of errors at the ends of their logs, by the
// newest looks into those that run.
func (h *inquiry) complaints() []answer.Complaint {
	var all []answer.Complaint
	for _, name := range h.Containers() {
		run := h.Last(name)
		if run == nil || run.Exit != nil {
			continue
		}
		for _, f := range slices.Backward(run.Looks) {
			lines := fact.Of[fact.Looked](f).Said
			if len(lines) == 0 {
				continue
			}
			if words.Troubled(lines) {
				all = append(all, answer.Complaint{Container: name, Text: prose.Brief(words.Reason(lines), quoted), Another: ofAnother(lines), Fact: f.ID})
			}
			break
		}
	}
	return all
}

// ofAnother says whether what a log says most is that another failed.
func ofAnother(lines []string) bool {
	line := lines[words.Telling(lines)]
	if _, _, ok := words.FailedBy(line); ok {
		return true
	}
	_, ok := lastNeed(lines)
	return ok
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
	f, lines := run.Said(run.FailsSince())
	for _, line := range slices.Backward(lines) {
		tell(f, line)
	}
}
