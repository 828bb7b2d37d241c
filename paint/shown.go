package paint

import (
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Shown is a writer for text that comes from elsewhere too: from pods, nodes and servers. What a
// terminal would take for a command, what shows nothing, and what turns the order of letters round
// is dropped, but for the colours of this package where w takes them. On a CI system nothing that
// is written begins one of its own commands. [Raw] is the way to w for what is no text.
func Shown(w io.Writer) io.Writer {
	ci := os.Getenv("GITHUB_ACTIONS") != "" || os.Getenv("TF_BUILD") != "" || os.Getenv("TEAMCITY_VERSION") != ""
	return &shown{w: w, colours: Colours(w), ci: ci, begins: true}
}

// As is a writer like [Shown] to w that takes colours where as takes them: for text that is
// written to as later.
func As(w, as io.Writer) io.Writer {
	s := Shown(w).(*shown)
	s.colours = Colours(as)
	return s
}

// Raw returns the writer below all of [Shown].
func Raw(w io.Writer) io.Writer {
	for {
		s, ok := w.(*shown)
		if !ok {
			return w
		}
		w = s.w
	}
}

type shown struct {
	w           io.Writer
	colours, ci bool

	rest   []byte // the beginning of a character, or of a colour
	begins bool   // nothing but blanks is on the line so far, and a colon maybe
	before string // the character before, where it may begin a command: ":", "#" or "##"
}

// longest is how long a colour's sequence is at most.
const longest = len("\x1b[33m")

// Write writes what may be shown of p.
func (s *shown) Write(p []byte) (int, error) {
	in := append(s.rest, p...)
	s.rest = nil
	out := make([]byte, 0, len(in)+8)
	for len(in) > 0 {
		if !utf8.FullRune(in) {
			s.rest = in
			break
		}
		if in[0] == '\x1b' {
			n, whole := s.colour(in)
			if !whole {
				s.rest = in
				break
			}
			out, in = append(out, in[:n]...), in[max(1, n):]
			continue
		}
		r, n := utf8.DecodeRune(in)
		if r = visible(r); r >= 0 && (r != utf8.RuneError || n > 1) {
			out = s.take(out, r)
		}
		in = in[n:]
	}
	if _, err := s.w.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// take adds a character, apart from those with which it would begin a command of a CI system: "::" at
// the beginning of a line, "##[" and "##vso[" anywhere (actions/runner, ActionCommand.cs).
func (s *shown) take(out []byte, r rune) []byte {
	if s.ci && (s.begins && s.before == ":" && r == ':' || s.before == "##" && (r == '[' || unicode.IsLetter(r))) {
		out = append(out, ' ')
	}
	switch {
	case r == '\n':
		s.begins = true
	case r == ':' && s.before != ":" || r == ' ' || r == '\t':
	default:
		s.begins = false
	}
	switch {
	case r == '#' && (s.before == "#" || s.before == "##"):
		s.before = "##"
	case r == '#' || r == ':':
		s.before = string(r)
	default:
		s.before = ""
	}
	return utf8.AppendRune(out, r)
}

// visible is what is shown in place of a character; -1: nothing.
func visible(r rune) rune {
	switch {
	case r == '\n' || r == '\t' || unicode.IsPrint(r):
		return r
	case unicode.IsSpace(r) && r > 0x85:
		return ' '
	}
	return -1
}

// colour is how long the colour is that some text begins with: 0 where it begins with another
// escape, which is dropped. whole is false where more has to come to tell.
func (s *shown) colour(in []byte) (n int, whole bool) {
	if !s.colours {
		return 0, true
	}
	for _, c := range []string{"0", Bold, Dim, Red, Green, Yellow} {
		sequence := "\x1b[" + c + "m"
		switch {
		case strings.HasPrefix(string(in[:min(len(in), longest)]), sequence):
			return len(sequence), true
		case strings.HasPrefix(sequence, string(in)):
			whole = true
		}
	}
	return 0, !whole
}
