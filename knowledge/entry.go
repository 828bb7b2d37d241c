package knowledge

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Entry is one message of an application, or one trait that a line of text can have: how it is recognised, where that
// is from, what it means and what to do about it. An entry with Means is a message: at most one of them explains a
// text. One without is a trait, which code asks for by its id and which holds beside any other.
type Entry struct {
	ID      string `yaml:"id"`
	Speaker string `yaml:"speaker"`
	Seen    Seen   `yaml:"seen"`
	// Match are regular expressions (RE2) of which one has to fit somewhere in the text. Their named groups are the
	// entry's slots; a slot that one expression has several times is called name, name__2, name__3.
	Match []string `yaml:"match"`
	// Unless are ids of entries: a text that one of them fits is none of this one.
	Unless []string `yaml:"unless,omitempty"`
	// Samples are texts that the entry has to fit, Not such that it must not.
	Samples []string `yaml:"samples"`
	Not     []string `yaml:"not,omitempty"`
	// Over are ids of messages that may fit the same text and say less about it.
	Over []string `yaml:"over,omitempty"`
	// Weak explains a text only if no other message does.
	Weak bool `yaml:"weak,omitempty"`
	// Role is what the entry stands for in a log, and Severity how severe a line with it is, also where its logger gives
	// it no level or a mild one. Empty says nothing of either.
	Role     Role   `yaml:"in,omitempty"`
	Severity string `yaml:"severity,omitempty"`
	// Means is a clause that explains the message, and Steps are what to do. Both may name {slots}.
	Means string `yaml:"means,omitempty"`
	Steps []Step `yaml:"steps,omitempty"`

	file  string         // where the entry was read
	lines map[string]int // its line, under "", and those of its lists, under names like match.0

	compiled func() *pattern
	unless   []*Entry
}

// Seen is where a message is from: the version that prints it and the file that has it.
type Seen struct {
	Version string `yaml:"version,omitempty"`
	Source  string `yaml:"source"`
	// Memory names the file of a source that nothing here proves: no library or recorded program prints it in a test.
	Memory string `yaml:"memory,omitempty"`
}

// Step is one thing to do about a message: a verb, which a reasoner about pods carries out, and what it needs.
type Step struct {
	Do string `yaml:"do"`
	// When is a slot without which the step is left out; with ! before it, the step is left out if it has a value.
	When string `yaml:"when,omitempty"`
	Text string `yaml:"text,omitempty"`
	// Command is a command line, Kubectl the arguments of kubectl in the pod's namespace.
	Command string `yaml:"command,omitempty"`
	Kubectl string `yaml:"kubectl,omitempty"`
	// Risk is what the step may do to what runs, where the verb leaves it open.
	Risk string `yaml:"risk,omitempty"`
}

// IsMessage reports whether the entry explains texts.
func (e *Entry) IsMessage() bool { return e.Means != "" }

// At is the place where the entry, or an item of one of its lists, was read.
func (e *Entry) at(item string) string {
	line := e.lines[item]
	if line == 0 {
		line = e.lines[""]
	}
	if line == 0 {
		return e.file
	}
	return fmt.Sprintf("%s:%d", e.file, line)
}

// pattern is what an entry's expressions come to.
type pattern struct {
	whole []string // expressions that are fixed text in any case, in lower case
	parts []part   // the alternatives of the others
}

// part is an alternative of an expression.
type part struct {
	re *regexp.Regexp
	// required are texts, in lower case, of which one is in each text that fits; empty where there is no such set.
	required []string
	slots    []string // the slot of each group
}

// slotNumber fits what tells apart several groups of one slot.
var slotNumber = regexp.MustCompile(`__\d+$`)

// compile makes a pattern of an entry's expressions.
func compile(expressions []string) (*pattern, error) {
	p := &pattern{}
	for _, e := range expressions {
		if text, ok := fixedText(e); ok {
			p.whole = append(p.whole, text)
			continue
		}
		for _, one := range alternatives(e) {
			re, err := regexp.Compile(one)
			if err != nil {
				return nil, err
			}
			of := part{re: re}
			of.required, _ = required(one)
			for _, name := range re.SubexpNames() {
				of.slots = append(of.slots, slotNumber.ReplaceAllString(name, ""))
			}
			p.parts = append(p.parts, of)
		}
	}
	return p, nil
}

// may reports whether a text in lower case could fit.
func (p part) may(lower string) bool {
	return len(p.required) == 0 || slices.ContainsFunc(p.required, func(text string) bool { return strings.Contains(lower, text) })
}

// prepare has an entry compiled when it is asked for first: most never are.
func (e *Entry) prepare() {
	e.compiled = sync.OnceValue(func() *pattern {
		p, err := compile(e.Match)
		if err != nil {
			panic(fmt.Sprintf("%s: %s: %v", e.at(""), e.ID, err)) // a Base has valid entries only
		}
		return p
	})
}

// In reports whether a text fits the entry.
func (e *Entry) In(text string) bool { return e.in(text, strings.ToLower(text)) }

// in is In of a text that is there in lower case, too.
func (e *Entry) in(text, lower string) bool {
	if !e.fits(text, lower) {
		return false
	}
	return !slices.ContainsFunc(e.unless, func(other *Entry) bool { return other.in(text, lower) })
}

func (e *Entry) fits(text, lower string) bool {
	p := e.compiled()
	return slices.ContainsFunc(p.whole, func(whole string) bool { return strings.Contains(lower, whole) }) ||
		slices.ContainsFunc(p.parts, func(part part) bool { return part.may(lower) && part.re.MatchString(text) })
}

// Slots gives what the entry's named groups stand for in a text, those alone that stand for something; nil where no
// expression of the entry fits.
func (e *Entry) Slots(text string) map[string]string {
	slots, _ := e.find(text)
	return slots
}

// find gives the slots of a text and how many bytes of it fit: those of the expression that fits first in it.
func (e *Entry) find(text string) (slots map[string]string, length int) {
	p, lower := e.compiled(), strings.ToLower(text)
	var first []int
	var by part
	for _, part := range p.parts {
		if !part.may(lower) {
			continue
		}
		if m := part.re.FindStringSubmatchIndex(text); m != nil && (first == nil || m[0] < first[0]) {
			first, by = m, part
		}
	}
	if first != nil {
		slots = map[string]string{}
		for i, name := range by.slots {
			if _, ok := slots[name]; name != "" && !ok && first[2*i] < first[2*i+1] {
				slots[name] = text[first[2*i]:first[2*i+1]]
			}
		}
		return slots, first[1] - first[0]
	}
	for _, whole := range p.whole {
		if strings.Contains(lower, whole) {
			slots, length = map[string]string{}, max(length, len(whole))
		}
	}
	return slots, length
}
