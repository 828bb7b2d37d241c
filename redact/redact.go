package redact

import (
	"cmp"
	"slices"
	"strings"
)

// Mark replaces a secret.
const Mark = "[redacted]"

// Text returns a text without its secrets. The result of a text that has none is that
// text itself. Redacting twice changes nothing.
func Text(text string) string {
	s := scanner{text: text}
	s.scan()
	return s.result()
}

// Bytes is [Text] of bytes.
func Bytes(text []byte) []byte { return []byte(Text(string(text))) }

// Lines returns each line without its secrets, in a new slice.
func Lines(lines []string) []string {
	out := slices.Clone(lines)
	for i, line := range lines {
		out[i] = Text(line)
	}
	return out
}

// Value returns what a variable, header, key or setting of that name is set to, without
// its secrets.
func Value(name, value string) string {
	if IsSecret(name, value) {
		return Mark
	}
	return Text(value)
}

// IsSecret reports whether the whole value of a variable, header, key or setting is a
// secret, by its name.
func IsSecret(name, value string) bool {
	name = name[strings.LastIndexByte(name, '/')+1:] // of an annotation
	for i := 0; i+1 < len(name); i++ {
		for _, m := range marksAt(name, i) {
			if m.kind != nameMark || !m.begins(name, i) {
				continue
			}
			if n, ok := nameAt(name, i, m); ok && n.right == len(name) {
				if n.grade == weak {
					return looksSecret(value, 6) && !isObject(value)
				}
				return secretValue(n, value)
			}
		}
	}
	return false
}

// IsSetting reports whether what a setting has is a secret, or holds one: its whole value by its
// name, or a part of it.
func IsSetting(name, value string) bool { return IsSecret(name, value) || Holds(value) }

// Holds reports whether a text holds a secret.
func Holds(text string) bool {
	s := scanner{text: text}
	s.scan()
	return len(s.spans) > 0
}

// span is a part of a text that is replaced.
type span struct{ from, to int }

// scanner finds the secrets of a text in one pass.
type scanner struct {
	text  string
	spans []span
	done  int // everything before it was looked at
}

// scan stops at the marks of [index], at every "@", and at the end of every long word.
func (s *scanner) scan() {
	word := 0 // where the word that is being read began
	var first, second byte
	for i := 0; i < len(s.text); i++ {
		if i < s.done {
			i = s.done
			word, first, second = i, 0, 0
			if i >= len(s.text) {
				break
			}
		}
		c := s.text[i]
		low := lower[c]
		if index.has(first, second, low) && i >= s.done+2 {
			s.at(i - 2)
		}
		if c == '@' && i >= s.done {
			s.atSign(i)
		}
		first, second = second, low
		if !inRandom[c] {
			s.random(word, i)
			word = i + 1
		}
	}
	s.random(word, len(s.text))
}

// at looks for what begins at a place.
func (s *scanner) at(i int) {
	for _, m := range marksAt(s.text, i) {
		if i < s.done {
			return
		}
		if !m.begins(s.text, i) {
			continue
		}
		switch m.kind {
		case nameMark:
			if n, ok := nameAt(s.text, i, m); ok {
				s.named(n)
			}
		case shapeMark:
			s.shaped(i, m)
		case schemeMark:
			s.credentials(i, i+len(m.text))
		case urlMark:
			s.url(i)
		case hookMark:
			s.hook(i + len(m.text))
		case commandMark:
			s.command(i, m)
		case pemMark:
			s.pem(i)
		}
	}
}

// mask has a part replaced, and goes on behind it.
func (s *scanner) mask(from, to int) {
	s.spans = append(s.spans, span{from, to})
	s.done = max(s.done, to)
}

// result writes the text without the parts that are masked.
func (s *scanner) result() string {
	if len(s.spans) == 0 {
		return s.text
	}
	slices.SortFunc(s.spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out strings.Builder
	out.Grow(len(s.text))
	end := 0
	for _, p := range s.spans {
		if p.to <= end {
			continue
		}
		if p.from >= end {
			out.WriteString(s.text[end:p.from])
			out.WriteString(Mark)
		}
		end = p.to
	}
	out.WriteString(s.text[end:])
	return out.String()
}
