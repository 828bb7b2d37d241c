package words

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Telling is which of the last lines of a log says most of why its program ended: the last
// that gives a reason, or that a program calls fatal, or one of the last three that has the
// system's words, or the last that tells of an error where what follows only goes on with it
// or says that it ends, or is said after that; or else the last that is not empty; -1 where
// there is none.
func Telling(lines []string) int { return telling(lines, gravities(lines)) }

// telling is the same of lines whose gravities are known.
func telling(lines []string, grave []int) int {
	best, most, behind := -1, empty, 0
	ending, before, went, milds := false, false, false, 0
	for i, line := range slices.Backward(lines) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		behind++
		g := grave[i]
		switch {
		case g == warning:
			g = plain // it had got over that
		case g == system && behind > 3:
			g = trouble
		}
		switch {
		case g == parting && poor.MatchString(Gist(line)), g == plain && hollow(line):
			ending = !before // what it says after that is no reason
		case g == plain && grave[i] == plain:
			ending, before, went = false, before || ending, true
		}
		if g == plain && milds >= 0 && mild.MatchString(line) {
			milds++
		} else if g == plain {
			milds = -1
		}
		if g == trouble && went && most == plain && !ending && (milds < 1 || milds > afterwards) && !furthered(lines, i) && (behind != 2 || Gist(lines[best]) != strings.TrimSpace(lines[best])) {
			continue // a later line of its own, and no mere goodbye
		}
		if g > most {
			best, most = i, g
		}
	}
	return best
}

// furthered says whether the line after one goes on with it.
func furthered(lines []string, i int) bool {
	return i+1 < len(lines) && furthers.MatchString(Gist(lines[i+1]))
}

// origin is the line from which the one comes that says most: itself, or the last error before
// it where it is but what came of that.
func origin(lines []string, grave []int, at int) int {
	if !hollow(lines[at]) {
		return at
	}
	complaint := at
	for i := at - 1; i >= 0; i-- {
		switch {
		case hollow(lines[i]):
		case furthers.MatchString(Gist(lines[i])):
		case grave[i] >= trouble:
			return i
		case complaint == at && grave[i] == plain && complains.MatchString(lines[i]):
			complaint = i
		case complaint == at && grave[i] != empty:
			complaint = i + 1 // nothing is right before it
		}
	}
	if complaint < at && complains.MatchString(lines[complaint]) {
		return complaint
	}
	return at
}

// complains fits what a program says under its name.
var complains = regexp.MustCompile(`^[\w./-]+: \S`)

// Root is the line of a log from which the reason comes that it tells of, with the cause above it
// where it names nothing; empty where the log is.
func Root(lines []string) string {
	grave := gravities(lines)
	at := telling(lines, grave)
	if at < 0 {
		return ""
	}
	at = origin(lines, grave, at)
	if above := wider(lines, at); above >= 0 {
		return Gist(lines[above]) + " / " + Gist(lines[at])
	}
	return lines[at]
}

// hollow says whether a line tells that something failed, or ended, and nothing of why.
func hollow(line string) bool {
	gist := Gist(line)
	return upshot.MatchString(gist) || onlyFailed.MatchString(gist)
}

// newestOfGravest is which line of the log of a program that goes on says most of what fails,
// whatever it said after it: the newest of the gravest; -1 where none is as grave as least.
func newestOfGravest(lines []string, grave []int, least int) int {
	best, most := -1, least-1
	for i := range slices.Backward(lines) {
		if grave[i] > most && !(grave[i] == system && most == trouble && triesAgain(lines[i+1:], lines[best])) {
			best, most = i, grave[i]
		}
	}
	return best
}

// triesAgain says whether an error stands so often among some lines that it is what each try comes to:
// what came of those before is over then.
func triesAgain(lines []string, said string) bool {
	n := 0
	for _, line := range lines {
		if Alike(Gist(line), Gist(said)) {
			n++
		}
	}
	return n >= tries
}

// tries is how often one has to fail alike to be one who tries again and again.
const tries = 3

// Trouble is what the log of a program that goes on says of what fails; "" where nothing in
// it is an error, or a warning where those are asked for.
func Trouble(lines []string, warned bool) string {
	least := trouble
	if warned {
		least = warning
	}
	grave := gravities(lines)
	at := newestOfGravest(lines, grave, least)
	if at < 0 {
		return ""
	}
	return reasonAt(lines, grave, origin(lines, grave, at))
}

// firsts is how many lines are kept for what they say, before what was said last.
const firsts = 4

// LastOf is the last of some lines that has a phrase; -1 where none has.
func LastOf(lines []string, p *Phrase) int {
	for i, line := range slices.Backward(lines) {
		if p.In(line) {
			return i
		}
	}
	return -1
}

// LastWaitingForRoom is the last line of a log which says that its program waits for room on a
// disk, at whatever level; -1 where none does.
func LastWaitingForRoom(lines []string) int {
	for i, line := range slices.Backward(lines) {
		if NoSpace.In(line) && Waits.In(line) {
			return i
		}
	}
	return -1
}

// Complains says whether a line of a log tells of something that went wrong.
func Complains(line string) bool { return gravities([]string{line})[0] >= trouble }

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

// reasonAt is what a line says, with what belongs to it.
func reasonAt(lines []string, grave []int, at int) string {
	if at+1 == len(lines) || !continues(lines, grave, at+1, at) { // of its message there is no more
		at = fuller(lines, at)
	}
	from, first, most := at, -1, grave[at]
	for i := at - 1; i >= 0 && most >= trouble; i-- {
		switch {
		case grave[i] <= detail && most < reason, grave[i] == warning && at-from > 0, most == trouble && i > 0 && grave[i-1] >= trouble && mild.MatchString(lines[i]):
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
	var all []string
	say := func(line string) {
		gist := Gist(line)
		alike := func(other string) bool { return strings.Contains(letters(other), letters(gist)) }
		if gist != "" && !slices.ContainsFunc(all, alike) && !category.MatchString(gist) {
			all = append(all, gist)
		}
	}
	if above := wider(lines, at); above >= 0 {
		say(lines[above])
	}
	if first >= 0 {
		say(lines[first])
	}
	for i := from; i < at && len(all) < mostReasons-1; i++ {
		if grave[i] >= trouble {
			say(lines[i])
		}
	}
	say(lines[at])
	leading := len(all) // what belongs to it goes first where there is no room
	for i := at + 1; i < len(lines) && len(all) < mostReasons && continues(lines, grave, i, at); i++ {
		say(lines[i])
	}
	return strings.Join(roomFor(all, leading, grave[at] == reason), " / ")
}

// mostQuoted is how much of some lines fits where they are quoted.
const mostQuoted = 300

// roomFor leaves lines out until the rest can be quoted whole: of so many that lead to the one that
// says most the first and the last stay, before a reason none need, as below it.
func roomFor(all []string, leading int, says bool) []string {
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
	return indented(i) || strings.HasPrefix(lines[i-1], "Caused by: ") && slices.ContainsFunc(lines, logged) || strings.HasSuffix(strings.TrimSpace(lines[i-1]), ":") || slices.ContainsFunc([]int{i + 1, i + 2}, indented)
}

// Alike says whether two lines tell the same, of two times.
func Alike(a, b string) bool { return letters(a) == letters(b) && letters(a) != "" || a == b }

// letters are those of a text: two lines that have the same tell the same of two times.
func letters(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, text)
}

// Failed says whether the last lines of a log have the words of a failure: a reason as
// languages give it, or what a program calls fatal.
func Failed(lines []string) bool {
	grave := gravities(lines)
	i := telling(lines, grave)
	return i >= 0 && grave[i] >= fatal
}

// afterwards is how many lines of its own a program may say after the words of a failure and
// still have ended for it: more of them mean that it went on.
const afterwards = 3

// EndsFailed says whether what was said last are the words of a failure: nothing, or next to
// nothing, but goodbyes follows them.
func EndsFailed(lines []string) bool {
	grave := gravities(lines)
	i := telling(lines, grave)
	if i < 0 || grave[i] < fatal {
		return false
	}
	more := 0
	for _, g := range grave[i+1:] {
		if g == plain || g == warning {
			more++
		}
	}
	return more < afterwards
}

// Troubled says whether the last lines of a log tell of an error at all.
func Troubled(lines []string) bool {
	grave := gravities(lines)
	i := telling(lines, grave)
	return i >= 0 && grave[i] >= trouble
}

// mostBetween is how many reasons are kept of those between an error and the last one of it.
const mostBetween = 2

// between are the reasons right before the one that says most, with nothing but frames of a
// stack in between: what a runtime calls the last of them may be what a person knows least of.
func between(lines []string, order []int) (all []int) {
	if len(order) == 0 {
		return nil
	}
	for i := order[0] - 1; i > 0 && len(all) < mostBetween; i-- {
		switch trimmed := strings.TrimSpace(lines[i]); {
		case strings.HasPrefix(trimmed, "Caused by: "):
			all = append(all, i)
		case !Frame(lines[i-1], lines[i]):
			return all
		}
	}
	return all
}

// OfPort is the last line of a log that tells of an error and names a port as one; -1 where none
// does. A short number needs its word before it: it may be a line's.
func OfPort(lines []string, port int) int {
	form := `(?i)\bport\b\W{0,3}%d\b`
	if port >= 1000 {
		form = `(?i)(?:\bport\b\W{0,3}|[a-z\]*\d][:-]|:)%d\b`
	}
	named := regexp.MustCompile(fmt.Sprintf(form, port))
	grave := gravities(lines)
	for i, line := range slices.Backward(lines) {
		if named.MatchString(line) && grave[i] >= trouble {
			return i
		}
	}
	return -1
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

// Keep chooses those of the last lines of a log that are worth keeping, in their order, and
// says which they were: at most so many, and so many bytes together. What says most comes
// first, then the first errors, then what was said last; the frames of a stack give way to
// all of them.
func Keep(lines []string, most, bytes int) (kept []string, which []int) {
	lines = slices.Clone(lines)
	for i, line := range lines {
		lines[i] = uncoloured(line)
		if len(line) > bytes/2 {
			lines[i] = shortened(lines[i])
		}
	}
	grave := gravities(lines)
	var order, frames []int
	if i := telling(lines, grave); i >= 0 {
		order = append(order, i)
	}
	if i := newestOfGravest(lines, grave, warning); i >= 0 {
		order = append(order, i)
	}
	for i := range lines { // what failed first is often why the rest did
		said := func(other int) bool { return Alike(lines[other], lines[i]) }
		if grave[i] >= trouble && len(order) < firsts && !slices.ContainsFunc(order, said) {
			order = append(order, i)
		}
	}
	order = append(order, between(lines, order)...)
	for i := 1; len(order) > 0 && i < mostReasons; i++ { // the rest of its message
		if j := order[0] + i; j >= len(lines) || grave[j] < plain || !continues(lines, grave, j, order[0]) {
			break
		}
		order = append(order, order[0]+i)
	}
	for i, line := range slices.Backward(lines) {
		switch before := lines[max(0, i-1)]; {
		case strings.TrimSpace(line) == "":
		case i > 0 && Frame(before, line) || i == 0 && Frame("", line):
			frames = append(frames, i)
		default:
			order = append(order, i)
		}
	}
	chosen := map[int]string{}
	for _, i := range append(order, frames...) {
		line := lines[i]
		if _, have := chosen[i]; have {
			continue
		}
		if len(chosen) == 0 && len(line) > bytes {
			line = strings.ToValidUTF8(line[:bytes], "")
		}
		if len(chosen) == most || len(line) > bytes {
			break
		}
		chosen[i], bytes = line, bytes-len(line)
	}
	for i := range lines {
		if line, ok := chosen[i]; ok {
			kept, which = append(kept, line), append(which, i)
		}
	}
	return kept, which
}
