package logline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Primary returns which line says most of why the program ended: the last that gives a reason, or that the program
// calls fatal, or one of the last three that has the system's words, or the last that tells of an error where what
// follows only goes on with it or says that it ends, or is said after that; or else the last that is not empty; -1
// where there is none. A line that only tells what came of another gives way to that one.
func (s *Story) Primary() int { return s.causedBy(s.gravest()) }

// gravest is the same with no regard to which line another comes from.
func (s *Story) gravest() int {
	best, most, behind := -1, Empty, 0
	ending, before, went, milds := false, false, false, 0
	for i, l := range slices.Backward(s.lines) {
		if l.trimmed == "" {
			continue
		}
		behind++
		g := l.severity
		switch {
		case g == Warning:
			g = Plain // it had got over that
		case g == System && behind > 3:
			g = Error
		}
		switch {
		case g == Parting && l.said.Fits(poor), g == Plain && s.hollow(i):
			ending = !before // what it says after that is no reason
		case g == Plain && l.severity == Plain:
			ending, before, went = false, before || ending, true
		}
		if g == Plain && milds >= 0 && l.raw.Fits(levelMild) {
			milds++
		} else if g == Plain {
			milds = -1
		}
		if g == Error && went && most == Plain && !ending && (milds < 1 || milds > afterwards) && !s.furthered(i) && (behind != 2 || s.lines[best].logged) {
			continue // a later line of its own, and no mere goodbye
		}
		if g > most {
			best, most = i, g
		}
	}
	return best
}

var (
	// follows fits what comes of another's failure: who cannot connect uses up its pool and its attempts.
	follows = expr(`(?i)\bpool (?:is )?(?:exhausted|timeout|timed out|empty|depleted)\b|\bexhausted (?:all |the )?(?:\w+ )?(?:pool|retries|attempts|connections)\b|\b(?:retries|attempts) (?:were |are )?(?:exhausted|exceeded|used up)\b|\bmax(?:imum)? (?:number of )?(?:\w+ )?(?:retries|attempts) (?:exceeded|reached)\b|\bcircuit ?breaker\b.{0,40}\bopen(?:ed)?\b|\b(?:leader ?election|leadership|lease) lost\b|\bgiv(?:ing|en|e) up\b|\bgave up\b`)
	// demands fits what a program says of how things have to be, below the line that says how they are.
	demands = expr(`(?i)\bmust (?:not )?be\b|\bshould (?:not )?be\b`)
)

// mostBack is how many lines before one the line may stand that it comes from.
const mostBack = 30

// causedBy returns the line from which an error comes: of what only follows from it that another could not be
// reached the newest line that says so and names the other, and of a message of several lines that ends with
// what is wanted the one above, which says what is wrong; the line itself where there is none.
func (s *Story) causedBy(at int) int {
	if at < 0 {
		return at
	}
	l := &s.lines[at]
	if at > 0 && !l.logged && l.severity == Error && l.said.Fits(demands) && !s.lines[at-1].logged && s.lines[at-1].severity == Error && strings.HasSuffix(s.lines[at-1].trimmed, ".") {
		return at - 1
	}
	if !l.said.Fits(follows) || s.place(at) != "" {
		return at
	}
	for i := at - 1; i >= max(0, at-mostBack); i-- {
		if before := &s.lines[i]; before.severity >= Warning && s.has(before, Unreached|TooLate) && s.place(i) != "" {
			return i
		}
	}
	return at
}

// furthers fits a line that goes on with the error before it, as PostgreSQL's programs do, and as
// OpenSSL's queue of errors is printed.
var furthers = expr(`(?i)^([\w.-]+: )?(detail|hint): |^line \d+: |^(openssl )?(error(\[\d+\])?: ?)?error:[0-9a-f]{8}:`)

// furthered reports whether the line after one goes on with it.
func (s *Story) furthered(i int) bool {
	return i+1 < len(s.lines) && s.lines[i+1].said.Fits(furthers)
}

// origin is the line from which the one comes that says most: itself, or the last error before
// it where it is but what came of that.
func (s *Story) origin(at int) int {
	if from := s.causedBy(at); from != at {
		return from
	}
	if !s.hollow(at) {
		return at
	}
	complaint := at
	for i := at - 1; i >= 0; i-- {
		l := &s.lines[i]
		switch {
		case s.hollow(i):
		case s.lines[at].severity == Raised && i+1 < at && strings.HasPrefix(s.lines[i+1].trimmed, "Traceback "): // it only says where that was met
		case l.said.Fits(furthers):
		case l.severity >= Error:
			return i
		case complaint == at && l.severity == Plain && complains.MatchString(l.text):
			complaint = i
		case complaint == at && l.severity != Empty:
			complaint = i + 1 // nothing is right before it
		}
	}
	if complaint < at && complains.MatchString(s.lines[complaint].text) {
		return complaint
	}
	return at
}

// complains fits what a program says under its name.
var complains = regexp.MustCompile(`^[\w./-]+: \S`)

// Root returns the line from which the reason comes that the log tells of, with the cause above it
// where it names nothing; empty where the log is.
func (s *Story) Root() string {
	at := s.Primary()
	if at < 0 {
		return ""
	}
	at = s.origin(at)
	if above := s.wider(at); above >= 0 {
		return s.lines[above].message + " / " + s.lines[at].message
	}
	if s.below(at) >= 0 {
		return s.headed(at)
	}
	return s.lines[at].text
}

// onlyFailed fits what says that something failed, or ended, and no more.
var onlyFailed = expr(`(?i)\b(?:unexpected|unhandled|uncaught|unknown) (?:exception|error)[.:!]?$|(?-i)^Error: \w{1,20}(\(\w+\))?$|^(\d+ )?errors?$|^(\[\w+\] *)?(\S+ ?: )*(?i:could not|cannot|unable to|failed to) (create|start|launch|initiali[sz]e|boot|run|open) [A-Za-z() ]{1,40}\.?$|(?i)\bfailed (running|starting|executing)\b[^:]{0,40}$|\bprogram will exit\b|\*\*\* .*\bError \d+$|(?i)\bsee (the )?((previous|above|preceding) (messages?|errors?|logs?)|(stack ?trace|logs?|errors?|output|messages?)( above)? for (the )?(root )?(causes?|details?|reasons?))\b|\bfail(ed|ure)? to \w+ (all|any|some|one or more)( of)?( the)? \w+$|\b(fail(ed|s|ure)( to (start|launch|initiali[sz]e|run|boot))?|(could not|cannot|unable to) (start|launch|initiali[sz]e|run|boot)|aborted|unsuccessful(ly)?|exit(ed)?( abnormally| unexpectedly)?( (status|code|value))?|terminated( abnormally| unexpectedly)?|did not exit normally|returned (status|code)|not recoverable(: exiting now)?)\b( (with )?\d+| (with|due to|because of) (an? |the )?(previous |fatal )?(exit )?(code|status|value|errors?|failures?|exceptions?)( \[\w+\])?:?( \d+)?|, exited with \d+| - check the logs\b.*|: \d+)?[.! ]*$|(?i)\b(?:could not|cannot|unable to) (?:start|run|launch) [^.:]{1,40}\. [\w ]{1,30} (?:is|was) not (?:configured|available|initiali[sz]ed|running|started|loaded)\.?$`)

// hollow reports whether a line tells that something failed, or ended, and nothing of why.
func (s *Story) hollow(i int) bool {
	l := &s.lines[i]
	return (l.said.Fits(upshot) || l.said.Fits(onlyFailed)) && !s.has(l, Credentials)
}

// newestOfGravest returns which line of the log of a program that goes on says most of what fails,
// whatever it said after it: the newest of the most severe; -1 where none is as severe as least.
func (s *Story) newestOfGravest(least Severity) int {
	best, most := -1, least-1
	again := 0 // how often the best, an error, stands from here on
	for i, l := range slices.Backward(s.lines) {
		if best >= 0 && l.severity == Warning && most == Warning && l.raw.Fits(complaint) && !s.lines[best].raw.Fits(complaint) {
			best = i
		}
		if l.severity > most && !(l.severity == System && most == Error && again >= tries) {
			best, most, again = i, l.severity, 0
		}
		if most == Error && Alike(l.message, s.lines[best].message) {
			again++
		}
	}
	return best
}

// complaint fits a warning that tells of something that failed, and not of what is only not as good as
// it could be.
var complaint = expr(`(?i)\b(errors?|fail(ed|s|ure)?|cannot|can't|unable|could not|reject(ed|s)?|refused|denied|invalid|unknown|lost|timed? ?out|blocked|exceed(ed|s)?|stalled)\b`)

// tries is how often an error has to stand in a log to be what each try comes to: what came of those before is
// over then.
const tries = 3

// Trouble returns what the log of a program that goes on says of what fails; "" where nothing in
// it is an error, or a warning where those are asked for.
func (s *Story) Trouble(warned bool) string {
	at := s.troubles(warned)
	if at < 0 {
		return ""
	}
	return s.reasonAt(at)
}

// troubles is the line that says what fails, and from which that comes; -1 where none does.
func (s *Story) troubles(warned bool) int {
	least := Error
	if warned {
		least = Warning
	}
	at := s.newestOfGravest(least)
	if at < 0 {
		return -1
	}
	return s.origin(at)
}

// SaidAgain returns what a program says again and again, and nothing else: something that it does not
// call an error, as it fails each request; "" where it says several things, or of requests.
func (s *Story) SaidAgain() string {
	said, times := "", 0
	for i := range s.lines {
		l := &s.lines[i]
		switch {
		case l.message == "", l.said.Fits(access):
		case said != "" && !Alike(said, l.message), l.raw.Fits(levelMild), strings.Contains(l.message, "HTTP/"):
			return ""
		default:
			said, times = l.message, times+1
		}
	}
	if times < 2 {
		return ""
	}
	return said
}

// Tells reports whether a line tells of anything but a request, or of where in the source it is.
func Tells(line string) bool {
	message := Message(line)
	return message != "" && !access.MatchString(message) && !poor.MatchString(message) && !frame.MatchString(line)
}

// turn fits what programs say when they begin to do less: of a signal, of what they leave off, of a limit.
var turn = regexp.MustCompile(`(?i)\b(received|got|caught|signal|SIG[A-Z]{2,5}\d?|quiet|drain(ing|ed)?|paus(e|ed|ing)|maintenance|read[- ]only|standby|suspend(ed|ing)?|shut(ting)?[ -]?down|stop(s|ped|ping)?|terminat(ed|ing)|leaving|left|slow|exceed(ed|s)|reached|full|lost|disabled?|locked|stuck|still in|no longer|not any ?more)\b`)

// TellsOfTurn reports whether a line tells that a program begins to do less than before.
func TellsOfTurn(line string) bool { return turn.MatchString(Message(line)) }

// Complains reports whether a single line tells of something that went wrong.
func Complains(line string, hints Hints) bool {
	return Parse([]string{line}, hints).lines[0].severity >= Error
}

// Alike reports whether two lines tell the same, of two times.
func Alike(a, b string) bool {
	if a == b {
		return true
	}
	x := letters(a)
	return x != "" && x == letters(b)
}

// Within reports whether a text has another in it, whatever stands between their letters.
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

// Failed reports whether the log has the words of a failure: a reason as languages give it, or what a program
// calls fatal.
func (s *Story) Failed() bool {
	i := s.gravest()
	return i >= 0 && s.lines[i].severity >= Fatal
}

// afterwards is how many lines of its own a program may say after the words of a failure and
// still have ended for it: more of them mean that it went on.
const afterwards = 3

// EndsFailed reports whether what was said last are the words of a failure: nothing, or next to
// nothing, but goodbyes follows them.
func (s *Story) EndsFailed() bool {
	at := s.gravest()
	if at < 0 || s.lines[at].severity < Fatal && !s.endsForIt(at) {
		return false
	}
	more := 0
	for i := range s.lines[at+1:] {
		if g := s.lines[at+1+i].severity; g == Plain || g == Warning {
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

// endsForIt reports whether a line is an error for which its program ends by its own wish, as etcd does
// with exit code 0: goodbyes follow it, and nobody told it to end.
func (s *Story) endsForIt(at int) bool {
	parts := func(l line) bool { return l.severity == Parting }
	told := func(l line) bool { return toldToEnd.MatchString(l.text) }
	return s.lines[at].severity >= Error && capnslog.MatchString(s.lines[at].text) && slices.ContainsFunc(s.lines[at+1:], parts) && !slices.ContainsFunc(s.lines, told)
}

// Troubled reports whether the log tells of an error at all.
func (s *Story) Troubled() bool {
	i := s.gravest()
	return i >= 0 && s.lines[i].severity >= Error
}

// OfPort returns the last line that tells of an error and names a port as one; -1 where none does. A short number
// needs its word before it: it may be a line's.
func (s *Story) OfPort(port int) int {
	form := `(?i)\bport\b\W{0,3}%d\b`
	if port >= 1000 {
		form = `(?i)(?:\bport\b\W{0,3}|[a-z\]*\d][:-]|:)%d\b`
	}
	named := regexp.MustCompile(fmt.Sprintf(form, port))
	for i, l := range slices.Backward(s.lines) {
		if l.severity >= Error && named.MatchString(l.text) {
			return i
		}
	}
	return -1
}
