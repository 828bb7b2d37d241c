package words

import (
	"regexp"
	"slices"
	"strings"
)

// mostReasons is how many lines are quoted where several belong together.
const mostReasons = 4

// Reason is what the last lines of a log say of why: the line that says most, with the
// errors right before it, since what is said first is what the rest comes from, and with
// what continues it.
func Reason(lines []string) string {
	grave := gravities(lines)
	at := telling(lines, grave)
	if at < 0 {
		return ""
	}
	return reasonAt(lines, grave, origin(lines, grave, at))
}

// mostMild is how many lines of what goes on may stand between two errors of one end.
const mostMild = 6

// amongTroubles says whether a line is one of a few of what goes on, right below an error.
func amongTroubles(lines []string, grave []int, i int) bool {
	for n := 0; n < mostMild && i >= 0; n, i = n+1, i-1 {
		switch {
		case grave[i] >= trouble:
			return n > 0
		case !mild.MatchString(lines[i]):
			return false
		}
	}
	return false
}

// reasonAt is what a line says, with what belongs to it.
func reasonAt(lines []string, grave []int, at int) string {
	at = whole(lines, grave, at)
	all, leading := belonging(lines, grave, at)
	if at > 0 && bareThrown.MatchString(lines[at]) && grave[at-1] >= warning {
		return strings.TrimRight(Gist(lines[at-1]), ":. ") + ": " + strings.TrimSpace(lines[at]) // a class alone says little
	}
	return strings.Join(roomFor(all, leading, grave[at] == reason), " / ")
}

// whole is the error that tells all that a line says: the line itself, most often.
func whole(lines []string, grave []int, at int) int {
	if at+1 == len(lines) || !continues(lines, grave, at+1, at) { // of its message there is no more
		return fuller(lines, at)
	}
	return at
}

// belonging are what a line says and what belongs to that, in their order; so many of them, the line
// itself the last, lead.
func belonging(lines []string, grave []int, at int) (all []string, leading int) {
	from, first, most := at, -1, grave[at]
	if most == warning {
		from = firstWarned(lines, grave, at)
	}
	for i := at - 1; i >= 0 && most >= trouble; i-- {
		switch {
		case most < reason && blames(lines[i], grave[i]):
			from = i // what it takes for a trifle, and comes to that
		case grave[i] <= detail && (most < reason || strings.HasPrefix(lines[at], "fatal error: ")), grave[i] == warning && at-from > 0, most == trouble && amongTroubles(lines, grave, i):
			continue
		case grave[i] < trouble || raises(lines[i], grave[i]):
			i = 0
		case at-i > 1 && Alike(Gist(lines[i]), Gist(lines[at])):
			i = 0 // it tries again and again, and what was before that is over
		case at-i <= mostBefore(lines, at, most):
			from = i
		case most < reason:
			first = i // what began it all
		}
	}
	say := func(i int) {
		gist := headed(lines, i)
		alike := func(other string) bool { return strings.Contains(letters(other), letters(gist)) }
		if gist != "" && !slices.ContainsFunc(all, alike) && !category.MatchString(gist) {
			all = append(all, gist)
		}
	}
	if above := max(wider(lines, at), heading(lines, grave, at)); above >= 0 {
		say(above)
	}
	if first >= 0 {
		say(first)
	}
	for i := from; i < at && len(all) < mostReasons-1; i++ {
		if grave[i] >= min(most, trouble) || blames(lines[i], grave[i]) {
			say(i)
		}
	}
	say(at)
	leading = len(all) // what belongs to it goes first where there is no room
	for i := at + 1; i < len(lines) && len(all) < mostReasons && continues(lines, grave, i, at); i++ {
		say(i)
	}
	return all, leading
}

// blames says whether a line is a warning of what an error right after it may come from.
func blames(line string, g int) bool {
	return g == warning && Any(line, EndsAtOnce, NoApacheVariable, SettingMissing)
}

// firstWarned is the first of the warnings right above one, which is what the rest comes from.
func firstWarned(lines []string, grave []int, at int) int {
	from := at
	for i := at - 1; i >= max(0, at-mostMild); i-- {
		switch {
		case grave[i] == warning && !Alike(Gist(lines[i]), Gist(lines[at])):
			from = i
		case grave[i] != warning && grave[i] != empty:
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
		if slices.Contains(reasons, p[1]) {
			return m[1] + ": " + unquoted(p[2])
		}
	}
	return line
}

// category fits the line that .NET's logger puts above what it says.
var category = regexp.MustCompile(`^(crit|fail|warn|info|dbug|trce): [\w.]+\[\d+\]$`)

// bare fits a cause that does not tell what it is about.
var bare = regexp.MustCompile(`^(Caused by: |---> )[\w.$]+( \(\d+\))?: [A-Z][a-z]+( [a-z]+){1,5}$`)

// wider is the cause above one that does not tell what it is about; -1 where there is none.
func wider(lines []string, at int) int {
	if !bare.MatchString(strings.TrimSpace(lines[at])) {
		return -1
	}
	for i := at - 1; i >= 0; i-- {
		switch trimmed := strings.TrimSpace(lines[i]); {
		case GivesReason(trimmed):
			return i
		case i > 0 && !Frame(lines[i-1], lines[i]):
			return -1
		}
	}
	return -1
}

// hardly fits a reason that is but a word, such as the key that is missing.
var hardly = regexp.MustCompile(`^[\w.]+: ['"]?[\w./:-]+['"]?$`)

// heading is the line of a logger's error whose message, of several lines, ends with a reason that hardly
// says what it is about, or that another failed and not who, which that line does; -1 where there is none.
func heading(lines []string, grave []int, at int) int {
	brief := hardly.MatchString(strings.TrimSpace(lines[at]))
	if grave[at] != reason || !brief && (!OfAnother(lines[at]) || Place(lines[at]) != "") {
		return -1
	}
	for i := at - 1; i >= 0; i-- {
		switch logged := Gist(lines[i]) != strings.TrimSpace(lines[i]); {
		case !logged && grave[i] < trouble:
		case logged && grave[i] >= trouble && (brief || Place(lines[i]) != ""):
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
func fuller(lines []string, at int) int {
	trimmed := strings.TrimSpace(lines[at])
	says := cause.ReplaceAllString(trimmed, "")
	if says == trimmed {
		return at
	}
	for i := at - 1; i >= 0; i-- {
		switch above := cause.ReplaceAllString(strings.TrimSpace(lines[i]), ""); {
		case GivesReason(above) && above != says && strings.HasSuffix(above, says):
			return i
		case !GivesReason(above) && (i == 0 || !Frame(lines[i-1], lines[i])):
			return at
		}
	}
	return at
}

// raises says whether a line is the reason that a language gives, which says all; many
// programs begin each of their errors with "Error: ".
func raises(line string, g int) bool { return g == reason && !strings.HasPrefix(line, "Error: ") }

// mostBefore is how many errors before a line may belong to it.
func mostBefore(lines []string, at, g int) int {
	switch line := lines[at]; {
	case strings.HasPrefix(line, "panic: "):
		return 1 // Go's programs log why they give up
	case strings.HasPrefix(line, "fatal error: "):
		return 2 // as its runtime does, and what may help
	case raises(line, g) && at > 0 && Gist(line) == strings.TrimSpace(line) && Gist(lines[at-1]) != strings.TrimSpace(lines[at-1]):
		return 1 // a logger says what was tried, and below it what came of that
	case raises(line, g):
		return 0
	}
	return mostReasons - 1
}

// continues says whether a line goes on with what the one before it says: it is of the same
// mouth, and has nothing of a logger's before it, or is called a detail.
func continues(lines []string, grave []int, i, at int) bool {
	trimmed := strings.TrimSpace(lines[i])
	gist := Gist(trimmed)
	most := grave[at]
	switch {
	case most <= warning || grave[i] < detail || access.MatchString(gist) || mild.MatchString(trimmed):
		return false
	case most == reason:
		return grave[i] <= trouble && gist == trimmed && goesOn(lines, i)
	}
	return gist == trimmed && (grave[i] == detail || Gist(lines[i-1]) == strings.TrimSpace(lines[i-1])) || furthers.MatchString(gist)
}

// goesOn says whether a line below a reason is more of its message, which may have several
// lines: it is indented, or what follows is, or the line before it promises more, or a logger
// begins the other lines with more than that.
func goesOn(lines []string, i int) bool {
	logged := func(line string) bool { return preamble.MatchString(strings.TrimSpace(line)) }
	indented := func(i int) bool { return i < len(lines) && lines[i] != "" && lines[i][0] <= ' ' }
	return indented(i) || hollow(lines[i-1]) || strings.HasPrefix(lines[i-1], "Caused by: ") && slices.ContainsFunc(lines, logged) || strings.HasSuffix(strings.TrimSpace(lines[i-1]), ":") || slices.ContainsFunc([]int{i + 1, i + 2}, indented)
}

// Error is what a line of a log says, with the reasons below it: those that are called causes,
// where any are, each said once.
func Error(lines []string, at int) string {
	var reasons, caused []string
	for i := at + 1; i < len(lines); i++ {
		trimmed := strings.TrimSpace(lines[i])
		_, says, _ := strings.Cut(strings.TrimPrefix(trimmed, "Caused by: "), ": ")
		said := slices.ContainsFunc(append(reasons, caused...), func(other string) bool { return says != "" && strings.HasSuffix(other, says) })
		switch {
		case said:
		case strings.HasPrefix(trimmed, "Caused by: "):
			caused = append(caused, trimmed)
		case raised.MatchString(trimmed), givesReason.MatchString(trimmed):
			reasons = append(reasons, trimmed)
		case !Frame(lines[i-1], lines[i]):
			i = len(lines)
		}
	}
	if len(caused) > 0 {
		reasons = caused
	}
	return strings.Join(append([]string{Gist(lines[at])}, reasons[:min(len(reasons), mostReasons-1)]...), " / ")
}
