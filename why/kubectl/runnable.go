package kubectl

import (
	"regexp"
	"slices"
	"strings"

	"whylet.dev/whylet/why/answer"
)

// ofPod is a command that the API server answers only while a pod exists.
var ofPod = regexp.MustCompile(`^kubectl (?:-n \S+ )?(?:logs|exec|top pod|describe pod|get pod|edit pod|patch pod|replace) (\S+)`)

// WithoutPod takes out of an answer about a pod that is gone the commands that need it, and what only
// looks at it.
func WithoutPod(a *answer.Answer) {
	for i := range a.Verdicts {
		v := &a.Verdicts[i]
		needs := func(f answer.Fix) bool {
			m := ofPod.FindStringSubmatch(f.Command)
			return m != nil && m[1] == a.Subject.Name
		}
		v.DropSteps(func(f answer.Fix) bool { return needs(f) && f.Risk == answer.Inspect })
		for j := range v.Fixes {
			if needs(v.Fixes[j]) {
				v.Fixes[j].Command = ""
			}
		}
	}
}

var edits = regexp.MustCompile(`^kubectl (?:-n \S+ )?edit ([a-z]+)[/ ](\S+)$`)

// Edited returns what a step edits, by its kind as kubectl takes it; ok is false where it edits nothing.
func Edited(f answer.Fix) (kind, name string, ok bool) {
	m := edits.FindStringSubmatch(f.Command)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// Against has what kubectl why is to be asked once more asked of the same file or folder as an answer:
// flags are those that name it.
func Against(a *answer.Answer, flags string) {
	for i := range a.Verdicts {
		v := &a.Verdicts[i]
		v.Fixes = slices.Clone(v.Fixes)
		for j := range v.Fixes {
			if f := &v.Fixes[j]; strings.HasPrefix(f.Command, "kubectl why ") {
				f.Command += " " + flags
			}
		}
	}
}
