package words

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// givesReason fits the line with which Go, Java, JavaScript, Python, Ruby, Rust and .NET
// say why they end. Where it happened may follow it.
var givesReason = regexp.MustCompile(`^(panic: |fatal error: |FATAL ERROR: |Exception in thread |Unhandled exception|Uncaught |Caused by: |thread '.*' panicked|(\w+[.:]+)*\w*(Error|Exception)( \[\w+\])?: )`)

// raised fits the line with which Python ends a traceback, by the package that its class is
// in, where the class is not named an error.
var raised = regexp.MustCompile(`^(\w+\.)*(exceptions?|errors?|exc)\.(\w+\.)*[A-Z]\w*(: |$)`)

// class fits what may be the line below a traceback.
var class = regexp.MustCompile(`^[A-Za-z_][\w.]*(: |$)`)

// belowTraceback says whether a line is the one that a traceback of Python's ends with.
func belowTraceback(lines []string, i int) bool {
	if i < 2 || !class.MatchString(lines[i]) || !strings.HasPrefix(lines[i-1], "  ") {
		return false
	}
	// The place, its source, and what of that is underlined.
	return slices.ContainsFunc(lines[max(0, i-3):i], func(line string) bool { return strings.HasPrefix(line, `  File "`) })
}

// gravest and grave are what programs call a line that says why they end, and one that
// says what went wrong: syslog's names, those of Java's and Go's loggers, of PostgreSQL,
// nginx and klog.
var (
	gravest = regexp.MustCompile(`\b(FATAL|PANIC|SEVERE|CRITICAL|EMERG|ALERT)\b|\[(emerg|alert|crit|fatal)\]|\blevel"?[=:] ?"?(fatal|panic|critical)\b|^F\d{4} |(?i)\bfatal error\b|^fatal\b|\bkernel pid terminated\b|\bboot failed\b`)
	grave   = regexp.MustCompile(`\bERROR\b|\[error\]|\blevel"?[=:] ?"?error\b|^E\d{4} |(?i)^(\S+: )?(error|err):? |\bcannot\b|\bcould not\b|\bunable to\b|\bfailed\b|(?i)\bsyntax error\b|\bparser? (error|failed)\b|: failure\.?$|\b(unknown|unrecogni[sz]ed|unsupported|invalid|bad|illegal|wrong) (\w+ )?(option|directive|keyword|setting|parameter|variable|command|argument|configuration|key|property|number of arguments)s?\b`)
)

// system fits a line that ends with the C library's words for what a system call came
// to, most often before a program's own "giving up".
var system = regexp.MustCompile(`(?i)(?:: | ")(no such file or directory|permission denied|address already in use|no space left on device|cannot allocate memory|too many open files|read-only file system|not a directory|is a directory)"?\)?\.?$`)

// poor fits what is said last and says nothing but that it ends.
var poor = regexp.MustCompile(`(?i)^\W*(\w+: )?(\[?(error|fatal|note|info|warn(ing)?)\]?:? )?\W*(aborting|aborted|exiting|exited|shutting down|shutdown( complete)?|exiting \(due to fatal error\)|terminat(ed|ing)|giving up|stopp(ed|ing)|node\.js v[\d.]+|worker exiting.*|reason: \w+( \w+)?|\w+ (is )?(shut(ting)? down|stopped|exiting)|unloading application|database system is shut down)\W*$`)

// frame fits a line of a stack: where something happened, and not what.
var frame = regexp.MustCompile(`^\s*(at .*|File ".*", line \d+.*|\.\.\. \d+ (more|common frames).*|[~^\s]*\^[~^\s]*|from \S+:\d+:in .*|\S+\.go:\d+( \+0x[0-9a-f]+)?|goroutine \d+ \[.*|\d+: 0x[0-9a-f]+ .*)$`)

// GivesReason says whether a line of a log is one with which a runtime of a language
// says why a program ends.
func GivesReason(line string) bool { return givesReason.MatchString(line) }

// Frame says whether a line is one of a stack trace, after the line before it.
func Frame(before, line string) bool {
	return frame.MatchString(line) || strings.HasPrefix(line, "    ") && strings.HasPrefix(strings.TrimSpace(before), `File "`)
}

// gravity is how much a line promises to say of why a program ended: a reason as languages
// give it, words that a program calls fatal, the system's words among the last three, an
// error, or nothing but that it was said.
func gravity(lines []string, i, behind int) int {
	line := lines[i]
	gist := Gist(line)
	switch trimmed := strings.TrimSpace(line); {
	case trimmed == "":
		return 0
	case i > 0 && Frame(lines[i-1], line), i == 0 && Frame("", line), poor.MatchString(gist), strings.HasPrefix(trimmed, "Traceback "):
		return 1
	case GivesReason(trimmed), raised.MatchString(trimmed), belowTraceback(lines, i):
		return 6
	case gravest.MatchString(line):
		return 5
	case behind <= 3 && system.MatchString(trimmed):
		return 4
	case grave.MatchString(line):
		return 3
	}
	return 2
}

// Telling is which of the last lines of a log says most: the last that gives a reason, or
// that a program calls fatal, or one of the last three that has the system's words, or the
// last that tells of an error where what follows only says that it ends; or else the last
// that is not empty; -1 where there is none.
func Telling(lines []string) int {
	best, most, behind := -1, 0, 0
	for i, line := range slices.Backward(lines) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		behind++
		g := gravity(lines, i, behind)
		if g == 3 && most == 2 {
			continue // a later line of its own, and no mere goodbye
		}
		if g > most {
			best, most = i, g
		}
	}
	return best
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

// Complains says whether a line of a log tells of something that went wrong.
func Complains(line string) bool { return gravity([]string{line}, 0, 1) > 2 }

// mostReasons is how many lines are quoted where several belong together.
const mostReasons = 4

// Reason is what the last lines of a log say of why: the line that says most, with the
// errors right before it, since what is said first is what the rest comes from, and with
// what continues it.
func Reason(lines []string) string {
	at := Telling(lines)
	if at < 0 {
		return ""
	}
	from, most := at, gravity(lines, at, len(lines)-at)
	for i := at - 1; i >= 0 && most >= 3 && !raises(lines[at], most) && at-from < mostReasons-1; i-- {
		if g := gravity(lines, i, len(lines)-i); g < 3 || raises(lines[i], g) {
			break
		}
		from = i
	}
	var all []string
	for i := from; i < len(lines) && len(all) < mostReasons; i++ {
		if i > at && !continues(lines, i, most) {
			break
		}
		gist := Gist(lines[i])
		alike := func(other string) bool { return letters(other) == letters(gist) }
		if gist != "" && !slices.ContainsFunc(all, alike) {
			all = append(all, gist)
		}
	}
	return strings.Join(all, " / ")
}

// raises says whether a line is the reason that a language gives, which says all; many
// programs begin each of their errors with "Error: ".
func raises(line string, g int) bool { return g == 6 && !strings.HasPrefix(line, "Error: ") }

// continues says whether a line goes on with what the one before it says: it is of the same
// mouth, and has nothing of a logger's before it, or is called a detail.
func continues(lines []string, i, most int) bool {
	trimmed := strings.TrimSpace(lines[i])
	if most == 2 || most == 6 || gravity(lines, i, len(lines)-i) < 2 {
		return false
	}
	gist := Gist(trimmed)
	return gist == trimmed && Gist(lines[i-1]) == strings.TrimSpace(lines[i-1]) || strings.HasPrefix(gist, "DETAIL:") || strings.HasPrefix(gist, "HINT:")
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
	i := Telling(lines)
	return i >= 0 && gravity(lines, i, len(lines)) >= 5
}

// afterwards is how many lines of its own a program may say after the words of a failure and
// still have ended for it: more of them mean that it went on.
const afterwards = 3

// EndsFailed says whether what was said last are the words of a failure: nothing, or next to
// nothing, but goodbyes follows them.
func EndsFailed(lines []string) bool {
	i := Telling(lines)
	if i < 0 || gravity(lines, i, len(lines)) < 5 {
		return false
	}
	more := 0
	for j := i + 1; j < len(lines); j++ {
		if gravity(lines, j, len(lines)) == 2 {
			more++
		}
	}
	return more < afterwards
}

// Troubled says whether the last lines of a log tell of an error at all.
func Troubled(lines []string) bool {
	i := Telling(lines)
	return i >= 0 && gravity(lines, i, len(lines)) >= 3
}

// Keep chooses those of the last lines of a log that are worth keeping, in their order: at
// most so many, and so many bytes together. What says most comes first, then the first
// errors, then what was said last; the frames of a stack give way to all of them.
func Keep(lines []string, most, bytes int) []string {
	var order, frames []int
	if i := Telling(lines); i >= 0 {
		order = append(order, i)
	}
	for i := range lines { // what failed first is often why the rest did
		if gravity(lines, i, len(lines)) >= 3 && len(order) < firsts {
			order = append(order, i)
		}
	}
	for i := range slices.Backward(lines) {
		if before := lines[max(0, i-1)]; i > 0 && Frame(before, lines[i]) || i == 0 && Frame("", lines[0]) {
			frames = append(frames, i)
		} else {
			order = append(order, i)
		}
	}
	kept := map[int]string{}
	for _, i := range append(order, frames...) {
		line := lines[i]
		if _, have := kept[i]; have {
			continue
		}
		if len(kept) == 0 && len(line) > bytes {
			line = strings.ToValidUTF8(line[:bytes], "")
		}
		if len(kept) == most || len(line) > bytes {
			break
		}
		kept[i], bytes = line, bytes-len(line)
	}
	var all []string
	for i := range lines {
		if line, ok := kept[i]; ok {
			all = append(all, line)
		}
	}
	return all
}
