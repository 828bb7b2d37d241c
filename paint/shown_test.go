package paint

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestShown(t *testing.T) {
	for in, want := range map[string]string{
		"pod web · NotReady\n\tat x": "pod web · NotReady\n\tat x",
		"\x1b]0;PWNED\x07\x1b[2Jx":   "]0;PWNED[2Jx",
		"a\rb\bc\x7fd\u0085e\u009bf": "abcdef",
		"ab\u202ecd\u2066e\u200bf":   "abcdef",
		"a\u00a0b":                   "a b",
		"\x1b[31mred\x1b[0m":         "[31mred[0m", // not on a terminal
		"a\xffb\xc3":                 "ab",
		"日本 é ü":                     "日本 é ü",
	} {
		t.Setenv("GITHUB_ACTIONS", "")
		var out bytes.Buffer
		w := Shown(&out)
		for i := range len(in) { // byte for byte
			if _, err := w.Write([]byte{in[i]}); err != nil {
				t.Fatal(err)
			}
		}
		if out.String() != want {
			t.Errorf("%q: %q, not %q", in, out.String(), want)
		}
	}
}

// Colours of ours get through, others do not.
func TestShownColours(t *testing.T) {
	var out bytes.Buffer
	w := &shown{w: &out, colours: true}
	for _, part := range []string{"\x1b", "[31", "mred\x1b[0m\x1b[8mhid", "den\x1b[1mbold\x1b[0m\x1b]8;;x\x07"} {
		if _, err := w.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	if want := "\x1b[31mred\x1b[0m[8mhidden\x1b[1mbold\x1b[0m]8;;x"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}

// A command's output is wrapped, and what reports its error wraps it again.
func TestRaw(t *testing.T) {
	var out bytes.Buffer
	if Raw(Shown(Shown(&out))) != &out {
		t.Error("a writer is left around the one that was wrapped twice")
	}
}

// No line begins a command of a CI system there, whoever wrote it.
func TestShownInCI(t *testing.T) {
	t.Setenv("GITHUB_ACTIONS", "true")
	for in, want := range map[string]string{
		"  ::set-output name=x::y\n":  "  : :set-output name=x::y\n",
		"::error file=a::owned":       ": :error file=a::owned",
		"std::string\n":               "std::string\n",
		"x ##[error]y ##vso[task]":    "x ## [error]y ## vso[task]",
		"### a heading\n":             "### a heading\n",
		":\x00:error::\n \u200b::add": ": :error::\n : :add",
	} {
		var out bytes.Buffer
		if _, err := Shown(&out).Write([]byte(in)); err != nil || out.String() != want {
			t.Errorf("%q: %q, not %q", in, out.String(), want)
		}
	}
}

var command = regexp.MustCompile(`##(\[|\pL)`)

func FuzzShown(f *testing.F) {
	f.Add([]byte("\x1b[31m::\x1b[0m:x\u202e"), 3)
	f.Add([]byte("##\x00["), 1)
	f.Fuzz(func(t *testing.T, in []byte, at int) {
		var out bytes.Buffer
		w := &shown{w: &out, ci: true, begins: true}
		at = max(0, min(at, len(in)))
		_, _ = w.Write(in[:at])
		_, _ = w.Write(in[at:])
		text := out.String()
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }) {
			t.Errorf("%q is shown as %q", in, text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "::") || command.MatchString(line) {
				t.Errorf("%q is shown as %q", in, text)
			}
		}
	})
}
