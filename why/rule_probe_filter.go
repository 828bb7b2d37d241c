package why

import (
	"fmt"
	"regexp"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// hearOut has a command that put out nothing say what it did before its grep kept that back.
func (p *probing) hearOut() {
	if p.mode != exitCode || p.last.Evidence == nil || strings.TrimSpace(p.last.Evidence.Output) != "" {
		return
	}
	for f, b := range newest[fact.AskedAgain](p.run.Again) {
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
	if p.mode != exitCode || p.worked() || byHTTP.MatchString(p.command()) {
		return nil
	}
	if p.through == nil {
		return p.filtersAnother()
	}
	b := fact.Of[fact.AskedAgain](p.through)
	said := strings.TrimSpace(words.Told(b.Evidence.Output))
	if b.Verdict != fact.Success || said != "" && (p.h.read(strings.Split(said, "\n")).Troubled() || words.Complains(said) || knowledge.StillStarts.In(said)) {
		return nil
	}
	f := p.finds(answer.ProbeCommandFailed, strong).
		says("The command of %s looks with grep for what does not come: without that it ends well, and says “%s”. So it fails whether the application is well or not.", p.what(), quote(said, kept))
	if said == "" {
		f.text = fmt.Sprintf("The command of %s looks with grep for what does not come: without that it ends well, and says nothing at all. So it fails whether the application is well or not.", p.what())
	}
	probe := kindWord(p.kind) + "Probe"
	return f.fix(p.h.specFix(fmt.Sprintf("correct what the grep of %s.exec.command looks for, or what that asks before it", probe)), p.byHand("run it by hand, and leave the grep at its end away"))
}

// greps fits what a command looks for with grep, in quotes or not.
var greps = regexp.MustCompile(`\bgrep(?: -\S+)* +(?:'([^']+)'|"([^"]+)"|([^\s|;&'"]+))`)

// ofTrouble fits words that may tell of trouble, in what a command puts out of a state.
var ofTrouble = regexp.MustCompile(`(?i)\b(?:fail\w*|err\w*|not?|none|nothing|never|down|load\w*|start\w*|init\w*|wait\w*|pend\w*|recover\w*|sync\w*|stop\w*|off\w*|un\w+|in\w+|degraded|false|refused|denied|time\w*|dead|lost|broken|closed|exit\w*|limit\w*|full|0|without|can'?t|cannot)\b`)

// filtersAnother: the command greps for what does not come, and what came in its place tells of no trouble.
func (p *probing) filtersAnother() *finding {
	if p.last.Evidence == nil || p.argv() == nil {
		return nil
	}
	m := greps.FindStringSubmatch(strings.Join(p.argv(), " "))
	said := strings.TrimSpace(words.Told(p.last.Evidence.Output))
	if at, _ := p.complaint(); m == nil || said == "" || at != nil || ofTrouble.MatchString(said) || p.h.read(strings.Split(said, "\n")).Troubled() || words.Complains(said) {
		return nil
	}
	at, look, ok := p.look()
	if !ok || !p.up(look) {
		return nil
	}
	f := p.finds(answer.ProbeCommandFailed, fair, at).
		says("The command of %s looks with grep for “%s”, which never came; what it put out tells of no trouble: “%s”. Neither does the log of container %s.",
			p.what(), quote(m[1]+m[2]+m[3], quoted), quote(said, kept), p.run.Container).
		fix(p.h.specFix(fmt.Sprintf("if the application is well, correct what the grep of %sProbe.exec.command looks for, or what that asks before it", kindWord(p.kind))), p.byHand("run it by hand, and leave the grep away"))
	return f.possibly() // the application may mean what it says
}
