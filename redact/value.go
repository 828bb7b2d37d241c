package redact

import (
	"regexp"
	"strings"
)

// value is a value in a text, without its quotes.
type value struct {
	from, to int
	quoted   bool
	nested   bool // an object or a list
}

// yamlTag fits a type before a value of YAML.
var yamlTag = regexp.MustCompile(`^!!?[a-z]\w* `)

// value finds where the value that begins at a place ends.
func (s *scanner) value(n name, from int) value {
	text := s.text
	if m := yamlTag.FindString(text[from:min(len(text), from+40)]); m != "" {
		from += len(m)
	}
	open := from
	for open < len(text) && text[open] == '\\' {
		open++
	}
	if open == from && open+1 < len(text) && strings.IndexByte("bruf@$", text[open]) >= 0 && (text[open+1] == '"' || text[open+1] == '\'') {
		open++ // b'…' of Python
	}
	if strings.HasPrefix(text[from:], Mark) {
		if strings.HasPrefix(text[from+len(Mark):], "@") {
			return value{from: from, to: from + len(Mark)}
		}
		return value{from: from, to: s.bareEnd(n, from)}
	}
	if open < len(text) {
		switch q := text[open]; q {
		case '"', '\'', '`':
			if v, ok := s.quotedValue(n, open, open-from, q); ok {
				return v
			}
		case '{', '[':
			if to, ok := balanced(text, open); ok {
				return value{from: open, to: to, nested: true}
			}
			return value{from: open, to: s.lineEnd(open), nested: true}
		}
	}
	return value{from: from, to: s.bareEnd(n, from)}
}

// quotedValue ends at the quote that opened it; one that is doubled or escaped belongs to it, and so does
// what follows without a blank, as in a shell.
func (s *scanner) quotedValue(n name, open, escapes int, q byte) (value, bool) {
	text := s.text
	end := closing(text, open+1, q)
	if escapes > 0 && text[open-1] == '\\' {
		end = strings.Index(text[open+1:], text[open-escapes:open+1])
		if end >= 0 {
			end += open + 1
		}
	}
	if end < 0 {
		return value{from: open + 1, to: s.lineEnd(open + 1), quoted: true}, open+1 < len(text)
	}
	next := end + 1 + min(escapes, 1)*escapes
	if escapes > 0 || next >= len(text) || ends(text[next]) {
		return value{from: open + 1, to: end, quoted: true}, true
	}
	return value{from: open, to: s.bareEnd(n, end)}, true
}

// ends reports whether a character behind a closing quote ends a value.
func ends(c byte) bool {
	return isBlank(c) || isLine(c) || strings.IndexByte(",;:)]}>/.\\&|", c) >= 0
}

// closing is where a quote that was opened before a place is closed in its line; -1 where
// it is not. A backslash escapes it, and so does another quote.
func closing(text string, from int, q byte) int {
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\n':
			return -1
		case q:
			if i+1 < len(text) && text[i+1] == q && q == '\'' {
				i++
				continue
			}
			return i
		}
	}
	return -1
}

const longestNested = 4096

// balanced is the end of an object or a list.
func balanced(text string, open int) (end int, ok bool) {
	depth := 0
	for i := open; i < len(text) && i-open < longestNested; i++ {
		switch c := text[i]; c {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1, true
			}
		case '"', '\'':
			if to := closing(text, i+1, c); to > 0 {
				i = to
			}
		}
	}
	return 0, false
}

// bareEnd is where a value without quotes ends: at a blank, at the end of the quotes that
// its name stands in, or where another name begins behind a comma or the like. The scheme of a header
// before it belongs to it.
func (s *scanner) bareEnd(n name, from int) int {
	i := s.bareWord(n, from)
	for range mostSchemes {
		if !isScheme(s.text[from:i]) || i+1 >= len(s.text) || s.text[i] != ' ' {
			break
		}
		from = i + 1
		i = s.bareWord(n, from)
	}
	return trimRight(s.text, from, i)
}

// mostSchemes is how many words like Bearer are taken for one before a value.
const mostSchemes = 2

// bareWord is where the first word of such a value ends.
func (s *scanner) bareWord(n name, from int) int {
	q, at := s.quoteAround(n.left)
	limit := -1
	if q != 0 {
		limit = closing(s.text, at+1, q)
	}
	i := from
	for ; i < len(s.text); i++ {
		c := s.text[i]
		if isBlank(c) || isLine(c) || i == limit || i > from && s.nextName(i) {
			break
		}
	}
	return i
}

// trimRight leaves out what closes the text around a value.
func trimRight(text string, from, to int) int {
	for to > from+1 && strings.IndexByte(",;)]}\"'`>. \t", text[to-1]) >= 0 {
		if at := strings.IndexByte(")]}", text[to-1]); at >= 0 && strings.Count(text[from:to], ")]}"[at:at+1]) <= strings.Count(text[from:to], "([{"[at:at+1]) {
			break // it closes what the value itself opened
		}
		to--
	}
	return to
}

// nextName reports whether a separator at a place is followed by another name and its
// value: "&user=x", ";Database=x", `\nnext=`.
func (s *scanner) nextName(i int) bool {
	at := s.text[i:]
	switch {
	case at[0] == '&' || at[0] == ';' || at[0] == ',' || at[0] == '|':
		at = at[1:]
	case len(at) > 2 && at[0] == '\\' && (at[1] == 'n' || at[1] == 'r' || at[1] == 't' || at[1] == 'u'):
		at = at[2:]
		if s.text[i+1] == 'u' { // \u0026, as Go's JSON has an &
			if len(at) < 5 || at[:4] != "0026" && at[:4] != "003c" {
				return false
			}
			at = at[4:]
		}
	case len(at) > 3 && fold(at[:3], "%26"):
		at = at[3:]
	default:
		return false
	}
	at = strings.TrimLeft(at, " \"'\\")
	end := 0
	for end < len(at) && end < longestName && (inName(at[end]) || at[end] == ' ' && end > 0) {
		end++
	}
	if end == 0 || !isLetter(at[0]) && at[0] != '_' && at[0] != '-' {
		return false
	}
	rest := strings.TrimLeft(at[end:], "\"'\\")
	return separator(rest) > 0
}

// lineEnd is the end of the line that a place stands in.
func (s *scanner) lineEnd(from int) int {
	if i := strings.IndexAny(s.text[from:], "\r\n"); i >= 0 {
		return from + i
	}
	return len(s.text)
}

// quoteAround is the quote that a place of a line stands in, and where it was opened; 0 for
// none. An apostrophe within a word opens none.
func (s *scanner) quoteAround(i int) (q byte, at int) {
	from := strings.LastIndexByte(s.text[:i], '\n') + 1
	from = max(from, i-longestNested)
	for k := from; k < i; k++ {
		c := s.text[k]
		switch {
		case c == '\\':
			k++
		case q != 0 && c == q:
			q = 0
		case q == 0 && (c == '"' || c == '`' || c == '\'' && (k == from || !isWord(s.text[k-1]))):
			q, at = c, k
		}
	}
	return q, at
}
