package words

import (
	"regexp"
	"slices"
	"strings"
)

// Phrase is something that others say and that means one thing. Each stands for its
// speaker in a file of its own, with where it comes from and samples as they were
// really said; the package's test holds it to them.
type Phrase struct {
	// source is who says it, in which version, or where that is written down.
	source  string
	parts   []string // one of them, in lower case
	pattern *regexp.Regexp
	but     *Phrase // what makes it mean something else
	samples []string
}

// known are all phrases, for the test.
var known []*Phrase

// says is a phrase that has one of some parts in it, whatever their case.
func says(source string, parts []string, samples ...string) *Phrase {
	return know(&Phrase{source: source, parts: parts, samples: samples})
}

// fits is a phrase of a pattern.
func fits(source, pattern string, samples ...string) *Phrase {
	return know(&Phrase{source: source, pattern: regexp.MustCompile(pattern), samples: samples})
}

func know(p *Phrase) *Phrase {
	known = append(known, p)
	return p
}

// except makes it another thing where the other phrase is said too.
func (p *Phrase) except(other *Phrase) *Phrase {
	p.but = other
	return p
}

// In says whether a text has the phrase in it.
func (p *Phrase) In(text string) bool {
	if p.but != nil && p.but.In(text) {
		return false
	}
	if p.pattern != nil {
		return p.pattern.MatchString(text)
	}
	text = strings.ToLower(text)
	return slices.ContainsFunc(p.parts, func(part string) bool { return strings.Contains(text, part) })
}

// Find gives what the groups of a phrase's pattern stand for, and the first that
// stands for something; nil where the text has no such phrase.
func (p *Phrase) Find(text string) []string {
	if p.pattern == nil {
		return nil
	}
	m := p.pattern.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	return m[1:]
}

// Any says whether a text has one of some phrases in it.
func Any(text string, all ...*Phrase) bool {
	return slices.ContainsFunc(all, func(p *Phrase) bool { return p.In(text) })
}
