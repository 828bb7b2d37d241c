package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
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
	cause  answer.Cause
	weight weight
	// was is the weight that it would have, had all been seen that it needs; refuted where
	// nothing was taken from it.
	was       weight
	certainty answer.Certainty // Inferred when empty
	rule      string           // set by the judge
	container string           // to blame; empty: the one of the case
	text      string           // the cause; what it comes from and what followed may be said apart
	because   []string         // see [answer.Parts]
	then      []string
	chain     []answer.Link
	notes     []answer.Note // what contributed
	fixes     []answer.Fix
	advice    logline.Advice // of the words that it quotes
	told      answer.Told    // beside what is marked in its text
	saysUser  bool           // whom the container runs as is said
}

// finds begins what a rule says of the case: that it has a cause, by what was seen.
func (e ending) finds(cause answer.Cause, w weight, before ...*fact.Fact) *finding {
	return &finding{cause: cause, weight: w, chain: e.chain(before...)}
}

func (p *probing) finds(cause answer.Cause, w weight, seen ...*fact.Fact) *finding {
	return &finding{cause: cause, weight: w, chain: p.chain(seen...)}
}

func (c notStarted) finds(cause answer.Cause, w weight) *finding {
	return &finding{cause: cause, weight: w, chain: c.chain()}
}

// concluded begins a finding that is about no case of the rules.
func concluded(cause answer.Cause, w weight, seen ...*fact.Fact) *finding {
	return &finding{cause: cause, weight: w, chain: links(seen...)}
}

// recorded says that the decision itself is known.
func (f *finding) recorded() *finding {
	f.certainty = answer.Recorded
	return f
}

func (f *finding) says(format string, args ...any) *finding {
	f.text = fmt.Sprintf(format, args...)
	return f
}

// fix adds steps behind those that a finding has, first before them.
func (f *finding) fix(steps ...answer.Fix) *finding {
	f.fixes = append(f.fixes, steps...)
	return f
}

func (f *finding) first(steps ...answer.Fix) *finding {
	f.fixes = append(steps, f.fixes...)
	return f
}

// quotesLog reports whether a finding quotes what a log says.
func (f finding) quotesLog() bool {
	v := answer.Verdict{Told: f.told}
	v.Say(f.parts(""))
	return v.QuotesLog()
}

// rule is a named conclusion about cases of one type. judge returns nil where it has
// nothing to say.
//
// Where two rules see the same thing, the one that sees only its effect yields to
// the one that sees the reason: it names that rule in yields. Precedence stands
// nowhere else; a weight says only how well a finding is supported.
type rule[C any] struct {
	name   string
	judge  func(C) *finding
	yields []string
}

// rulebook are the rules about cases of one type. Their order has no effect.
type rulebook[C any] struct{ rules []rule[C] }

func (b *rulebook[C]) add(name string, judge func(C) *finding, yields ...string) {
	b.rules = append(b.rules, rule[C]{name, judge, yields})
}

// either is the judge of a rule that can see what it is about in several ways: it takes what is
// supported best, of equals the first.
func either[C any](judges ...func(C) *finding) func(C) *finding {
	return func(c C) (best *finding) {
		for _, judge := range judges {
			if f := judge(c); f != nil && (best == nil || f.weight > best.weight) {
				best = f
			}
		}
		return best
	}
}

// inMode keeps a judge to probes that failed in one of some ways, neverWell to those that never succeeded.
func inMode(judge func(*probing) *finding, modes ...mode) func(*probing) *finding {
	return func(p *probing) *finding {
		if !slices.Contains(modes, p.mode) {
			return nil
		}
		return judge(p)
	}
}

func neverWell(judge func(*probing) *finding) func(*probing) *finding {
	return func(p *probing) *finding {
		if p.worked() {
			return nil
		}
		return judge(p)
	}
}

// hearing is one case before the rules: each is judged at most once, whoever asks.
type hearing[C any] struct {
	book  *rulebook[C]
	about C
	heard map[string]*finding // by rule; nil where it has nothing to say
}

func (b *rulebook[C]) hear(c C) *hearing[C] {
	return &hearing[C]{b, c, make(map[string]*finding, len(b.rules))}
}

// finding is what the rule of that name says; nil where it has nothing to say.
func (h *hearing[C]) finding(name string) *finding {
	f, heard := h.heard[name]
	if !heard {
		i := slices.IndexFunc(h.book.rules, func(r rule[C]) bool { return r.name == name })
		if f = h.book.rules[i].judge(h.about); f != nil {
			f.rule = name
		}
		h.heard[name] = f
	}
	return f
}

// outdone says whether a rule that f's yields to explains the case: strongly, or at least
// fairly and as well as f does.
func (h *hearing[C]) outdone(r rule[C], f *finding) bool {
	return slices.ContainsFunc(r.yields, func(name string) bool {
		other := h.finding(name)
		return other != nil && other.weight >= min(strong, max(fair, f.weight))
	})
}

// possibly makes a finding no more than possible, for want of sight.
func (f *finding) possibly() *finding {
	if f.weight > weak {
		f.was, f.weight = f.weight, weak
	}
	return f
}

// judge lets all rules speak that need not yield, and takes the best supported finding;
// the others come back too. It returns nil when none is supported at least fairly, or
// when two causes are supported equally well: the evidence cannot tell.
func (h *hearing[C]) judge() (best *finding, rest []finding) {
	var all []finding
	for _, r := range h.book.rules {
		if f := h.finding(r.name); f != nil && !h.outdone(r, f) {
			all = append(all, *f)
		}
	}
	slices.SortFunc(all, func(a, b finding) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.rule, b.rule))
	})
	if len(all) == 0 || all[0].weight < fair {
		return nil, all
	}
	// It has a rival: of another cause, and supported as well, or would be for want of sight.
	if slices.ContainsFunc(all[1:], func(f finding) bool { return f.cause != all[0].cause && max(f.weight, f.was) >= all[0].weight }) {
		return nil, all
	}
	return &all[0], all[1:]
}

// verdict makes a verdict of a finding and of those that it won against.
func (f finding) verdict(container string, rest []finding) answer.Verdict {
	v := answer.Verdict{
		Cause: f.cause, Certainty: cmp.Or(f.certainty, answer.Inferred), Rule: f.rule,
		Container: cmp.Or(f.container, container), Chain: inOrder(f.chain),
		Contributing: f.notes,
	}
	v.Told = f.told
	v.Say(f.parts(v.Container))
	v.Fixes = f.advised(v.TellsWords)
	if v.Certainty == answer.Recorded {
		v.Rule = ""
	}
	for _, r := range rest {
		take(&v, r)
	}
	return v
}

// parts are what a finding says, of a container or, where that is empty, of the pod.
func (f finding) parts(container string) answer.Parts {
	return answer.Parts{Subject: subject(container), What: f.text, Because: f.because, Then: f.then}
}

func subject(container string) string {
	return prose.Whether(container == "", "the pod", "container "+container)
}

// take puts a finding that did not win where it belongs.
func take(v *answer.Verdict, r finding) {
	note := answer.Note{Cause: r.cause, Text: r.parts("").String(), Facts: idsOf(r.chain)}
	known := func(n answer.Note) bool { return n.Cause == r.cause }
	switch {
	case r.cause == v.Cause || r.cause == answer.CauseUnknown:
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
func undecided(container, what string, chain []answer.Link, rest []finding, missing string, fixes ...answer.Fix) answer.Verdict {
	v := answer.Verdict{Cause: answer.CauseUnknown, Certainty: answer.Unknown, Container: container, Chain: inOrder(chain), Fixes: fixes}
	v.Say(answer.Parts{Subject: subject(container), What: what})
	for _, r := range rest {
		if r.weight > refuted && !slices.Contains(v.Possible, r.cause) {
			v.Possible = append(v.Possible, r.cause)
			v.Chain = inOrder(append(v.Chain, r.chain...))
			v.Fixes = append(v.Fixes, tellsApart(r.fixes, v.Fixes)...)
		}
		if r.weight == refuted {
			take(&v, r)
		}
	}
	if len(v.Possible) > 0 {
		v.Missing = answer.MayBe(v.Possible)
	}
	v.Missing = strings.TrimSpace(v.Missing + " " + missing)
	return v
}

// tellsApart are the steps of one that remains possible which change nothing: they show whether it is that.
func tellsApart(fixes, known []answer.Fix) []answer.Fix {
	return slices.DeleteFunc(slices.Clone(fixes), func(f answer.Fix) bool {
		return f.Risk != answer.Inspect || slices.ContainsFunc(known, func(k answer.Fix) bool { return k.SameCommand(f) })
	})
}

// inOrder sorts a chain by the time at which things happened, each fact once.
func inOrder(chain []answer.Link) []answer.Link {
	slices.SortStableFunc(chain, func(a, b answer.Link) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Fact, b.Fact))
	})
	return slices.CompactFunc(chain, func(a, b answer.Link) bool { return a.Fact == b.Fact })
}

func idsOf(chain []answer.Link) []fact.ID {
	var ids []fact.ID
	for _, l := range chain {
		ids = append(ids, l.Fact)
	}
	return ids
}
