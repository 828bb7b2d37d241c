package why

import (
	"cmp"
	"slices"
	"strings"

	"whylet.dev/whylet/fact"
)

// weight says how well a finding is supported.
type weight int

const (
	// refuted: it looks guilty, and the evidence says that it is not.
	refuted weight = iota
	// weak: possible, and nothing tells it from other explanations. Never a verdict.
	weak
	// fair: it explains what is known, and nothing that was looked at speaks against it.
	fair
	// strong: there is evidence that its rivals cannot explain.
	strong
	// certain: it was seen directly.
	certain
)

// finding is what a rule says about a case.
type finding struct {
	cause     Cause
	weight    weight
	certainty Certainty // Inferred when empty
	rule      string    // set by the judge
	container string    // to blame; empty: the one of the case
	text      string
	chain     []Link
	notes     []Note // what contributed
	fixes     []Fix
}

// rule is a named conclusion about cases of one type: which causes it may find,
// what it needs to see for that, and what speaks against it. judge returns nil
// where it has nothing to say.
type rule[C any] struct {
	name           string
	causes         []Cause
	needs, against string
	judge          func(C) *finding
}

// judge lets all rules speak, and takes the best supported finding; the others
// come back too. It returns nil when none is supported at least fairly, or when
// two causes are supported equally well: the evidence cannot tell.
func judge[C any](rules []rule[C], c C) (best *finding, rest []finding) {
	var all []finding
	for _, r := range rules {
		if f := r.judge(c); f != nil {
			f.rule = cmp.Or(f.rule, r.name)
			all = append(all, *f)
		}
	}
	slices.SortStableFunc(all, func(a, b finding) int { return int(b.weight) - int(a.weight) })
	if len(all) == 0 || all[0].weight < fair {
		return nil, all
	}
	if len(all) > 1 && all[1].weight == all[0].weight && all[1].cause != all[0].cause {
		return nil, all
	}
	return &all[0], all[1:]
}

// verdict makes a verdict of a finding and of those that it won against.
func (f *finding) verdict(symptom string, container string, rest []finding) Verdict {
	v := Verdict{
		Symptom: symptom, Cause: f.cause, Certainty: cmp.Or(f.certainty, Inferred), Rule: f.rule,
		Container: cmp.Or(f.container, container), Text: f.text, Chain: inOrder(f.chain),
		Contributing: f.notes, Fixes: f.fixes,
	}
	if v.Certainty == Recorded {
		v.Rule = ""
	}
	for _, r := range rest {
		v.take(r)
	}
	return v
}

// take puts a finding that did not win where it belongs.
func (v *Verdict) take(r finding) {
	note := Note{Cause: r.cause, Text: r.text, Facts: idsOf(r.chain)}
	known := func(n Note) bool { return n.Cause == r.cause }
	switch {
	case r.cause == v.Cause:
	case r.weight == refuted:
		if !slices.ContainsFunc(v.RuledOut, known) {
			v.RuledOut = append(v.RuledOut, note)
		}
	case r.weight >= strong:
		if !slices.ContainsFunc(v.Contributing, known) {
			v.Contributing = append(v.Contributing, note)
		}
	}
}

// undecided is the verdict where the evidence is not enough: it names what
// remains possible, what is missing, and how to get it.
func undecided(symptom, container, what string, chain []Link, rest []finding, missing string, fixes ...Fix) Verdict {
	v := Verdict{Symptom: symptom, Cause: CauseUnknown, Certainty: Unknown, Container: container, Chain: inOrder(chain), Fixes: fixes}
	v.Text = what
	var possible []string
	for _, r := range rest {
		if r.weight > refuted && !slices.Contains(v.possible, r.cause) {
			v.possible, possible = append(v.possible, r.cause), append(possible, string(r.cause))
			v.Chain = inOrder(append(v.Chain, r.chain...))
		}
		if r.weight == refuted {
			v.take(r)
		}
	}
	if len(possible) > 0 {
		v.missing = " What is known fits " + strings.Join(possible, " and ") + "."
	}
	if missing != "" {
		v.missing += " " + missing
	}
	return v
}

// inOrder sorts a chain by the time at which things happened, each fact once.
func inOrder(chain []Link) []Link {
	slices.SortStableFunc(chain, func(a, b Link) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Fact, b.Fact))
	})
	return slices.CompactFunc(chain, func(a, b Link) bool { return a.Fact == b.Fact })
}

func idsOf(chain []Link) []fact.ID {
	var ids []fact.ID
	for _, l := range chain {
		ids = append(ids, l.Fact)
	}
	return ids
}
