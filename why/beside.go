package why

import (
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// decisions are what a node does in the words of the rules; on a node on which somebody
// else decides, that one does it.
var decisions = []string{
	"ended", "ends", "killed", "ordered", "evicted", "evicts", "follows", "refused", "started", "starts", "sets", "took", "did not",
	"then", "'s order", "'s decision", "'s kill", "'s refusal",
}

// namer puts the name of who decides where the rules say "the node".
func namer(by string) *strings.Replacer {
	var pairs []string
	for _, what := range decisions {
		between := " "
		if strings.HasPrefix(what, "'") {
			between = ""
		}
		pairs = append(pairs, "the node"+between+what, by+between+what, "The node"+between+what, by+between+what)
	}
	return strings.NewReplacer(pairs...)
}

// nameDecider has an answer say who decided, where that is not the node that is asked, and
// how that is known.
func (h *inquiry) nameDecider(a *answer.Answer) {
	if h.Beside == "" {
		return
	}
	a.Rename(namer(h.Beside))
	for i := range a.Verdicts {
		v := &a.Verdicts[i]
		v.By, v.Basis = h.Beside, h.restsOn(*v)
	}
}

// restsOn is how the weakest decision is known that a verdict rests on; empty where it
// rests on none.
func (h *inquiry) restsOn(v answer.Verdict) (weakest fact.Basis) {
	for _, l := range v.Chain {
		if l.Kind != (fact.Kill{}).Kind() && l.Kind != (fact.Evict{}).Kind() {
			continue // a mere link between facts
		}
		switch b := h.Basis(l.Fact); {
		case weakest == "", b == fact.Deduced, b == fact.Matched && weakest == fact.Told:
			weakest = b
		}
	}
	return weakest
}
