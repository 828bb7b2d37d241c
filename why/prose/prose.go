// Package prose words what answers, what-ifs and suggestions share: durations,
// counts, sizes, names, and lines that fit a screen. All functions are pure.
package prose

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Span words a duration as a person would: two significant parts at most.
func Span(d time.Duration) string {
	switch d = d.Abs(); {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strings.Replace(fmt.Sprintf("%.1f s", d.Seconds()), ".0 s", " s", 1)
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// Times words how often something happened.
func Times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// Wrap breaks text into lines of at most so many characters, between words.
func Wrap(text string, most int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len([]rune(line))+1+len([]rune(word)) > most {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// Plural is n things.
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %s%s", n, thing, Whether(strings.HasSuffix(thing, "s"), "es", "s"))
}

// Seconds is a duration in whole seconds, rounded up.
func Seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// Clock is a time of day, in UTC as everything in an answer.
func Clock(t time.Time) string { return t.UTC().Format("15:04:05") + "Z" }

// Size words bytes as manifests do: 48Mi. It keeps four digits at least.
func Size(bytes int64) string {
	unit := int64(1)
	for bytes/unit >= 10_000 {
		unit *= 1024
	}
	n, suffix := bytes/unit*unit, 0
	for ; n != 0 && n%1024 == 0; suffix++ {
		n /= 1024
	}
	return fmt.Sprint(n) + [...]string{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"}[suffix]
}

// Shown is text without what is not to be shown: control characters, escapes of terminals, and
// characters that show nothing or have what follows shown in another order. Tabs and ends of lines
// stay. Text that has none of these is given back as it is.
func Shown(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || unicode.IsPrint(r):
			return r
		case unicode.IsSpace(r) && r > 0x7f && r != 0x85:
			return ' '
		}
		return -1
	}, text)
}

// OneLine is Shown on one line.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' {
			return ' '
		}
		return r
	}, Shown(strings.ReplaceAll(text, "\r", "\n")))
}

// Brief is text on one line, at most so many characters, without what a terminal
// could take for a command: it comes from applications.
func Brief(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// Midst is text on one line as Brief makes it, with what is too much cut out of its midst, between
// words where there are any: for what tells most at its end.
func Midst(text string, most int) string {
	r := []rune(Brief(text, len(text)))
	if len(r) <= most {
		return string(r)
	}
	tail := (most - 1) / 2
	head, end := string(r[:most-1-tail]), string(r[len(r)-tail:])
	if i := strings.LastIndexByte(head, ' '); i >= max(0, len(head)-word) {
		head = head[:i+1]
	}
	if i := strings.IndexByte(end, ' '); i >= 0 && i < word {
		end = end[i:]
	}
	return head + "…" + end
}

// Wrapped is text on one line as Brief makes it, where it is an error that others wrapped in theirs: the first
// says what was to be done and the last why it was not, so what is too much is left out between them.
func Wrapped(text string, most int) string {
	text = Brief(text, len(text))
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	parts := clauses(text)
	first, last := parts[0]+": …", ""
	for _, part := range slices.Backward(parts[1:]) {
		longer := strings.TrimSuffix(part+": "+last, ": ")
		if utf8.RuneCountInString(first)+1+utf8.RuneCountInString(longer) > most {
			break
		}
		last = longer
	}
	switch {
	case last != "":
	case len(parts) < 3:
		return Brief(text, most)
	default:
		return Midst(text, most)
	}
	return first + " " + strings.TrimPrefix(last, "… ")
}

// Last is the end of an error that others wrapped in theirs, which says why: its last clauses, as many as fit.
func Last(text string, most int) string {
	parts := clauses(Brief(text, len(text)))
	last := parts[len(parts)-1]
	for _, part := range slices.Backward(parts[:len(parts)-1]) {
		if utf8.RuneCountInString(part)+2+utf8.RuneCountInString(last) > most {
			break
		}
		last = part + ": " + last
	}
	return Midst(last, most)
}

// clauses are the parts of an error between the colons that are in no quotes or brackets.
func clauses(text string) []string {
	var parts []string
	begin, depth, quoted := 0, 0, false
	for i := 0; i+1 < len(text); i++ {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case quoted:
		case text[i] == '(':
			depth++
		case text[i] == ')':
			depth--
		case text[i] == ':' && text[i+1] == ' ' && depth <= 0:
			parts, begin = append(parts, text[begin:i]), i+2
		}
	}
	return append(parts, text[begin:])
}

// word is how long a word may be that is left out whole, rather than cut.
const word = 16

// Whether is one of two: yes where it is so.
func Whether[T any](is bool, yes, no T) T {
	if is {
		return yes
	}
	return no
}

// Each is what say says of each of some.
func Each[T any](all []T, say func(T) string) []string {
	said := make([]string, 0, len(all))
	for _, one := range all {
		said = append(said, say(one))
	}
	return said
}

// Some lists names, as many as can be read.
func Some(names []string) string {
	const most = 10
	if n := len(names); n > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}

// Upper makes a sentence of a clause.
func Upper(s string) string {
	if s == "" {
		return s
	}
	r := []rune(s)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// Distance counts the letters to insert, remove or replace to make b of a
// (Levenshtein).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := corner
			if a[i] != b[j] {
				d = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// Nearest returns the name that differs least from another, in a third of its letters at most, in one at least or
// in two that changed places; empty where none does. An equal one is no other.
func Nearest(name string, all []string) (best string) {
	const longest = 253 // of an object's name
	least := max(1, len(name)/3) + 1
	for _, one := range all {
		if one == name || len(one) > longest || len(name) > longest {
			continue
		}
		d := Distance(strings.ToLower(name), strings.ToLower(one))
		if d == 2 && slices.Equal(letters(name), letters(one)) {
			d = 1
		}
		if d < least || d == least && best != "" && one < best {
			least, best = d, one
		}
	}
	return best
}

func letters(s string) []byte { return slices.Sorted(slices.Values([]byte(s))) }
