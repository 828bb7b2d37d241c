package knowledge

import (
	"fmt"
	"regexp"
	"slices"
)

// ForUsers are the verbs that entries from outside the program may use: the others need to know what the pod went
// through.
var ForUsers = []string{"change-spec", "change-program", "restart", "edit-config", "at-database", "inspect", "run"}

// Limits are what entries of one origin may come to, all together: each is tried on the samples of all others, so that
// the time for that grows with the product.
type Limits struct {
	Origin  string
	Entries int
	Samples int // bytes of samples and counter-samples
	Steps   int // of the expressions, about as many as they have characters
}

// OfDirectory are the limits of the entries that whoever asks names, and OfNamespace those of entries that anybody has
// put into a namespace's ConfigMaps.
var (
	OfDirectory = Limits{"a directory", 1000, 256 << 10, 100_000}
	OfNamespace = Limits{"the ConfigMaps of a namespace", 200, 32 << 10, 10_000}
)

// Within leaves out the entries from which on there are more than the limits allow.
func (l Limits) Within(entries []*Entry) (left []*Entry, refused []Fault) {
	var f faults
	samples, size := 0, 0
	for _, e := range entries {
		for _, text := range slices.Concat(e.Samples, e.Not) {
			samples += len(text)
		}
		for _, expression := range e.Match {
			size += sizeOf(expression)
		}
		switch {
		case len(left) == l.Entries:
			f.add(e, "", "%s may hold %d messages; this one and those after it do not count", l.Origin, l.Entries)
		case samples > l.Samples:
			f.add(e, "samples", "%s may hold %d bytes of samples; this message and those after it do not count", l.Origin, l.Samples)
		case size > l.Steps:
			f.add(e, "match", "the expressions in %s may come to %d characters; this message and those after it do not count", l.Origin, l.Steps)
		default:
			left = append(left, e)
			continue
		}
		return left, f.all
	}
	return left, nil
}

// With is the base with more entries, such as a user wrote. Entries with a fault are left out, and so are those that
// lean on them; the faults say why. No entry of the base is replaced, and one that fits a sample of a message of the base
// has to say that it is over that.
func (b *Base) With(entries []*Entry) (*Base, []Fault) {
	if len(entries) == 0 {
		return b, nil
	}
	return extend(b, entries, (*Entry).checkForeign)
}

// checkForeign reports what an entry may not have that did not come with the program.
func (e *Entry) checkForeign(f *faults) {
	if !e.IsMessage() {
		f.add(e, "", "no means: what the message means")
	}
	if _, ok := e.needles(); !ok && !f.has(e) {
		f.add(e, "match", "each expression needs %d characters in a row that stand in all that it fits", fewest)
	}
	if e.Role != (Role{}) || e.Severity != "" {
		f.add(e, "", "in and severity are for the base alone: they have a part in finding the cause")
	}
	for i, s := range e.Steps {
		if _, known := Verbs[s.Do]; known && !slices.Contains(ForUsers, s.Do) {
			f.add(e, fmt.Sprintf("steps.%d", i), "%s is for the base alone; there are %v", s.Do, ForUsers)
		}
	}
}

// onlyReads fits arguments of kubectl that change nothing and lead to no other cluster, without a shell's characters. A
// name without its kind behind why may be a command of it, such as uninstall, and so may what a slot stands for.
// plainSlot fits a slot without a default, which is what a shell would be given as it stands.
var (
	onlyReads = regexp.MustCompile(`^(?:(?:get|describe|logs|top|events)(?: (?:\w[\w./=:,-]*|-[nlco] ?\w[\w./=:,-]*|--previous|--tail=\d+))*|why(?: (?:[a-z]+/\w[\w.-]*|-n ?\w[\w-]*))+)$`)
	plainSlot = regexp.MustCompile(`\{\w+\}`)
)

// Harmless leaves out entries that would have whoever asks run commands of somebody else's: such as come from a
// ConfigMap may only show steps in words, and kubectl reading.
func Harmless(entries []*Entry) (left []*Entry, refused []Fault) {
	var f faults
	for _, e := range entries {
		for i, s := range e.Steps {
			item := fmt.Sprintf("steps.%d", i)
			switch {
			case s.Command != "":
				f.add(e, item, "a ConfigMap's step has no command, as somebody else would run it; kubectl may read")
			case s.Kubectl != "" && !onlyReads.MatchString(plainSlot.ReplaceAllString(s.Kubectl, "x")):
				f.add(e, item, "a ConfigMap's step may only have kubectl get, describe, logs, top or events, with -n, -l, -c, -o, --previous or --tail, or kubectl why TYPE/NAME, and slots without defaults")
			}
		}
		if !f.has(e) {
			left = append(left, e)
		}
	}
	return left, f.all
}

// FromUser reports whether the entry did not come with the program.
func (e *Entry) FromUser() bool { return Embedded().Entry(e.ID) != e }

// Place is the file and the line where the entry was read.
func (e *Entry) Place() string { return e.at("") }
