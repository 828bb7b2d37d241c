package logline

import (
	"regexp"
	"slices"
	"strings"
)

// mostReasons is how many lines are quoted where several belong together.
const mostReasons = 4

// Reason is what the log says of why: the line that says most, with the errors right before it, since what is said
// first is what the rest comes from, and with what continues it.
func (s *Story) Reason() string {
	at := s.Primary()
	if at < 0 {
		return ""
	}
	return s.reasonAt(s.origin(at))
}

// ReasonAt is the same of a line that is not the one that says most.
func (s *Story) ReasonAt(i int) string { return s.reasonAt(s.origin(i)) }

// mostMild is how many lines of what goes on may stand between two errors of one end.
const mostMild = 6

// amongTroubles reports whether a line is one of a few of what goes on, right below an error.
func (s *Story) amongTroubles(i int) bool {
	for n := 0; n < mostMild && i >= 0; n, i = n+1, i-1 {
		switch {
		case s.lines[i].severity >= Error:
			return n > 0
		case !s.lines[i].raw.Fits(levelMild):
			return false
		}
	}
	return false
}

// reasonAt is what a line says, with what belongs to it.
func (s *Story) reasonAt(at int) string {
	at = s.whole(at)
	all, leading := s.belonging(at)
	if at > 0 && bareThrown.MatchString(s.lines[at].text) && s.lines[at-1].severity >= Warning {
		return strings.TrimRight(s.lines[at-1].message, ":. ") + ": " + s.lines[at].trimmed // a class alone says little
	}
	return strings.Join(roomFor(all, leading, s.lines[at].severity == Raised), " / ")
}

// whole is the error that tells all that a line says: the line itself, most often.
func (s *Story) whole(at int) int {
	if at+1 == len(s.lines) || !s.continues(at+1, at) { // of its message there is no more
		return s.fuller(at)
	}
	return at
}

// belonging are what a line says and what belongs to that, in their order; so many of them, the line
// itself the last, lead.
func (s *Story) belonging(at int) (all []string, leading int) {
	from, first, most := at, -1, s.lines[at].severity
	if most == Warning {
		from = s.firstWarned(at)
	}
	for i := at - 1; i >= 0 && most >= Error; i-- {
		g := s.lines[i].severity
		switch {
		case most < Raised && s.blames(i):
			from = i // what it takes for a trifle, and comes to that
		case g <= Detail && (most < Raised || strings.HasPrefix(s.lines[at].text, "fatal error: ")), g == Warning && at-from > 0, most == Error && s.amongTroubles(i):
			continue
		case g < Error || s.raises(i):
			i = 0
		case at-i > 1 && Alike(s.lines[i].message, s.lines[at].message):
			i = 0 // it tries again and again, and what was before that is over
		case at-i <= s.mostBefore(at):
			from = i
		case most < Raised:
			first = i // what began it all
		}
	}
	say := func(i int) {
		said := s.headed(i)
		alike := func(other string) bool { return strings.Contains(letters(other), letters(said)) }
		if said != "" && !slices.ContainsFunc(all, alike) && !category.MatchString(said) {
			all = append(all, said)
		}
	}
	if above := max(s.wider(at), s.heading(at)); above >= 0 {
		say(above)
	}
	if first >= 0 {
		say(first)
	}
	for i := from; i < at && len(all) < mostReasons-1; i++ {
		if (s.lines[i].severity >= min(most, Error) || s.blames(i)) && !(s.lines[i].said.Fits(follows) && s.place(at) != "") {
			say(i)
		}
	}
	say(at)
	leading = len(all) // what belongs to it goes first where there is no room
	for i := at + 1; i < len(s.lines) && len(all) < mostReasons && s.continues(i, at); i++ {
		say(i)
	}
	return all, leading
}

// blames reports whether a line is a warning of what an error right after it may come from.
func (s *Story) blames(i int) bool {
	return s.lines[i].severity == Warning && s.has(&s.lines[i], Foretells)
}

// firstWarned is the first of the warnings right above one, which is what the rest comes from.
func (s *Story) firstWarned(at int) int {
	from := at
	for i := at - 1; i >= max(0, at-mostMild); i-- {
		switch g := s.lines[i].severity; {
		case g == Warning && !Alike(s.lines[i].message, s.lines[at].message):
			from = i
		case g != Warning && g != Empty:
			return from
		}
	}
	return from
}

// mostQuoted is how much of some lines fits where they are quoted.
const mostQuoted = 300

// roomFor leaves lines out until the rest can be quoted whole: of so many that lead to the one that
// says most the first and the last stay, before a reason none need, as below it.
func roomFor(all []string, leading int, says bool) []string {
	if len(strings.Join(all, " / ")) > mostQuoted {
		for i, line := range all {
			all[i] = terse(line)
		}
	}
	for len(strings.Join(all, " / ")) > mostQuoted && len(all) > 1 {
		switch {
		case len(all) > leading:
			all = all[:len(all)-1]
		case leading > 2:
			all, leading = slices.Delete(all, leading-2, leading-1), leading-1
		case leading == 2 && says:
			all, leading = all[1:], 1
		default:
			return all
		}
	}
	return all
}

var (
	// paired fits a line that ends with members in logfmt, behind what it says, readOn the address at
	// its end where there is more to read, explains a sentence that says what the one before it means.
	paired   = regexp.MustCompile(`^(.*?[^\s=]):? ((?:[\w.@-]+=(?:"(?:[^"\\]|\\.)*"|\S*)\s*)+)$`)
	explains = regexp.MustCompile(`(?i)^(this|that) (usually |probably |often |most likely )?(means|happens|indicates|is (because|caused|due))\b`)
	readOn   = regexp.MustCompile(`(?i)[:;,.]? *\(?\b(see|read|for|more|background)\b( [\w:]+){0,6} *https?://\S+$`)
)

// terse is a line without what says nothing of why: of its members only the reason, where it has one,
// no address of where to read more, and no sentence that explains the others or advises.
func terse(line string) string {
	line = readOn.ReplaceAllString(line, "")
	all := sentencesOf(line)
	line = strings.Join(slices.DeleteFunc(all, func(one string) bool { return len(all) > 1 && (explains.MatchString(one) || justAdvice(one)) }), " ")
	m := paired.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	for _, p := range pair.FindAllStringSubmatch(m[2], -1) {
		if slices.Contains(reasonsIn, p[1]) {
			return m[1] + ": " + unquoted(p[2])
		}
	}
	return line
}

// bare fits a cause that does not tell what it is about.
var bare = regexp.MustCompile(`^(Caused by: |---> )[\w.$]+( \(\d+\))?: [A-Z][a-z]+( [a-z]+){1,5}$`)

// wider is the cause above one that does not tell what it is about; -1 where there is none.
func (s *Story) wider(at int) int {
	if !bare.MatchString(s.lines[at].trimmed) {
		return -1
	}
	for i := at - 1; i >= 0; i-- {
		switch {
		case s.lines[i].givesReason():
			return i
		case i > 0 && !s.lines[i].frame:
			return -1
		}
	}
	return -1
}

// wider is the same of a stack that is a member of a line.
func wider(lines []string, at int) int {
	if !bare.MatchString(strings.TrimSpace(lines[at])) {
		return -1
	}
	for i := at - 1; i >= 0; i-- {
		switch {
		case IsRaised(strings.TrimSpace(lines[i])):
			return i
		case i > 0 && !IsFrame(lines[i-1], lines[i]):
			return -1
		}
	}
	return -1
}

// hardly fits a reason that is but a word, such as the key that is missing.
var hardly = regexp.MustCompile(`^[\w.]+: ['"]?[\w./:-]+['"]?$`)

// heading is the line of a logger's error whose message, of several lines, ends with a reason that hardly
// says what it is about, or that another failed and not who, which that line does; -1 where there is none.
func (s *Story) heading(at int) int {
	if s.lines[at].severity != Raised {
		return -1
	}
	brief := hardly.MatchString(s.lines[at].trimmed)
	if !brief && (!s.has(&s.lines[at], NamesOther) || s.place(at) != "") {
		return -1
	}
	for i := at - 1; i >= 0; i-- {
		switch l := &s.lines[i]; {
		case !l.logged && l.severity < Error:
		case l.logged && l.severity >= Error && (brief || s.place(i) != ""):
			return i
		default:
			return -1
		}
	}
	return -1
}

// cause fits what runtimes put before an error that another comes from.
var cause = regexp.MustCompile(`^(Caused by: |---> )`)

// fuller is the error above a cause that ends with all that the cause says, and tells more before
// that: the nearest; the cause itself where there is none.
func (s *Story) fuller(at int) int {
	trimmed := s.lines[at].trimmed
	says := cause.ReplaceAllString(trimmed, "")
	if says == trimmed {
		return at
	}
	for i := at - 1; i >= 0; i-- {
		above := cause.ReplaceAllString(s.lines[i].trimmed, "")
		switch reason := IsRaised(above); {
		case reason && above != says && strings.HasSuffix(above, says):
			return i
		case !reason && (i == 0 || !s.lines[i].frame):
			return at
		}
	}
	return at
}

// raises reports whether a line is the reason that a language gives, which says all; many
// programs begin each of their errors with "Error: ".
func (s *Story) raises(i int) bool {
	return s.lines[i].severity == Raised && !strings.HasPrefix(s.lines[i].text, "Error: ")
}

// mostBefore is how many errors before a line may belong to it.
func (s *Story) mostBefore(at int) int {
	switch l := &s.lines[at]; {
	case strings.HasPrefix(l.text, "panic: "):
		return 1 // Go's programs log why they give up
	case strings.HasPrefix(l.text, "fatal error: "):
		return 2 // as its runtime does, and what may help
	case s.raises(at) && at > 0 && !l.logged && s.lines[at-1].logged:
		return 1 // a logger says what was tried, and below it what came of that
	case s.raises(at):
		return 0
	}
	return mostReasons - 1
}

// continues reports whether a line goes on with what the one before it says: it is of the same
// mouth, and has nothing of a logger's before it, or is called a detail.
func (s *Story) continues(i, at int) bool {
	l, most := &s.lines[i], s.lines[at].severity
	switch {
	case most <= Warning || l.severity < Detail || l.said.Fits(access) || l.mild(), l.said.Fits(follows) && s.place(at) != "":
		return false
	case most == Raised:
		return l.severity <= Error && !l.logged && s.goesOn(i)
	}
	return !l.logged && (l.severity == Detail || !s.lines[i-1].logged) || l.said.Fits(furthers)
}

// goesOn reports whether a line below a reason is more of its message, which may have several
// lines: it is indented, or what follows is, or the line before it promises more, or a logger
// begins the other lines with more than that.
func (s *Story) goesOn(i int) bool {
	begun := func(l line) bool { return preamble.MatchString(l.trimmed) }
	indented := func(i int) bool { return i < len(s.lines) && s.lines[i].text != "" && s.lines[i].text[0] <= ' ' }
	before := &s.lines[i-1]
	return indented(i) || indented(i+1) || indented(i+2) || s.hollow(i-1) || strings.HasSuffix(before.trimmed, ":") ||
		strings.HasPrefix(before.text, "Caused by: ") && slices.ContainsFunc(s.lines, begun)
}

// ErrorAt returns what a line says, with the reasons below it: those that are called causes,
// where any are, each said once.
func (s *Story) ErrorAt(at int) string {
	var reasons, caused []string
	for i := at + 1; i < min(len(s.lines), at+longestStack); i++ {
		l := &s.lines[i]
		_, says, _ := strings.Cut(strings.TrimPrefix(l.trimmed, "Caused by: "), ": ")
		said := slices.ContainsFunc(append(reasons, caused...), func(other string) bool { return says != "" && strings.HasSuffix(other, says) })
		switch {
		case said:
		case strings.HasPrefix(l.trimmed, "Caused by: "):
			caused = append(caused, l.trimmed)
		case raised.MatchString(l.trimmed), givesReason.MatchString(l.trimmed):
			reasons = append(reasons, l.trimmed)
		case !l.frame:
			i = len(s.lines)
		}
	}
	if len(caused) > 0 {
		reasons = caused
	}
	return strings.Join(append([]string{s.lines[at].message}, reasons[:min(len(reasons), mostReasons-1)]...), " / ")
}
