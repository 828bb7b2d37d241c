package words

import (
	"regexp"
	"slices"
	"strings"
)

// How much a line promises to say of why something failed.
const (
	empty   = iota
	parting // that it ends, or where it was: a frame of a stack
	plain   // nothing but that it was said
	warning // what its program calls a warning
	trouble // an error
	system  // the system's words, among the last three
	fatal   // what its program calls fatal
	reason  // a reason as languages give it
)

// givesReason fits the line with which Go, Java, JavaScript, Python, Rust and .NET say why
// they end, and rubyReason Ruby's. Where it happened may follow it.
var (
	givesReason = regexp.MustCompile(`^(panic: |fatal error: |FATAL ERROR: |Exception in thread |Unhandled exception|Uncaught |Caused by: |thread '.*' panicked|(\w+[.:]+)*\w*(Error|Exception)( \[\w+\])?: )`)
	rubyReason  = regexp.MustCompile("^\\S+:\\d+:in [`'][^']*': .*\\S \\(([A-Z]\\w*::)*[A-Z]\\w*\\)$")
)

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

// gravest, grave and warns are what programs call a line that says why they end, one that
// says what went wrong, and one that is not well: syslog's names, those of Java's and Go's
// loggers, of PostgreSQL, nginx, Apache, etcd and klog, the numbers of Node's and of the
// kernel's, and the marks of a letter or two of stunnel, Telegraf, Android and zerolog.
var (
	gravest = regexp.MustCompile(`\b(FATAL|PANIC|SEVERE|CRITICAL|EMERG|ALERT)\b|[\[:](emerg|alert|crit|critical|fatal)\]|\b(level|severity)"?[=:] ?"?(fatal|panic|critical|60\b)|\bFTL\b|^<[0-2]>|^(\S+ ){0,2}C \| |^F\d{4} |(?i)\bfatal error\b|^fatal\b|\bkernel pid terminated\b|\bboot failed\b`)
	grave   = regexp.MustCompile(`\bERROR\b|[\[:]error\]|\b(level|severity)"?[=:] ?"?(error|50\b)|\bERR\b|^<3>|^(\S+ ){0,2}(E \||\[(!|E)\]|E[!/]|!!)(?: |\w+: )|^E\d{4} |\b\w*(Error|Exception)[:\]]|(?i)^(\S+: )?(error|err|fail):? |\b(can't|cannot|could not|unable to|failed to)\b|(?-i:\bfailed\b)|\bsyntax error\b|\bparser? (error|failed)\b|: failure\.?$|\b(unknown|unrecogni[sz]ed|unsupported|invalid|bad|illegal|wrong) (\w+ )?(option|directive|keyword|setting|parameter|variable|command|argument|configuration|key|property|number of arguments)s?\b`)
	warns   = regexp.MustCompile(`\b(WARN|WARNING)\b|[\[:][Ww]arn(ing)?\]|\b(level|severity)"?[=:] ?"?(warn|40\b)|\bWRN\b|^<4>|^(\S+ ){0,2}(W \||\[W\]|W[!/])(?: |\w+: )|^W\d{4} |(?i)^warn(ing)?: `)
	// mild fits a line that its program calls one of what goes on.
	mild = regexp.MustCompile(`\b(INFO?|DEBUG|DBG|NOTICE)\b|^(\S+ ){0,2}(\[[ .*+i]\]|[DI][!/])(?: |\w+: )|^<[5-7]>`)
	// aside fits a warning that is about something else than what fails.
	aside = regexp.MustCompile(`(?i)deprecat`)
)

// systems fits a line that ends with the C library's words for what a system call came
// to, most often before a program's own "giving up".
var systems = regexp.MustCompile(`(?i)(?:: | ")(no such file or directory|permission denied|address already in use|no space left on device|cannot allocate memory|too many open files|read-only file system|not a directory|is a directory)"?\)?\.?$`)

// poor fits what is said last and says nothing but that it ends.
var poor = regexp.MustCompile(`(?i)^\W*(\w+: )?(\[?(error|fatal|note|info|warn(ing)?)\]?:? )?\W*(aborting|aborted|exiting|exited|shutting down|shutdown( complete)?|exiting \(due to fatal error\)|terminat(ed|ing)|giving up|stopp(ed|ing)|node\.js v[\d.]+|worker exiting.*|reason: \w+( \w+)?|\w+ (is )?(shut(ting)? down|stopped|exiting)|unloading application|database system is shut down)\W*$`)

// clearing fits a line that tells, at no level or a mild one, of what a program puts away
// as it ends, in order, and nothing of why.
var clearing = regexp.MustCompile(`^(\[[ \w./#-]*\] |(INFO?|NOTICE|DEBUG|DBG|NOTE):? |[DI][!/] ?|\S+\.\w+ )*(?i)(pausing|stopp(ing|ed)|destroy(ing|ed)|clos(ing|ed)|deallocat(ing|ed)|terminat(ing|ed)|shutting down|clean(ing|ed)? ?up|unload(ing|ed)|unregister(ing|ed)|unbinding|disconnecting|releas(ing|ed)|freeing)\b[^:]*$`)

// motive fits a line that says why, too.
var motive = regexp.MustCompile(`(?i)\b(because|due to|since|after|as|on|unexpected(ly)?|no)\b`)

// frame fits a line of a stack, where something happened and not what, and what JavaScript
// shows of an error below its message.
var frame = regexp.MustCompile("^\\s*(" + strings.Join([]string{
	`at .*`, `File ".*", line \d+.*`, `\.\.\. \d+ (more|common frames).*`, `[~^\s]*\^[~^\s]*`, `\S+\.go:\d+( \+0x[0-9a-f]+)?`, `goroutine \d+ \[.*`, `\d+: 0x[0-9a-f]+ .*`,
	"from \\S+:in .*", "(from )?\\S+:\\d+:in [`'][^']*'",
	`[\])}]+[,;]?`,
}, "|") + `)$|^\s+\w+: ('.*'|-?\d+|\[.*|undefined|null|true|false),?$`)

// upshot fits what a runtime says of its end where that is but what came of something that
// was said before: Erlang's, of its supervisors.
var upshot = regexp.MustCompile(`(?i)\bkernel pid terminated\b|\bapplication:? \S+ exited with reason:|^crash dump is being written to:`)

// level fits the level of a line that says nothing else.
var level = regexp.MustCompile(`(?i)^\[(emerg|alert|crit|critical|fatal|error|warn|warning|notice|info|debug)\]$`)

// furthers fits a line that goes on with the error before it, as PostgreSQL's programs do.
var furthers = regexp.MustCompile(`(?i)^([\w.-]+: )?(detail|hint): `)

// access fits what servers log of every request, in the form of Apache's and its like.
var access = regexp.MustCompile(`"[A-Z]+ \S+ HTTP/\d`)

// GivesReason says whether a line of a log is one with which a runtime of a language
// says why a program ends.
func GivesReason(line string) bool {
	return givesReason.MatchString(line) || rubyReason.MatchString(line)
}

// Frame says whether a line is one of a stack trace, after the line before it.
func Frame(before, line string) bool {
	return frame.MatchString(line) || strings.HasPrefix(line, "    ") && strings.HasPrefix(strings.TrimSpace(before), `File "`)
}

// gravity is how much a line promises to say of why a program ended, where so many follow
// it, itself counted.
func gravity(lines []string, i, behind int) int {
	line := lines[i]
	gist := Gist(line)
	switch trimmed := strings.TrimSpace(line); {
	case trimmed == "", level.MatchString(gist):
		return empty
	case i > 0 && Frame(lines[i-1], line), i == 0 && Frame("", line), poor.MatchString(gist), strings.HasPrefix(trimmed, "Traceback "):
		return parting
	case GivesReason(trimmed), raised.MatchString(trimmed), belowTraceback(lines, i):
		return reason
	case gravest.MatchString(line):
		return fatal
	case behind <= 3 && systems.MatchString(trimmed):
		return system
	case access.MatchString(gist):
		return plain
	case grave.MatchString(line):
		return trouble
	case clearing.MatchString(gist) && !motive.MatchString(gist) && !warns.MatchString(line):
		return parting
	case warns.MatchString(line) && !aside.MatchString(line):
		return warning
	}
	return plain
}
