package cluster

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/words"
)

// Typed fills the typed fields of an answer of an agent from before [answer.Revision], which has them in its text
// alone. Nothing else reads the text of an answer; it goes when no such agent is supported any more.
func Typed(a *answer.Answer) {
	if a.Revision >= answer.Revision {
		return
	}
	a.Revision = answer.Revision
	for i := range a.Verdicts {
		typeVerdict(&a.Verdicts[i])
	}
	for i := range a.Complaints {
		typeSteps(a.Complaints[i].Fixes)
	}
	for i := range a.Reaches {
		if r := &a.Reaches[i]; r.How == answer.ReachSaid && !asksByCommand.MatchString(r.Text) {
			r.Said = r.Text
		}
	}
	for i := range a.Changes {
		if m := changed.FindStringSubmatch(a.Changes[i].Text); m != nil {
			a.Changes[i].Object, a.Changes[i].Name = m[1], m[2]
		}
	}
}

func typeVerdict(v *answer.Verdict) {
	typeSteps(v.Fixes)
	typeLinks(v.Chain)
	v.Told = toldBefore(v.Text)
	if strings.Contains(v.Text, "the readiness probe of container") {
		v.Probe = fact.Readiness
	}
	for i := range v.Hops {
		v.Hops[i].Told = toldBefore(v.Hops[i].Text)
	}
	if len(v.Hops) > 0 && v.Own == "" {
		v.Own = ownOfBefore(v)
	}
}

var (
	// itsWords fits what a verdict has of a log, ours what it goes on with in words of its own, inQuotation what it has
	// of an answer, and lastTold what it quotes that nothing follows from.
	itsWords = regexp.MustCompile(`(?s)\b(?:log says|log says why|(?:last that it said|last message)[^:"]{0,40}): (.*)`)
	ours     = regexp.MustCompile(`\. (?:That means:|So container|It asks Service|Pod \S+, which it asks)`)
	// asksByCommand fits what shows a place that no words of a log do, changed what tells of a changed object.
	asksByCommand = regexp.MustCompile(`^(?:its command|the command of its probe) asks `)
	changed       = regexp.MustCompile(`\b(ConfigMap|Secret) (\S+) was changed`)
)

const lastTold = "The last that its log says: "

// toldBefore are the quotes in a text: all of it counts for words that the verdict rests on, as it did.
func toldBefore(text string) (t answer.Told) {
	add := func(role answer.Role, text string) {
		if text != "" {
			t.Quotes = append(t.Quotes, answer.Quote{Role: role, Text: text})
		}
	}
	before, rest, last := strings.Cut(text, lastTold)
	if _, then, _ := strings.Cut(rest, ". So "); last {
		text = before + then
		add(answer.RoleLast, strings.TrimSuffix(rest, "."))
	}
	add(answer.RoleWords, text)
	if m := itsWords.FindStringSubmatch(text); m != nil {
		add(answer.RoleLog, ours.Split(m[1], 2)[0])
	}
	return t
}

// typeLinks types what links have in their untyped evidence.
func typeLinks(chain []answer.Link) {
	for i := range chain {
		l := &chain[i]
		switch n := l.Evidence["status"].(type) {
		case float64:
			l.Status = int(n)
		case int:
			l.Status = n
		}
		l.SignedBy, _ = l.Evidence["signedBy"].(string)
		if verdict := l.Evidence["verdict"]; verdict != nil && l.Kind == (fact.Probed{}).Kind() {
			l.Outcome = fact.Verdict(fmt.Sprint(verdict))
		}
	}
}

// ownOfBefore is the cause of a verdict's own node, of one that leads to another pod.
func ownOfBefore(v *answer.Verdict) answer.Cause {
	switch n := len(v.Contributing); {
	case n > 0:
		return v.Contributing[n-1].Cause
	case len(v.Parts.Then) == 0:
		return answer.CauseUnknown
	}
	return v.Cause
}

// stepsOfBefore are how the texts of steps began or what they had, by the kinds of steps now.
var stepsOfBefore = []struct {
	id   answer.StepID
	fits *regexp.Regexp
}{
	{answer.StepAllowUser, regexp.MustCompile(`^let its user `)},
	{answer.StepMountFiles, regexp.MustCompile(`^mount file by file: `)},
	{answer.StepCompare, regexp.MustCompile(`^compare its words with what configures`)},
	{answer.StepReaddress, regexp.MustCompile(`^correct the address in its configuration`)},
	{answer.StepGiveSetting, regexp.MustCompile(`^give it that setting: `)},
	{answer.StepAddEntry, regexp.MustCompile(`pg_hba\.conf`)},
}

var (
	givesAddress = regexp.MustCompile(`^give container (\S+) the address .* in place of (\S+), in its configuration or variables(.*)$`)
	asksWhy      = regexp.MustCompile(`^kubectl why (?:-n (\S+) )?(\w+)/(\S+)$`)
	editsMap     = regexp.MustCompile(`^kubectl (?:-n (\S+) )?edit configmap (\S+)$`)
)

func typeSteps(steps []answer.Fix) {
	for i := range steps {
		f := &steps[i]
		for _, s := range stepsOfBefore {
			if s.fits.MatchString(f.Text) {
				f.ID = s.id
			}
		}
		if m := givesAddress.FindStringSubmatch(f.Text); m != nil {
			*f = f.As(answer.StepGiveAddress, answer.Slots{answer.SlotContainer: m[1], answer.SlotPlace: m[2], answer.SlotRest: m[3]})
		}
		if m := asksWhy.FindStringSubmatch(f.Command); m != nil {
			f.ID, f.Target = answer.StepExplain, strings.Join([]string{m[2], cmp.Or(m[1], "default"), m[3]}, "/")
		}
		if m := editsMap.FindStringSubmatch(f.Command); m != nil {
			f.Target = strings.Join([]string{"configmap", cmp.Or(m[1], "default"), m[2]}, "/")
		}
		*f = f.About(words.Variables(f.Text + " " + f.Command)...)
	}
}
