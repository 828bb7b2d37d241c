package logline

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Group is the lines of a log that say the same, but for numbers, ids, addresses and quoted values.
type Group struct {
	Severity Severity // of the gravest of them
	Count    int
	// First and Last are the oldest and the newest of its lines.
	First, Last int
	// From and Until are when these two were written; zero where that is not known.
	From, Until time.Time
}

const (
	// mostGroups is how many groups a log is sorted into: those of which the newest lines are.
	mostGroups = 128
	// longestForm is how much of a message decides in which group it is.
	longestForm = 256
)

// Groups returns what a log says, like lines as one group, in the order of their newest lines. Lines less severe
// than least are in none. times are when the lines were written; nil where that is not known.
func (s *Story) Groups(least Severity, times []time.Time) []Group {
	var all []Group
	at := map[string]int{}
	for i, l := range slices.Backward(s.lines) {
		if l.severity < least || l.message == "" {
			continue
		}
		form := formOf(l.message)
		n, known := at[form]
		if !known && len(all) == mostGroups {
			continue
		}
		if !known {
			n = len(all)
			at[form] = n
			all = append(all, Group{Last: i, Until: timeOf(times, i)})
		}
		g := &all[n]
		g.Count, g.Severity, g.First, g.From = g.Count+1+l.more, max(g.Severity, l.severity), i, timeOf(times, i)
		if l.more > 0 {
			g.From = l.since
		}
	}
	slices.Reverse(all)
	return all
}

const (
	// copies is how many of the newest lines that are alike are read of a long log, mostRead how many lines in all.
	copies, mostRead = 3, 400
)

// ParseLong is [Parse] of a log of any length: of lines that are alike only the newest are read, and the others
// counted. It returns the times of those that are left.
func ParseLong(lines []string, times []time.Time, hints Hints) (*Story, []time.Time) {
	seen, oldest := map[string]int{}, map[string]int{} // of a form how many lines are read, and the first of them
	more, since := map[int]int{}, map[int]time.Time{}
	var which []int
	for i, text := range slices.Backward(lines) {
		form := formOf(text)
		if n := seen[form]; n == copies {
			more[oldest[form]]++
			since[oldest[form]] = timeOf(times, i)
			continue
		}
		if len(which) == mostRead {
			continue
		}
		which = append(which, i)
		seen[form]++
		oldest[form] = i
	}
	slices.Reverse(which)
	kept := make([]string, len(which))
	var at []time.Time
	for i, n := range which {
		kept[i] = lines[n]
		if len(times) == len(lines) {
			at = append(at, times[n])
		}
	}
	s := Parse(kept, hints)
	for i, n := range which {
		s.lines[i].more, s.lines[i].since = more[n], since[n]
	}
	return s, at
}

func timeOf(times []time.Time, i int) time.Time {
	if i < len(times) {
		return times[i]
	}
	return time.Time{}
}

// formOf returns a message with what differs from one time to the next masked: each word with a digit as #, what
// stands in quotes as "". A message that is nothing but such things is its own form.
func formOf(message string) string {
	if len(message) > longestForm {
		message = strings.ToValidUTF8(message[:longestForm], "")
	}
	var b strings.Builder
	letters := false
	for i := 0; i < len(message); {
		r, size := utf8.DecodeRuneInString(message[i:])
		if end := closing(message, i); end > i {
			b.WriteString(`""`)
			i = end
			continue
		}
		if !inWord(r) {
			b.WriteRune(r)
			i += size
			continue
		}
		end := i + strings.IndexFunc(message[i:], func(r rune) bool { return !inWord(r) })
		if end < i {
			end = len(message)
		}
		if word := message[i:end]; strings.ContainsAny(word, "0123456789") {
			b.WriteByte('#')
		} else {
			b.WriteString(word)
			letters = letters || strings.ContainsFunc(word, unicode.IsLetter)
		}
		i = end
	}
	if !letters {
		return message
	}
	return b.String()
}

// inWord reports whether a character is one of a word, an id, a name or a number.
func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.' || r == '%'
}

// closing returns the end of a quoted value that begins at i; 0 where none does, or it does not end.
func closing(message string, i int) int {
	quote := message[i]
	if quote != '"' && quote != '\'' && quote != '`' || i > 0 && quote == '\'' && message[i-1] != ' ' && message[i-1] != '(' && message[i-1] != '=' {
		return 0
	}
	for j := i + 1; j < len(message); j++ {
		switch {
		case message[j] == '\\':
			j++
		case message[j] == quote, quote == '`' && message[j] == '\'':
			return j + 1
		}
	}
	return 0
}
