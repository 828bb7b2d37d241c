package why

import (
	"fmt"
	"slices"
	"strings"

	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// advice is what a container says is to be done about what fails, where its log or its termination
// message says that, and the cause alone is not all that is asked.
func (e ending) advice() logline.Advice {
	if e.h.Causes {
		return logline.Advice{}
	}
	if strings.TrimSpace(e.exit.Message) != "" {
		return e.h.read(strings.Split(e.exit.Message, "\n")).Advice()
	}
	if said := e.storyAtLast(); said.Reason() == e.inItsWords() {
		return said.Advice()
	}
	return logline.Advice{} // what it ends for was said long before
}

// mostAdvised and mostToldAgain bound advice where it stands as it is said, and where the answer has
// it already.
const mostAdvised, mostToldAgain = 280, 100

// advised puts what a finding's words advise in front of its fixes, for to read more of them. What
// the answer quotes, as tells has it, is told in short.
func (f finding) advised(tells func(string) bool) []answer.Fix {
	a := f.advice
	if a.Text == "" {
		return f.fixes
	}
	within := tells(a.Text)
	if within && (a.Brief == "" || slices.ContainsFunc(f.fixes, changes)) {
		return f.fixes // it tells how something has to be, and so what is wrong; or there is more to do than it says
	}
	what := fmt.Sprintf("%q", prose.Midst(a.Text, mostAdvised))
	if within {
		what = prose.Brief(a.Brief, mostToldAgain)
	}
	fix := answer.Fix{Text: "check what its words ask: " + what, Risk: answer.Restarts}
	if !a.Asks {
		fix.Text, fix.ID, fix.Slots = "do what its words advise: "+what, answer.StepAdvice, answer.Slots{answer.SlotAdvice: what}
	}
	fix = fix.About(words.Variables(what)...)
	rest := slices.Clone(f.fixes)
	if i := slices.IndexFunc(rest, func(f answer.Fix) bool { return f.ID == answer.StepReadLog }); i >= 0 {
		if a.Looks || a.Asks {
			fix.Command = rest[i].Slots[answer.SlotCommand]
		}
		rest = slices.Delete(rest, i, i+1)
	}
	switch {
	case a.Removes:
		fix.Risk = answer.Destructive
	case a.Looks, a.Asks:
		fix.Risk = answer.Inspect
	}
	return append([]answer.Fix{fix}, rest...)
}

// changes reports whether a step changes something.
func changes(f answer.Fix) bool { return f.Risk != answer.Inspect }
