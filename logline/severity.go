package logline

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// givesReason fits the line with which Go, Java, JavaScript, Python, Rust and .NET say why
// they end, and rubyReason Ruby's. Where it happened may follow it.
var (
	givesReason = expr(`^(panic: |\*\* \((\w+\.)*[A-Z]\w*\) |fatal error: |FATAL ERROR: |Exception in thread |Unhandled exception|Uncaught |Caused by: |thread '.*' panicked|(---> )?(\w+[.:]+)*\w*(Error|Exception)( \[\w+\]| \((0x)?[0-9A-Fa-f]+\))?: |([A-Z]\w*::)*[A-Z]\w+(Error|Exception):$|(\w+\.)+SAXParseException; )`)
	rubyReason  = expr("^\\S+:\\d+:in [`'][^']*': .*\\S \\(([A-Z]\\w*::)*[A-Z]\\w*\\)$")
)

// IsRaised reports whether a line of a log is one with which a runtime of a language says why a program ends.
func IsRaised(line string) bool {
	return givesReason.MatchString(line) || rubyReason.MatchString(line)
}

// givesReason is [IsRaised] of a line that was read.
func (l *line) givesReason() bool {
	return l.raw.May(givesReason) && givesReason.MatchString(l.trimmed) || rubyReason.MatchString(l.trimmed)
}

// raised fits the line with which Python ends a traceback, by the package that its class is
// in, where the class is not named an error.
var raised = expr(`^(\w+\.)*(exceptions?|errors?|exc)\.(\w+\.)*[A-Z]\w*(: |$)`)

// bareThrown fits what Java says of an exception without a message, above its stack.
var bareThrown = expr(`^(?:Caused by: )?(?:[a-z_$][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)$`)

// The levels that programs give a line where no format names one, and the words of errors: syslog's names, those
// of Java's and Go's loggers, of PostgreSQL, nginx, Apache, etcd and klog, the numbers of Node's and of the
// kernel's, and the marks of a letter or two of stunnel, Telegraf, Android and zerolog.
var (
	levelFatal   = expr(`\b(FATAL|PANIC|SEVERE|CRITICAL|EMERG|ALERT)\b|\t(fatal|panic)\t|[\[:<](?i:emerg|alert|crit|critical|fatal)[\]>]|\b(level|severity)"?[=:] ?"?(fatal|panic|critical|60\b)|\bFTL\b|(?i)\bfatal error\b|(^|: )fatal:|^fatal\b|\bkernel pid terminated\b|\bboot failed\b|\binit terminating in do_boot\b`, `^<[0-2]>|^(\S+ ){0,2}C \| |^F\d{4} `)
	levelError   = expr(`\bERROR\b|\terror\t|[\[:<](?i:error)[\]>]|\b(level|severity)"?[=:] ?"?(error|50\b)|\bERR\b`, `^<3>|^(\S+ ){0,2}(E \||\[(!|E)\]|E[!/]|!!)(?: |\w+: )|^E\d{4} |^\d+:[XCSM] .{24} # .*\b(?i:error|failed|can't|cannot|unable)\b`)
	errorWords   = expr(`\b\w*(Error|Exception)[:\]]|(?i)^(\S+: )?(error|err|fail):? |\b(can't|cannot|could not|couldn't|unable to|failed to)\b|(?-i:\b(failed|FAILED)\b)|\bpanicked\b|\bpanic serving\b|\berror occurred\b|\btimeout occurred\b|^(authentication|authorization|login) (refused|denied): |\berrors?:$|\bsyntax error\b|\bunexpected (token|symbol|character|identifier|keyword|end of (file|input|line)|EOF)\b|\bparser? (error|failed)\b|: failure\.?$|\b(is|are) not (permitted|allowed)\.?$|\bfailure (trying|connecting|resolving|loading|reading|writing|opening|to)\b|\b(?:bad|invalid|illegal) (?:port|host(?:name)?|url|address)\b|\b(unknown|unrecogni[sz]ed|unsupported|invalid|bad|illegal|wrong) (\w+ )?(option|flag|field|directive|keyword|setting|parameter|variable|command|argument|configuration|key|property|number of arguments)s?\b`)
	levelWarning = expr(`\b(WARN|WARNING)\b|\twarn(ing)?\t|\bexit(ed)? (with )?(exit )?(status|code|value) [1-9]|[\[:<][Ww]arn(ing)?[\]>]|\b(level|severity)"?[=:] ?"?(warn|40\b)|\bWRN\b|(?i)(^|: )warn(ing)?: `, `^\d+:[XCSM] .{24} # |^<4>|^(\S+ ){0,2}(W \||\[W\]|W[!/])(?: |\w+: )|^W\d{4} `)
	// levelMild fits a line that its program calls one of what goes on.
	levelMild = expr(`\b(INFO?|DEBUG|DBG|NOTICE|TRACE)\b|\t(info|debug)\t|[\[:<](?i:info|information|debug|trace|notice|note|system)[\]>]|\b(level|severity|lvl)"?[=:] ?"?(info|debug|trace|notice)\b`, `^(\S+ ){0,2}(\[[ .*+i]\]|[DI][!/]|[DIN] \|)(?: |\w+: )|^<[5-7]>|^I\d{4} `)
	// aside fits a warning that is about something else than what fails.
	aside = expr(`(?i)deprecat|\bto suppress this (message|warning)\b|\b(might|may|could) (become|be|get|lead|cause)\b`)
)

// mild reports whether a line's program calls it one of what goes on, however it is indented.
func (l *line) mild() bool { return l.raw.May(levelMild) && levelMild.MatchString(l.trimmed) }

// clientLeft fits what a server says of a client that hung up, which is no fault of the server's.
var clientLeft = expr(`(?i)\bconnection to client lost\b|\b(?:could not|cannot|unable to|failed to) (?:send|receive|write|read|flush) (?:data |to |from |response |reply )*(?:to |from )?(?:the )?client\b|\bclient (?:prematurely )?(?:closed (?:the )?connection|disconnected|hung up|went away|has gone away)\b|\bunexpected EOF on client connection\b|\bread additional data from client\b`)

// breaksFor fits what tells at any level that something is broken off, and that a refusal or an error is why.
var breaksFor = expr(`(?:^|: | - )(?:Refusing|Rejecting|Denying|Refused|Rejected|Denied) [a-z]|(?i)\b(?:clos(?:ed|ing)|disconnect(?:ed|ing)?|reject(?:ed|ing)?|abort(?:ed|ing)?|dropp(?:ed|ing)|den(?:ied|ying)|refus(?:ed|ing)|stopp(?:ed|ing)|giving up|gave up)\b[^:;]{0,60}\b(?:because|due to|reason)\b:? .{0,80}\b(?:refused|rejected|denied|fail(?:ed|ure)|error|invalid|not (?:allowed|supported|permitted)|unsupported|mismatch|expired|exceeded|too many)\b`)

// systems fits a line that ends with the C library's words for what a system call came
// to, most often before a program's own "giving up".
var systems = expr(`(?i)(?:: | "|\()(no such file or directory|permission denied|address already in use|no space left on device|cannot allocate memory|too many open files|read-only file system|not a directory|is a directory|operation not permitted|input/output error|(?:device or )?resource busy|connection refused|no route to host|name or service not known)"?\)?\.?(?: \[[a-z]+\])?$`)

// poor fits what is said last and says nothing but that it ends.
var poor = expr(`(?i)^\W*(\w+: )?(\[?(error|fatal|note|info|warn(ing)?)\]?:? )?\W*(aborting|aborted|exiting|exited|shutting down|shutdown( complete)?|exiting \(due to fatal error\)|execution halted|terminat(ed|ing)|giving up|stopp(ed|ing)|node\.js v[\d.]+|worker exiting.*|reason: \w+( \w+)?|\w+ (is )?(shut(ting)? down|stopped|exiting)|unloading application|database system is shut down)\W*$|^(connection( to \S+)? closed|connection (closed|reset) by .*\bport \d+( \[preauth\])?|lost connection)\.?$`)

// noJVM fits what the JVM's launcher says after it has said why.
var noJVM = expr(`^Error: (?:Could not create the Java Virtual Machine|A fatal exception has occurred)`)

// weigh gives each line its severity. What is indented below an error belongs to it, and what stands below the
// usage of a command does to that.
func (s *Story) weigh() {
	above, most, help, more, wraps := Empty, Raised, false, false, false
	for i := range s.lines {
		l := &s.lines[i]
		text := strings.TrimPrefix(l.text, "│ ") // of a box that is drawn around it
		trimmed := strings.TrimSpace(text)
		logged := l.message != trimmed
		g := s.alone(i)
		indented := trimmed != "" && (text[0] <= ' ' && (!logged || strings.HasPrefix(trimmed, "| ")) || bullet.MatchString(trimmed))
		if !indented {
			most = mostBelow(trimmed)
		}
		g = min(g, most)
		switch {
		case g == Empty:
		case logged, !indented && g >= Error:
			help = false
		case (strings.HasSuffix(trimmed, ":") || trimmed != "" && trimmed[0]|0x20 == 'u') && opensHelp.MatchString(trimmed):
			help = true
		}
		switch {
		case g == Empty || g == Raised:
		case help, l.said.Fits(helps), l.said.Fits(tally), strings.HasPrefix(trimmed, "npm notice"), g == Plain && above >= Error && !logged && justAdvice(l.message):
			g = Parting
		case indented && above >= Warning && g > Parting && g <= above, (more || wraps && unicode.IsLower(rune(trimmed[0]))) && !logged && g == Plain:
			g = Detail
		}
		if !indented && g != Empty && g != Parting && g != Detail || g == Raised {
			above = g
		}
		if g != Empty {
			more = g >= Warning && strings.HasSuffix(trimmed, ":") || more && g == Detail
		}
		l.severity = g
		// A sentence that goes on in the next line.
		wraps = !logged && (g >= Warning || wraps && g == Detail) && len(trimmed) >= wrapped && !strings.ContainsRune(".!?:;", rune(trimmed[len(trimmed)-1]))
	}
}

// wrapped is how long a line is at least that was broken for want of room.
const wrapped = 50

var (
	// opensHelp fits the line above how a command is used or what can be done, helps one that is
	// nothing but such advice.
	opensHelp = regexp.MustCompile(`(?i)^(usage\b.*|(actions?|(potential |possible )?(solutions?|fix(es)?)|learn more|flags|options|commands|available commands|arguments|examples?|hints?|full report( is)? at|to (fix|resolve|solve|install) [^:]*|did you mean\b[^:]*):)$`)
	helps     = expr(`(?i)^(\S+ )?(tip: |note: run with |for more (information|details|help)\b|(see|visit|read) (also )?(https?:|our |the )|(https?:/)?/[\w./-]+/\S*$|(\(?see (the )?full (trace|log|output|error)\b)|(re-?)?run with --?\w|(perhaps|maybe)\b|runtime: may need to |(try|run|use) ['"\x60]|did you mean\b|ask for help|if this (error )?is unexpected|need (more|help))|\ba complete log of this run\b|\bfor more details run\b`, `(?i)^(\S+ )?(https?:)?/[\w./-]+/\S*$`)
	// bullet fits a line that is one of a list below another, tally one that counts what came of all.
	bullet = regexp.MustCompile(`^(-+>|[-•]) `)
	tally  = expr(`(?i)(\b(pass(ed)?|ok|warn(ings?)?|err(ors?)?|fail(ed)?|skip(ped)?|total|unreachable|changed|rescued|ignored)=\d+\s*){2,}`)
)

// byName are the severities of levels by their names, in lower case.
var byName = map[string]Severity{
	"fatal": Fatal, "panic": Fatal, "critical": Fatal, "crit": Fatal, "emerg": Fatal, "alert": Fatal, "severe": Fatal, "f": Fatal, "60": Fatal, "dpanic": Fatal,
	"error": Error, "err": Error, "e": Error, "50": Error, "warn": Warning, "warning": Warning, "w": Warning, "40": Warning,
	"info": Plain, "information": Plain, "notice": Plain, "debug": Plain, "trace": Plain, "i": Plain, "d": Plain, "30": Plain, "20": Plain, "10": Plain,
}

// alone is how severe a line is by itself, and by those right above it.
func (s *Story) alone(i int) Severity {
	l := &s.lines[i]
	switch {
	case l.message == "", onlyLevel.MatchString(l.message), hasOnlyHead.MatchString(l.message), len(s.lines) > 1 && bareHead.MatchString(l.message) && s.below(i) < 0: // a heading of nothing
		return Empty
	case l.raw.May(raised) && raised.MatchString(l.trimmed), s.endsTraceback(i), l.raw.May(bareThrown) && bareThrown.MatchString(l.trimmed) && i+1 < len(s.lines) && strings.HasPrefix(s.lines[i+1].trimmed, "at "): // which may look like a function's name
		return Raised
	case s.aboutTheEnd(i):
		return Parting
	case l.said.Fits(clientLeft), l.aRequest():
		return Plain
	case l.givesReason():
		return Raised
	}
	if strings.HasPrefix(l.text, "{") {
		if g, ok := s.named(l); ok {
			return g
		}
	}
	return s.worded(l)
}

// aboutTheEnd reports whether a line tells where something was, or that the program ends, and nothing of why.
func (s *Story) aboutTheEnd(i int) bool {
	l := &s.lines[i]
	return l.frame || i == 0 && l.framed || l.logged && l.said.Fits(frame) || leading.MatchString(l.message) && frame.MatchString(leading.ReplaceAllString(l.message, "")) ||
		l.said.Fits(poor) || l.said.Fits(crash) || row.MatchString(l.trimmed) || strings.HasPrefix(l.trimmed, "Traceback ") || l.said.Fits(noJVM)
}

// worded is how severe a line is by its words.
func (s *Story) worded(l *line) Severity {
	mildly, warned := l.raw.Fits(levelMild), l.raw.Fits(levelWarning)
	switch {
	case s.has(l, Warns):
		return Warning
	case l.raw.Fits(levelFatal):
		if l.putsAway(false) {
			return Parting
		}
		return Fatal
	case l.raw.May(systems) && systems.MatchString(l.trimmed):
		return System
	case l.said.Fits(access):
		return Plain
	}
	isError := l.raw.Fits(levelError)
	switch {
	case l.raw.Fits(aside) && !isError && !beginsGrave.MatchString(l.message):
		return Plain
	case warned && !isError && !s.has(l, Unreached):
		return Warning
	case isError, l.raw.Fits(errorWords):
		return Error
	case !warned && l.putsAway(mildly):
		return Parting
	case l.said.Fits(breaksFor):
		return Error
	case mildly && s.has(l, Unreached|Credentials):
		return Warning
	case !mildly && (s.has(l, Unreached|Faulty) || l.said.Fits(lacking)), beginsGrave.MatchString(bracketed.ReplaceAllString(l.message, "")):
		return Error
	}
	return Plain
}

// lacking fits what tells of an error where it is said at no level.
var lacking = expr(`(?i)\b(you must|must (be|install|specify|set|provide)|is required|does not exist|is missing|incompatible|mismatch|corrupt(ed)?)\b|\b(no [^.:;,]{1,40}|not) found[.!,; -]+(please )?(check|verify|make sure|ensure)\b|\b\w+_(state|status): ?(fail(ed|ure)?|down)\b`)

// bracketed fits what loggers put in brackets before what is said, beginsGrave the word that
// says it all there.
var bracketed, beginsGrave = regexp.MustCompile(`^(\[[^\]]*\]\s*)+`), regexp.MustCompile(`^(Error|ERROR|Failed|Fatal)\b`)

// named is how severe a line is whose members name its level.
func (s *Story) named(l *line) (g Severity, ok bool) {
	for _, name := range levelsIn {
		if g, ok = byName[strings.ToLower(l.members[name])]; !ok {
			continue
		}
		hasReason := func(name string) bool { return l.members[name] != "" }
		switch {
		case g != Plain:
		case s.has(l, Warns):
			g = Warning
		case l.putsAway(true):
			g = Parting
		case s.has(l, Unreached|Credentials):
			g = Warning
		case slices.ContainsFunc(reasonsIn, hasReason) && s.has(l, Faulty):
			g = Error // whatever its level, it gives the reason of something that failed
		}
		return g, true
	}
	return Empty, false
}

// ends fits what a program puts away, in order, as it ends, and faults what makes that more than a
// goodbye. Where it is not said at a mild level, it stands first, below who says it.
var (
	ends   = expr(`(?i)\b(shut(ting)?[ -]?down|(stop|paus|clos|exit|terminat|destroy|deallocat|disconnect|unload|unbind|uninitiali[sz]|(un|de)-?register|drain|releas|free|clean|quiesc|leav)(p?e|p?ed|p?ing)?|received signal|good ?bye|see you)\b`)
	faults = regexp.MustCompile(`(?i)\b(because|due to|since|unexpected(ly)?|errors?|fail(ed|ure|s)?|reason|exception|status [1-9]|exit code [1-9])\b`)
	// forEnd fits what goes no further since the program ends, nothingLeft what has nothing to put away any more.
	forEnd      = expr(`(?i)\b(because|since|as|due to)\b.{0,40}\b(stopp(ed|ing)|shut(ting)? ?down|terminat(ed|ing)|clos(ed|ing)|exiting)\W*$`)
	nothingLeft = expr(`(?i)^nothing to (destroy|clean|stop|close|free|release|flush|unload|shut)\b|^\w+ shutdown: (initiated|waiting)\b`)
	sayer       = regexp.MustCompile(`^(\[[^\]]*\] ?|[A-Z]+:? |[DI][!/] ?|\S+: |\S+\.\w+ )+`)
)

// putsAway reports whether a line tells of nothing but that a program ends.
func (l *line) putsAway(mildly bool) bool {
	message := l.message
	if !l.said.May(ends) && !l.said.May(forEnd) && !l.said.May(nothingLeft) {
		return false
	}
	said := sayer.ReplaceAllString(message, "")
	if mildly && forEnd.MatchString(message) || nothingLeft.MatchString(said) {
		return true
	}
	if !mildly {
		message = said
	}
	if !mildly && strings.Contains(message, ":") {
		return false
	}
	at := ends.FindStringIndex(message)
	return at != nil && (mildly || at[0] == 0) && !faults.MatchString(message)
}
