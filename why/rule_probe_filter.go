package why

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// This rule is about a command whose own grep finds nothing in what it asks for.
func init() {
	probeRules.add(
		rule[*probing]{
			name: "probe-command-filter", causes: []answer.Cause{answer.ProbeCommandFailed},
			needs:   "a command that never succeeded and put out nothing, and that was run once more without the grep at its end: it ended well, and nothing that it said is a complaint",
			against: "a success, ever; a command that asks by HTTP, whose answer may tell of the application in words of its own",
			seesAll: true,
			judge:   probeCommandFilter,
		},
	)
}

// hearOut has a command that put out nothing say what it did before its grep kept that back.
func (p *probing) hearOut() {
	if p.mode != exitCode || p.last.Evidence == nil || strings.TrimSpace(p.last.Evidence.Output) != "" {
		return
	}
	for _, f := range slices.Backward(p.run.Again) {
		b := fact.Of[fact.AskedAgain](f)
		if b.Probe != p.kind || !b.Unfiltered || b.Cut || b.Evidence == nil || !p.about(f) {
			continue
		}
		e := *p.last.Evidence
		e.Output = b.Evidence.Output
		p.last.Evidence, p.through = &e, f
		return
	}
}

// byHTTP fits the clients that a command asks by HTTP with.
var byHTTP = regexp.MustCompile(`\b(?:curl|wget|http|https|httpie)\b|https?://`)

// probeCommandFilter: what it asks is well, for all that it says.
func probeCommandFilter(p *probing) *finding {
	if p.through == nil || p.worked() || byHTTP.MatchString(p.command()) {
		return nil
	}
	b := fact.Of[fact.AskedAgain](p.through)
	said := strings.TrimSpace(words.Told(b.Evidence.Output))
	if b.Verdict != fact.Success || said != "" && (words.Troubled(strings.Split(said, "\n")) || words.Complains(said) || words.StillStarts.In(said)) {
		return nil
	}
	f := &finding{
		cause: answer.ProbeCommandFailed, weight: strong, chain: p.chain(),
		text: fmt.Sprintf("The command of %s looks with grep for what does not come: without that it ends well, and says “%s”. So it fails whether the application is well or not.", p.what(), quote(said, kept)),
	}
	if said == "" {
		f.text = fmt.Sprintf("The command of %s looks with grep for what does not come: without that it ends well, and says nothing at all. So it fails whether the application is well or not.", p.what())
	}
	probe := kindWord(p.kind) + "Probe"
	f.fixes = []answer.Fix{p.h.specFix(fmt.Sprintf("correct what the grep of %s.exec.command looks for, or what that asks before it", probe)), p.h.inspect("run it by hand, and leave the grep at its end away", p.h.exec(p.run.Container, p.command()))}
	return f
}
