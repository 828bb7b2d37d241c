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
		case grave[at] == reason && i+1 < at && strings.HasPrefix(strings.TrimSpace(lines[i+1]), "Traceback "): // it only says where that was met
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
	if below(lines, at) >= 0 {
		return headed(lines, at)
	}
	return lines[at]
}

// hollow says whether a line tells that something failed, or ended, and nothing of why.
func hollow(line string) bool {
	gist := Gist(line)
	return (upshot.MatchString(gist) || onlyFailed.MatchString(gist)) && !Credentials.In(gist)
}

// newestOfGravest is which line of the log of a program that goes on says most of what fails,
// whatever it said after it: the newest of the gravest; -1 where none is as grave as least.
func newestOfGravest(lines []string, grave []int, least int) int {
	best, most := -1, least-1
	for i := range slices.Backward(lines) {
		if best >= 0 && grave[i] == warning && most == warning && complaint.MatchString(lines[i]) && !complaint.MatchString(lines[best]) {
			best = i
		}
		if grave[i] > most && !(grave[i] == system && most == trouble && triesAgain(lines[i+1:], lines[best])) {
			best, most = i, grave[i]
		}
	}
	return best
}

// complaint fits a warning that tells of something that failed, and not of what is only not as good as
// it could be.
var complaint = regexp.MustCompile(`(?i)\b(errors?|fail(ed|s|ure)?|cannot|can't|unable|could not|reject(ed|s)?|refused|denied|invalid|unknown|lost|timed? ?out|blocked|exceed(ed|s)?|stalled)\b`)

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
	grave := gravities(lines)
	at := troubles(lines, grave, warned)
	if at < 0 {
		return ""
	}
	return reasonAt(lines, grave, at)
}

// troubles is the line that says what fails, and from which that comes; -1 where none does.
func troubles(lines []string, grave []int, warned bool) int {
	least := trouble
	if warned {
		least = warning
	}
	at := newestOfGravest(lines, grave, least)
	if at < 0 {
		return -1
	}
	return origin(lines, grave, at)
}

// SaidAgain is what a program says again and again, and nothing else: something that it does not
// call an error, as it fails each request; "" where it says several things, or of requests.
func SaidAgain(lines []string) string {
	said, times := "", 0
	for _, line := range lines {
		gist := Gist(line)
		switch {
		case gist == "", access.MatchString(gist):
		case said != "" && !Alike(said, gist), mild.MatchString(line), strings.Contains(gist, "HTTP/"):
			return ""
		default:
			said, times = gist, times+1
		}
	}
	if times < 2 {
		return ""
	}
	return said
}

// Tells says whether a line of a log tells of anything but a request, or of where in the source it is.
func Tells(line string) bool {
	gist := Gist(line)
	return gist != "" && !access.MatchString(gist) && !poor.MatchString(gist) && !Frame("", line)
}

// turn fits what programs say when they begin to do less: of a signal, of what they leave off, of a limit.
var turn = regexp.MustCompile(`(?i)\b(received|got|caught|signal|SIG[A-Z]{2,5}\d?|quiet|drain(ing|ed)?|paus(e|ed|ing)|maintenance|read[- ]only|standby|suspend(ed|ing)?|shut(ting)?[ -]?down|stop(s|ped|ping)?|terminat(ed|ing)|leaving|left|slow|exceed(ed|s)|reached|full|lost|disabled?|locked|stuck|still in|no longer|not any ?more)\b`)

// TellsOfTurn says whether a line tells that a program begins to do less than before.
func TellsOfTurn(line string) bool { return turn.MatchString(Gist(line)) }

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

// Alike says whether two lines tell the same, of two times.
func Alike(a, b string) bool { return letters(a) == letters(b) && letters(a) != "" || a == b }

// Within says whether a text has another in it, whatever stands between their letters.
func Within(text, part string) bool {
	return strings.Contains(strings.ToLower(letters(text)), strings.ToLower(letters(part)))
}

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
	if i < 0 || grave[i] < fatal && !endsForIt(lines, grave, i) {
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

var (
	// capnslog fits an error as etcd's logger wrote it, which had no other word for what it ended for,
	// toldToEnd what a program says that is to end.
	capnslog  = regexp.MustCompile(`^\S+ \S+ [EC] \| \w+: `)
	toldToEnd = regexp.MustCompile(`(?i)\breceived \S+ signal\b|\bcontext canceled$`)
)

// endsForIt says whether a line is an error for which its program ends by its own wish, as etcd does
// with exit code 0: goodbyes follow it, and nobody told it to end.
func endsForIt(lines []string, grave []int, i int) bool {
	return grave[i] >= trouble && capnslog.MatchString(lines[i]) && slices.Contains(grave[i+1:], parting) &&
		!slices.ContainsFunc(lines, toldToEnd.MatchString)
}

// Troubled says whether the last lines of a log tell of an error at all.
func Troubled(lines []string) bool {
	grave := gravities(lines)
	i := telling(lines, grave)
	return i >= 0 && grave[i] >= trouble
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
