package web

import (
	"bytes"
	"encoding/json"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why/prose"
)

// Pages quote pods, nodes and servers. All text of a page comes through one of the two functions below: what a
// browser or a terminal would take for a command, what shows nothing, and what has letters shown in another order
// is dropped, and no line of a page that a CI system prints begins one of its commands ("::", "##[").

// markup is text as it stands in HTML.
func markup(text string) string {
	return strings.NewReplacer("::", ":&#58;", "##", "#&#35;").Replace(html.EscapeString(prose.Shown(text)))
}

// data is a document as JSON, which can stand in an element of HTML.
func data(d timeline.Document) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(true) // no text can end the element that it is in
	if err := e.Encode(d); err != nil {
		return nil, err
	}
	return shownJSON(out.Bytes()), nil
}

// shownJSON drops from the strings of JSON what is not to be shown, escaped or not, and escapes the second of two number
// signs. What is no string has nothing of either.
func shownJSON(in []byte) []byte {
	out := make([]byte, 0, len(in))
	for len(in) > 0 {
		r, n := character(in)
		switch {
		case r == '#' && n == 1 && bytes.HasSuffix(out, []byte("#")):
			out = append(out, `\u0023`...)
		case n == 1 && r < utf8.RuneSelf || isShown(r):
			out = append(out, in[:n]...)
		}
		in = in[n:]
	}
	return out
}

// character reads the character that JSON begins with, and how long it is there. Half a pair of surrogates, and what a
// backslash escapes by a letter, is one.
func character(in []byte) (r rune, n int) {
	if in[0] != '\\' || len(in) < 2 {
		return utf8.DecodeRune(in)
	}
	switch in[1] {
	case 'b', 'f', 'r':
		return '\r', 2
	case 'u':
		if code, err := strconv.ParseUint(string(in[2:min(len(in), 6)]), 16, 16); err == nil && len(in) >= 6 {
			return rune(code), 6
		}
	}
	return ' ', 2
}

func isShown(r rune) bool {
	return r == '\n' || r == '\t' || unicode.IsPrint(r) || unicode.IsSpace(r) && r > 0x85 || 0xd800 <= r && r < 0xe000
}
