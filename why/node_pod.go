package why

import (
	"fmt"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// recalled is how long an outage of its node is a symptom of a pod that came
// through it: as long as Kubernetes keeps its events. After that it is a gap in
// what was seen, and the node's own answer still tells of it.
const recalled = time.Hour

// away are the outages of the node that were long enough for the control plane to
// call the pod's state unknown. One that somebody asked for (whylet down) is none.
func (h *inquiry) away() []trouble {
	if len(h.Facts) == 0 {
		return nil
	}
	var all []trouble
	for _, o := range Outages(h.Node) {
		last := o.Until
		if last.IsZero() {
			last = h.Now
		}
		planned := o.Ended && o.Rule == "" && fact.Of[fact.AgentStarted](factOf(h.Node, o)).Previous == fact.RunClean
		if planned || !o.Long(h.Now) || h.Facts[0].Seen.After(o.From) || h.Now.Sub(last) > recalled || h.Over(o.From) {
			continue
		}
		s := o.symptom(h.Now, last)
		s.Text = "its node was away for " + prose.Span(last.Sub(o.From))
		f := o.finding(h.Now, last, h.Facts)
		f.text += " While a node does not report, the control plane calls it and its pods Unknown or not Ready."
		if node := h.podSpec().NodeName; node != "" {
			f.fixes = []answer.Fix{h.inspect("see what else the node remembers", kubectl.Command("", "why node/%s", node))}
		}
		all = append(all, trouble{s, func(id string) answer.Verdict { return f.verdict(id, "", nil) }})
	}
	return all
}

// factOf is the fact that an outage was read from.
func factOf(node []fact.Fact, o Outage) *fact.Fact {
	if len(o.Chain) == 0 {
		return nil
	}
	for i := range node {
		if node[i].ID == o.Chain[len(o.Chain)-1].Fact {
			return &node[i]
		}
	}
	return nil
}

// stalls are the times in which the agent lived and saw nothing.
func (h *inquiry) stalls() []answer.Gap {
	var gaps []answer.Gap
	for _, b := range every[fact.AgentStalled](h.Node) {
		if len(h.Facts) > 0 && h.Facts[0].Seen.Before(b.Until) {
			text, _ := stalledWords(b)
			gaps = append(gaps, answer.Gap{From: b.From, To: b.Until, Reason: fmt.Sprintf("the node's agent did not run: %s", text)})
		}
	}
	return gaps
}
