package words

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/utils/lru"
)

// How much a line promises to say of why something failed.
const (
	empty   = iota
	parting // that it ends, where it was, or what to do: a frame of a stack, a line of help
	detail  // more of the error above it
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
	givesReason = regexp.MustCompile(`^(panic: |\*\* \((\w+\.)*[A-Z]\w*\) |fatal error: |FATAL ERROR: |Exception in thread |Unhandled exception|Uncaught |Caused by: |thread '.*' panicked|(---> )?(\w+[.:]+)*\w*(Error|Exception)( \[\w+\]| \((0x)?[0-9A-Fa-f]+\))?: |([A-Z]\w*::)*[A-Z]\w+(Error|Exception):$|(\w+\.)+SAXParseException; )`)
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

// gravest, called and warns are what programs call a line that says why they end, one that
// says what went wrong, and one that is not well, grave the words for that: syslog's names, those
// of Java's and Go's loggers, of PostgreSQL, nginx, Apache, etcd and klog, the numbers of Node's
// and of the kernel's, and the marks of a letter or two of stunnel, Telegraf, Android and zerolog.
var (
	gravest = regexp.MustCompile(`\b(FATAL|PANIC|SEVERE|CRITICAL|EMERG|ALERT)\b|\t(fatal|panic)\t|[\[:<](?i:emerg|alert|crit|critical|fatal)[\]>]|\b(level|severity)"?[=:] ?"?(fatal|panic|critical|60\b)|\bFTL\b|^<[0-2]>|^(\S+ ){0,2}C \| |^F\d{4} |(?i)\bfatal error\b|(^|: )fatal:|^fatal\b|\bkernel pid terminated\b|\bboot failed\b|\binit terminating in do_boot\b`)
	called  = regexp.MustCompile(`\bERROR\b|\terror\t|[\[:<](?i:error)[\]>]|\b(level|severity)"?[=:] ?"?(error|50\b)|\bERR\b|^<3>|^(\S+ ){0,2}(E \||\[(!|E)\]|E[!/]|!!)(?: |\w+: )|^E\d{4} `)
	grave   = regexp.MustCompile(`\b\w*(Error|Exception)[:\]]|(?i)^(\S+: )?(error|err|fail):? |\b(can't|cannot|could not|couldn't|unable to|failed to)\b|(?-i:\b(failed|FAILED)\b)|\bpanicked\b|\berror occurred\b|\btimeout occurred\b|^(authentication|authorization|login) (refused|denied): |\berrors?:$|\bsyntax error\b|\bparser? (error|failed)\b|: failure\.?$|\bfailure (trying|connecting|resolving|loading|reading|writing|opening|to)\b|\b(?:bad|invalid|illegal) (?:port|host(?:name)?|url|address)\b|\b(unknown|unrecogni[sz]ed|unsupported|invalid|bad|illegal|wrong) (\w+ )?(option|flag|field|directive|keyword|setting|parameter|variable|command|argument|configuration|key|property|number of arguments)s?\b`)
	warns   = regexp.MustCompile(`\b(WARN|WARNING)\b|^\d+:[XCSM] .{24} # |\twarn(ing)?\t|\bexit(ed)? (with )?(exit )?(status|code|value) [1-9]|[\[:<][Ww]arn(ing)?[\]>]|\b(level|severity)"?[=:] ?"?(warn|40\b)|\bWRN\b|^<4>|^(\S+ ){0,2}(W \||\[W\]|W[!/])(?: |\w+: )|^W\d{4} |(?i)(^|: )warn(ing)?: `)
	// mild fits a line that its program calls one of what goes on.
	mild = regexp.MustCompile(`\b(INFO?|DEBUG|DBG|NOTICE|TRACE)\b|\t(info|debug)\t|[\[:<](?i:info|information|debug|trace|notice|note|system)[\]>]|^(\S+ ){0,2}(\[[ .*+i]\]|[DI][!/]|[DIN] \|)(?: |\w+: )|^<[5-7]>|^I\d{4} |\b(level|severity|lvl)"?[=:] ?"?(info|debug|trace|notice)\b`)
	// aside fits a warning that is about something else than what fails.
	aside = regexp.MustCompile(`(?i)deprecat|\bto suppress this (message|warning)\b|\b(might|may|could) (become|be|get|lead|cause)\b`)
)

// clientLeft fits what a server says of a client that hung up, which is no fault of the server's.
var clientLeft = regexp.MustCompile(`(?i)\bconnection to client lost\b|\b(?:could not|cannot|unable to|failed to) (?:send|receive|write|read|flush) (?:data |to |from |response |reply )*(?:to |from )?(?:the )?client\b|\bclient (?:prematurely )?(?:closed (?:the )?connection|disconnected|hung up|went away|has gone away)\b|\bunexpected EOF on client connection\b|\bread additional data from client\b`)

// breaksFor fits what tells at any level that something is broken off, and that a refusal or an error is why.
var breaksFor = regexp.MustCompile(`(?:^|: | - )(?:Refusing|Rejecting|Denying|Refused|Rejected|Denied) [a-z]|(?i)\b(?:clos(?:ed|ing)|disconnect(?:ed|ing)?|reject(?:ed|ing)?|abort(?:ed|ing)?|dropp(?:ed|ing)|den(?:ied|ying)|refus(?:ed|ing)|stopp(?:ed|ing)|giving up|gave up)\b[^:;]{0,60}\b(?:because|due to|reason)\b:? .{0,80}\b(?:refused|rejected|denied|fail(?:ed|ure)|error|invalid|not (?:allowed|supported|permitted)|unsupported|mismatch|expired|exceeded|too many)\b`)

// systems fits a line that ends with the C library's words for what a system call came
// to, most often before a program's own "giving up".
var systems = regexp.MustCompile(`(?i)(?:: | "|\()(no such file or directory|permission denied|address already in use|no space left on device|cannot allocate memory|too many open files|read-only file system|not a directory|is a directory|operation not permitted|input/output error|(?:device or )?resource busy|connection refused|no route to host|name or service not known)"?\)?\.?$`)

// poor fits what is said last and says nothing but that it ends.
var poor = regexp.MustCompile(`(?i)^\W*(\w+: )?(\[?(error|fatal|note|info|warn(ing)?)\]?:? )?\W*(aborting|aborted|exiting|exited|shutting down|shutdown( complete)?|exiting \(due to fatal error\)|execution halted|terminat(ed|ing)|giving up|stopp(ed|ing)|node\.js v[\d.]+|worker exiting.*|reason: \w+( \w+)?|\w+ (is )?(shut(ting)? down|stopped|exiting)|unloading application|database system is shut down)\W*$|^(connection( to \S+)? closed|connection (closed|reset) by .*\bport \d+( \[preauth\])?|lost connection)\.?$`)

// frame fits a line of a stack, where something happened and not what, and what JavaScript
// shows of an error below its message.
var frame = regexp.MustCompile("^\\s*(" + strings.Join([]string{
	`at .*`, `File ".*", line \d+.*`, `\.\.\. \d+ (more|common frames).*`, `[~^\s]*\^[~^\s]*`, `\S+\.go:\d+( \+0x[0-9a-f]+)?( fp=0x.*)?`, `runtime stack:`, `goroutine \d+ \[.*`, `\d+: 0x[0-9a-f]+ .*`, `\d+\. .* @ 0x[0-9a-f]+ in .*`, `--- End of .* ---`, `[Ss]tack ?(back)?trace(back)?:`, `\d+: \S+\.go:\d+:\S+`, `\s*\d+:\s+(0x[0-9a-f]+ - )?(<?\w\S*::[\w<>{}:#$]+|_\w+|main|<unknown>)`, `#\d+ .*`, `\s*thrown in .* on line \d+`, `\[C\]: in .*`, `CallStack \(from HasCallStack\):`, `\s*\w+, called at \S+:\d+:\d+ in \S+`, `((Re-)?[Rr]aised|Called)\b.* (in|at) file ".*", (in)?line.*`, `\s*\[\d+\] .*\(.*\)( .*)?|\s+\[\d+\] [a-z].*`, `\s*@ \S+( \S+)?:\d+`, `in expression starting at \S+:\d+`, `Calls: \S+ -> .*`, `\s*[\w\\]+(::|->)\w+\(\)`, `\s*\+\d+ vendor frames.*`, `\s*\d+\s+\S+:\d+`, `[➜> ]*\d+▕.*`, `\S+:\d+: in (function|main chunk).*`, `(main|runtime)\.\w+(\(.*\))?`, `[\w.-]+(/[\w.-]+)+\.[\w.(*)]+\(.*\)`, `[\w./-]*\w\.[(\w*)./-]+\)?\.\w+(\.func\d+)*`,
	"from \\S+:in .*", "(from )?\\S+:\\d+:in [`'][^']*'",
	`[\])}]+[,;]?`,
}, "|") + `)$|^\s+\w+: ('.*'|-?\d+|\[.*|undefined|null|true|false),?$|^\s+"(errno|code|syscall|address|port|type|name|stack)": ?("[^"]*"|-?\d+)?,?$`)

// crash fits what Erlang tells of a process that died, beside why it did.
var crash = regexp.MustCompile(`^(\[\w+\] +)?\s*((crasher|neighbours):$|(initial call|pid|registered_name|ancestors|message_queue_len|messages|links|dictionary|trap_exit|status|heap_size|stack_size|reductions): |in (function|call from) |[a-z]\w*:[\w-]+/\d+,? line \d+$)`)

// row fits one of a table.
var row = regexp.MustCompile(`^\|( [^|]*\|){2,}$`)

// upshot fits what a runtime says of its end where that is but what came of something that
// was said before: Erlang's, of its supervisors, and billiard's, which Celery tries again by.
var upshot = regexp.MustCompile(`(?i)\bkernel pid terminated\b(?:[^:]|$)|\binit terminating in do_boot\b(?:[^:]|$)|\bboot failed$|\bapplication:? \S+ exited with reason:|^crash dump is being written to:|^runtime terminating during boot\b(?:[^:]|$)|\bRestartFreqExceeded\b|^compilation failed in require\b|^begin failed--compilation aborted\b`)

// noJVM fits what the JVM's launcher says after it has said why.
var noJVM = regexp.MustCompile(`^Error: (?:Could not create the Java Virtual Machine|A fatal exception has occurred)`)

// onlyFailed fits what says that something failed, or ended, and no more.
var onlyFailed = regexp.MustCompile(`(?i)\b(?:unexpected|unhandled|uncaught|unknown) (?:exception|error)[.:!]?$|(?-i)^Error: \w{1,20}(\(\w+\))?$|^(\d+ )?errors?$|^(\[\w+\] *)?(\S+ ?: )*(?i:could not|cannot|unable to|failed to) (create|start|launch|initiali[sz]e|boot|run|open) [A-Za-z() ]{1,40}\.?$|(?i)\bfailed (running|starting|executing)\b[^:]{0,40}$|\bprogram will exit\b|\*\*\* .*\bError \d+$|(?i)\bsee (the )?((previous|above|preceding) (messages?|errors?|logs?)|(stack ?trace|logs?|errors?|output|messages?)( above)? for (the )?(root )?(causes?|details?|reasons?))\b|\bfail(ed|ure)? to \w+ (all|any|some|one or more)( of)?( the)? \w+$|\b(fail(ed|s|ure)( to (start|launch|initiali[sz]e|run|boot))?|(could not|cannot|unable to) (start|launch|initiali[sz]e|run|boot)|aborted|unsuccessful(ly)?|exit(ed)?( abnormally| unexpectedly)?( (status|code|value))?|terminated( abnormally| unexpectedly)?|did not exit normally|returned (status|code)|not recoverable(: exiting now)?)\b( (with )?\d+| (with|due to|because of) (an? |the )?(previous |fatal )?(exit )?(code|status|value|errors?|failures?|exceptions?)( \[\w+\])?:?( \d+)?|, exited with \d+| - check the logs\b.*|: \d+)?[.! ]*$|(?i)\b(?:could not|cannot|unable to) (?:start|run|launch) [^.:]{1,40}\. [\w ]{1,30} (?:is|was) not (?:configured|available|initiali[sz]ed|running|started|loaded)\.?$`)

// level fits the level of a line that says nothing else.
var level = regexp.MustCompile(`(?i)^\[(emerg|alert|crit|critical|fatal|error|warn|warning|notice|info|debug)\]$`)

// leading fits the level that a logger puts before a frame of a stack, too.
var leading = regexp.MustCompile(`^[A-Z]+:? `)

// hasOnlyLevel fits one that has nothing but what stands before what is said.
var hasOnlyLevel = regexp.MustCompile(`^\d\d:\d\d:\d\d$|^(\[\w+\] )?[=*_#~+|-][=*_#~+| -]+[=*_#~+|-]$|^(FATAL|ERROR|SEVERE|WARN(ING)?|npm ERR!):? *(\[[^\]]*\]\s*)*$`)

// furthers fits a line that goes on with the error before it, as PostgreSQL's programs do, and as
// OpenSSL's queue of errors is printed.
var furthers = regexp.MustCompile(`(?i)^([\w.-]+: )?(detail|hint): |^line \d+: |^(openssl )?(error(\[\d+\])?: ?)?error:[0-9a-f]{8}:`)

// access fits what servers log of every request, in the form of Apache's and its like.
var access = regexp.MustCompile(`"[A-Z]+ \S+ HTTP/\d`)

// requestLogged fits the same of those that log objects: a message that says no more than that there was
// a request, whatever its level (pino-http and Caddy call one that was answered with 5xx an error).
var requestLogged = regexp.MustCompile(`"(?:msg|message)": ?"(?i:(?:(?:http|incoming|handled|finished|completed|processed|served|access|api) )?(?:request|response|access)(?: (?:completed|finished|handled|processed|served|done|errored|log))?)"`)

// withError fits one of these that has what went wrong beside it.
var withError = regexp.MustCompile(`"(?:err|error|exception)": ?(?:"[^"]|\{)`)

// OfRequest says whether a line is what a server logs of each request, and no more.
func OfRequest(line string) bool { return access.MatchString(line) || aRequest(line) }

// aRequest says whether an object tells of a request and of nothing that went wrong but its status.
func aRequest(line string) bool {
	return requestLogged.MatchString(line) && (!withError.MatchString(line) || strings.Contains(line, "failed with status code "))
}

// GivesReason says whether a line of a log is one with which a runtime of a language
// says why a program ends.
func GivesReason(line string) bool {
	return givesReason.MatchString(line) || rubyReason.MatchString(line)
}

// Frame says whether a line is one of a stack trace, after the line before it.
func Frame(before, line string) bool {
	return frame.MatchString(line) || strings.HasPrefix(line, "    ") && strings.HasPrefix(strings.TrimSpace(before), `File "`)
}

// weighed are the gravities of the last few logs that were asked for: an answer asks for those of
// the same lines again and again.
var weighed = lru.New(128)

// longestWeighed is how long a log may be that is remembered.
const longestWeighed = 4 << 10

// gravities are how much each of some lines promises to say of why a program ended.
func gravities(lines []string) []int {
	text := strings.Join(lines, "\n")
	if all, ok := weighed.Get(text); ok && len(all.([]int)) == len(lines) {
		return all.([]int)
	}
	all := weigh(lines)
	if len(text) <= longestWeighed {
		weighed.Add(text, all)
	}
	return all
}

// weigh gives the gravities of lines. What is indented below an error belongs to it, and what stands
// below the usage of a command does to that.
func weigh(lines []string) []int {
	all := make([]int, len(lines))
	above, most, help, more := empty, reason, false, false
	for i, line := range lines {
		line = strings.TrimPrefix(line, "│ ") // of a box that is drawn around it
		gist := Gist(line)
		trimmed := strings.TrimSpace(line)
		g := gravity(lines, i, gist)
		indented := trimmed != "" && (line[0] <= ' ' && (gist == trimmed || strings.HasPrefix(trimmed, "| ")) || bullet.MatchString(trimmed))
		if !indented {
			most = mostBelow(trimmed)
		}
		g = min(g, most)
		switch {
		case g == empty:
		case gist != trimmed, !indented && g >= trouble:
			help = false
		case opensHelp.MatchString(trimmed):
			help = true
		}
		switch {
		case g == empty || g == reason:
		case help, helps.MatchString(gist), tally.MatchString(gist), strings.HasPrefix(trimmed, "npm notice"), g == plain && above >= trouble && gist == trimmed && justAdvice(gist):
			g = parting
		case indented && above >= warning && g > parting && g <= above, more && gist == trimmed && g == plain:
			g = detail
		}
		if !indented && g != empty && g != parting && g != detail || g == reason {
			above = g
		}
		if g != empty {
			more = g >= warning && strings.HasSuffix(trimmed, ":") || more && g == detail
		}
		all[i] = g
	}
	return all
}

// mostBelow is how grave a line can be that stands below one, which is more than a line where .NET's
// logger puts the level above what it says.
func mostBelow(line string) int {
	switch m := category.FindStringSubmatch(line); {
	case m == nil, m[1] == "crit", m[1] == "fail":
		return reason
	case m[1] == "warn":
		return warning
	}
	return plain
}

// opensHelp fits the line above how a command is used or what can be done, helps one that is
// nothing but such advice.
var (
	opensHelp = regexp.MustCompile(`(?i)^(usage\b.*|(actions?|(potential |possible )?(solutions?|fix(es)?)|learn more|flags|options|commands|available commands|arguments|examples?|hints?|full report( is)? at|to (fix|resolve|solve|install) [^:]*|did you mean\b[^:]*):)$`)
	helps     = regexp.MustCompile(`(?i)^(\S+ )?(tip: |note: run with |for more (information|details|help)\b|(see|visit|read) (also )?(https?:|our |the )|(https?:/)?/[\w./-]+/\S*$|(\(?see (the )?full (trace|log|output|error)\b)|(re-?)?run with --?\w|(perhaps|maybe)\b|runtime: may need to |(try|run|use) ['"\x60]|did you mean\b|ask for help|if this (error )?is unexpected|need (more|help))|\ba complete log of this run\b|\bfor more details run\b`)
)

// bullet fits a line that is one of a list below another, tally one that counts what came of all.
var (
	bullet = regexp.MustCompile(`^(-+>|[-•]) `)
	tally  = regexp.MustCompile(`(?i)(\b(pass(ed)?|ok|warn(ings?)?|err(ors?)?|fail(ed)?|skip(ped)?|total|unreachable|changed|rescued|ignored)=\d+\s*){2,}`)
)

// byName are how grave a line is by the name of its level, as members of an object have it, in
// lower case.
var byName = map[string]int{
	"fatal": fatal, "panic": fatal, "critical": fatal, "crit": fatal, "emerg": fatal, "alert": fatal, "severe": fatal, "f": fatal, "60": fatal, "dpanic": fatal,
	"error": trouble, "err": trouble, "e": trouble, "50": trouble, "warn": warning, "warning": warning, "w": warning, "40": warning,
	"info": plain, "information": plain, "notice": plain, "debug": plain, "trace": plain, "i": plain, "d": plain, "30": plain, "20": plain, "10": plain,
}

// levels are the members of an object that have its level.
var levels = []string{"level", "log.level", "severity", "lvl", "levelname", "level_name", "loglevel", "s"}

// gravity is how much a line promises by itself, and by those right above it.
func gravity(lines []string, i int, gist string) int {
	line := uncoloured(lines[i])
	trimmed := strings.TrimSpace(line)
	switch {
	case gist == "", level.MatchString(gist), hasOnlyLevel.MatchString(gist), len(lines) > 1 && bareHead.MatchString(gist) && below(lines, i) < 0: // a heading of nothing
		return empty
	case raised.MatchString(trimmed), belowTraceback(lines, i), bareThrown.MatchString(trimmed) && i+1 < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i+1]), "at "): // which may look like a function's name
		return reason
	case i > 0 && Frame(lines[i-1], line), i == 0 && Frame("", line), Frame("", gist), Frame("", leading.ReplaceAllString(gist, "")), poor.MatchString(gist), crash.MatchString(gist), row.MatchString(trimmed), strings.HasPrefix(trimmed, "Traceback "), noJVM.MatchString(gist):
		return parting
	case clientLeft.MatchString(gist), aRequest(line):
		return plain
	case GivesReason(trimmed):
		return reason
	}
	if strings.HasPrefix(line, "{") {
		if g, ok := gravityNamed(members(line), gist); ok {
			return g
		}
	}
	mildly := mild.MatchString(line)
	switch {
	case EndsAtOnce.In(gist):
		return warning // at whatever level: it was to go on
	case gravest.MatchString(line):
		if putsAway(gist, false) {
			return parting
		}
		return fatal
	case systems.MatchString(trimmed):
		return system
	case access.MatchString(gist):
		return plain
	case aside.MatchString(line) && !called.MatchString(line) && !beginsGrave.MatchString(gist):
		return plain
	case warns.MatchString(line) && !called.MatchString(line) && !tellsOfAnother(gist):
		return warning
	case called.MatchString(line), grave.MatchString(line):
		return trouble
	case !warns.MatchString(line) && putsAway(gist, mildly):
		return parting
	case breaksFor.MatchString(gist):
		return trouble
	case mildly && tellsOfAnother(gist):
		return warning
	case !mildly && (tellsOfFault(gist) || lacking.MatchString(gist)), beginsGrave.MatchString(bracketed.ReplaceAllString(gist, "")):
		return trouble
	}
	return plain
}

// bareThrown fits what Java says of an exception without a message, above its stack.
var bareThrown = regexp.MustCompile(`^(?:Caused by: )?(?:[a-z_$][\w$]*\.)+[A-Z][\w$]*(?:Exception|Error)$`)

// lacking fits what tells of an error where it is said at no level.
var lacking = regexp.MustCompile(`(?i)\b(you must|must (be|install|specify|set|provide)|is required|does not exist|is missing|incompatible|mismatch|corrupt(ed)?)\b|\b(no [^.:;,]{1,40}|not) found[.!,; -]+(please )?(check|verify|make sure|ensure)\b|\b\w+_(state|status): ?(fail(ed|ure)?|down)\b`)

// bracketed fits what loggers put in brackets before what is said, beginsGrave the word that
// says it all there.
var bracketed, beginsGrave = regexp.MustCompile(`^(\[[^\]]*\]\s*)+`), regexp.MustCompile(`^(Error|ERROR|Failed|Fatal)\b`)

// gravityNamed is how grave a line is whose members name its level.
func gravityNamed(m map[string]string, gist string) (g int, ok bool) {
	for _, name := range levels {
		if g, ok = byName[strings.ToLower(m[name])]; !ok {
			continue
		}
		switch {
		case g != plain:
		case putsAway(gist, true):
			g = parting
		case tellsOfAnother(gist):
			g = warning
		case Any(gist, faulty...) && slices.ContainsFunc(reasons, func(name string) bool { return m[name] != "" }):
			g = trouble // whatever its level, it gives the reason of something that failed
		}
		return g, true
	}
	return empty, false
}

// ends fits what a program puts away, in order, as it ends, and faults what makes that more than a
// goodbye. Where it is not said at a mild level, it stands first, below who says it.
var (
	ends   = regexp.MustCompile(`(?i)\b(shut(ting)?[ -]?down|(stop|paus|clos|exit|terminat|destroy|deallocat|disconnect|unload|unbind|uninitiali[sz]|(un|de)-?register|drain|releas|free|clean|quiesc|leav)(p?e|p?ed|p?ing)?|received signal|good ?bye|see you)\b`)
	faults = regexp.MustCompile(`(?i)\b(because|due to|since|unexpected(ly)?|errors?|fail(ed|ure|s)?|reason|exception|status [1-9]|exit code [1-9])\b`)
	// forEnd fits what goes no further since the program ends, nothingLeft what has nothing to put away any more.
	forEnd      = regexp.MustCompile(`(?i)\b(because|since|as|due to)\b.{0,40}\b(stopp(ed|ing)|shut(ting)? ?down|terminat(ed|ing)|clos(ed|ing)|exiting)\W*$`)
	nothingLeft = regexp.MustCompile(`(?i)^nothing to (destroy|clean|stop|close|free|release|flush|unload|shut)\b|^\w+ shutdown: (initiated|waiting)\b`)
	sayer       = regexp.MustCompile(`^(\[[^\]]*\] ?|[A-Z]+:? |[DI][!/] ?|\S+: |\S+\.\w+ )+`)
)

// putsAway says whether a line tells of nothing but that a program ends.
func putsAway(gist string, mildly bool) bool {
	said := sayer.ReplaceAllString(gist, "")
	if mildly && forEnd.MatchString(gist) || nothingLeft.MatchString(said) {
		return true
	}
	if !mildly {
		gist = said
	}
	at := ends.FindStringIndex(gist)
	return at != nil && !faults.MatchString(gist) && (mildly || at[0] == 0 && !strings.Contains(gist, ":"))
}

// faulty are phrases that tell of a fault, at whatever level.
var faulty = []*Phrase{Credentials, CertificateExpired, CertificateUnknown, NoSpace, Locked, QuotaReached, PoolTaken, LeftBehind, TakesNoWrites, SettingMissing, ServiceLink, ModuleMissing, Libraries, TakenOver, OthersMay, BadConfig, HostHeader, SmallBuffer, BadCookie, RelayDenied}

// tellsOfFault says whether a line that is called nothing tells of something that fails.
func tellsOfFault(gist string) bool { return tellsOfAnother(gist) || Any(gist, faulty...) }

// tellsOfAnother says whether a line tells that something else could not be reached, at no level.
func tellsOfAnother(gist string) bool {
	_, _, ok := Unreached(gist)
	return ok
}
