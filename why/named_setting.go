package why

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// setting is a value that a container's spec gives its program, and what that is called there.
type setting struct{ name, value string }

// leastValue and mostSettings bound what is taken for a value that words name: a short one is a word
// like others, and one that stands in many places tells none.
const leastValue, mostSettings = 5, 2

// special fits what no plain word has.
var special = regexp.MustCompile(`[\d/:._=-]`)

// namedSetting adds where the spec of a container gives a value that its words name.
func (h *inquiry) namedSetting(f *finding, container, said string) {
	c := h.Spec(container)
	if _, asks := dependency(said); c == nil || asks {
		return
	}
	named := slices.DeleteFunc(settingsOf(c), func(s setting) bool { return !names(said, s.value) })
	if exact := slices.DeleteFunc(slices.Clone(named), func(s setting) bool { return !names(said, strings.TrimLeft(s.name, "-")) }); len(exact) > 0 {
		named = exact
	}
	if len(named) == 0 || len(named) > mostSettings {
		return
	}
	var where []string
	for _, s := range named {
		where = append(where, fmt.Sprintf("%s (%s)", s.name, prose.Brief(s.value, 60)))
	}
	fix := h.specFix(fmt.Sprintf("if that value is at fault, correct it: container %s has it from %s", container, prose.Some(where)))
	f.fixes = append([]answer.Fix{fix}, f.fixes...)
}

// names says whether words have a value, and not as a part of another.
func names(said, value string) bool {
	for rest := said; ; {
		i := strings.Index(rest, value)
		if i < 0 || len(value) < leastValue {
			return false
		}
		before, after := rest[:i], rest[i+len(value):]
		if !strings.ContainsFunc(before[max(0, len(before)-1):], inName) && !strings.ContainsFunc(after[:min(1, len(after))], inName) {
			return true
		}
		rest = after
	}
}

// inName says whether a character goes on with a value.
func inName(r rune) bool {
	return r == '_' || r == '-' || r == '/' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// settingsOf are the values of a container's arguments and variables that no plain word would be.
// The program itself and scripts are none.
func settingsOf(c *v1.Container) (all []setting) {
	add := func(name, value string) {
		for one := range strings.SplitSeq(value, ",") {
			if special.MatchString(one) && !strings.ContainsAny(one, " \n\t") {
				all = append(all, setting{name, one})
			}
		}
	}
	words := append(slices.Clone(c.Command), c.Args...)
	for i := 1; i < len(words); i++ {
		name, value, has := strings.Cut(words[i], "=")
		switch flag := strings.HasPrefix(words[i], "-"); {
		case has && !strings.ContainsAny(name, " \n\t"):
			add(name, value)
		case flag && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-"):
			add(words[i], words[i+1])
			i++
		case !flag:
			add("its arguments", words[i])
		}
	}
	for _, e := range c.Env {
		if e.ValueFrom == nil {
			add("variable "+e.Name, e.Value)
		}
	}
	return all
}
