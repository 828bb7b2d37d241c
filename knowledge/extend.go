package knowledge

import (
	"fmt"
	"regexp"
	"slices"
)

// ForUsers are the verbs that entries from outside the program may use: the others need to know what the pod went
// through.
var ForUsers = []string{"change-spec", "edit-config", "at-database", "inspect", "run"}

// With is the base with more entries, such as a user wrote. Entries with a fault are left out, and so are those that
// lean on them; the faults say why. No entry of the base is replaced, and one that fits a sample of a message of the base
// has to say that it is over that.
func (b *Base) With(entries []*Entry) (*Base, []Fault) {
	entries = slices.Clone(entries)
	var all []Fault
	for len(entries) > 0 {
		found := append(check(b, entries), theirSteps(entries)...)
		if len(found) == 0 {
			return assemble(slices.Concat(b.entries, entries)), all
		}
		all = append(all, found...)
		entries = slices.DeleteFunc(entries, func(e *Entry) bool {
			return slices.ContainsFunc(found, func(f Fault) bool { return f.Entry == e })
		})
		for _, e := range entries {
			e.compiled, e.unless = nil, nil
		}
	}
	return b, all
}

func theirSteps(entries []*Entry) []Fault {
	var f faults
	for _, e := range entries {
		if !e.IsMessage() {
			f.add(e, "", "no means: what the message means")
		}
		for i, s := range e.Steps {
			if _, known := Verbs[s.Do]; known && !slices.Contains(ForUsers, s.Do) {
				f.add(e, fmt.Sprintf("steps.%d", i), "%s is for the base alone; there are %v", s.Do, ForUsers)
			}
		}
	}
	return f
}

// onlyReads fits arguments of kubectl that change nothing and lead to no other cluster, without a shell's characters;
// plainSlot fits a slot without a default, which is what a shell would be given as it stands.
var (
	onlyReads = regexp.MustCompile(`^(?:get|describe|logs|top|events|why)(?: (?:\w[\w./=:,-]*|-[nlco] ?\w[\w./=:,-]*|--previous|--tail=\d+))*$`)
	plainSlot = regexp.MustCompile(`\{\w+\}`)
)

// Harmless leaves out entries that would have whoever asks run commands of somebody else's: such as come from a
// ConfigMap may only show steps in words, and kubectl reading.
func Harmless(entries []*Entry) (left []*Entry, refused []Fault) {
	var f faults
	for _, e := range entries {
		before := len(f)
		for i, s := range e.Steps {
			item := fmt.Sprintf("steps.%d", i)
			switch {
			case s.Command != "":
				f.add(e, item, "a ConfigMap's step has no command, as somebody else would run it; kubectl may read")
			case s.Kubectl != "" && !onlyReads.MatchString(plainSlot.ReplaceAllString(s.Kubectl, "x")):
				f.add(e, item, "a ConfigMap's step may only have kubectl get, describe, logs, top, events or why, with -n, -l, -c, -o, --previous or --tail, and slots without defaults")
			}
		}
		if len(f) == before {
			left = append(left, e)
		}
	}
	return left, f
}

// FromUser reports whether the entry did not come with the program.
func (e *Entry) FromUser() bool { return Embedded().Entry(e.ID) != e }

// Place is the file and the line where the entry was read.
func (e *Entry) Place() string { return e.at("") }
