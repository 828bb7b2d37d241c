package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parts are what the text of a verdict is made of, for who shows them apart.
type Parts struct {
	// Subject is what it is about, as "container app" or "the pod".
	Subject string `json:"subject,omitempty"`
	// What is the cause, in a sentence or more.
	What string `json:"what,omitempty"`
	// Because is what the cause comes from or is seen by; Then is what followed from it. One
	// that begins with a small letter goes on with the sentence before it.
	Because []string `json:"because,omitempty"`
	Then    []string `json:"then,omitempty"`
}

// String words the parts as one text.
func (p Parts) String() string { return Unmarked(p.joined()) }

func (p Parts) joined() string {
	text := p.What
	for _, more := range [][]string{p.Because, p.Then} {
		for _, part := range more {
			if r, _ := utf8.DecodeRuneInString(part); unicode.IsLower(r) {
				text = strings.TrimSuffix(text, ".") + "; " + part
			} else {
				text += " " + part
			}
		}
	}
	return text
}

// Say gives a verdict its text, and keeps what is marked in it.
func (v *Verdict) Say(p Parts) {
	p.What = v.Told.read(p.What)
	for _, all := range []*[]string{&p.Because, &p.Then} {
		*all = slices.Clone(*all)
		for i, text := range *all {
			(*all)[i] = v.Told.read(text)
		}
	}
	v.Parts, v.Text = p, p.String()
}

// SayThen adds what followed.
func (v *Verdict) SayThen(then string) {
	p := v.Parts
	if p.String() == "" {
		p.What = v.Text
	}
	p.Then = append(p.Then[:len(p.Then):len(p.Then)], then)
	v.Say(p)
}
