package cluster

import (
	"cmp"
	"regexp"
	"strings"

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
		typeSteps(a.Verdicts[i].Fixes)
	}
	for i := range a.Complaints {
		typeSteps(a.Complaints[i].Fixes)
	}
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
