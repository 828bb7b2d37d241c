package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

const (
	// degradedWithin is the maximum age of the last error of a failure that goes on.
	degradedWithin = 2 * time.Minute
	// seldom is the longest interval between two errors of a program that works rarely.
	seldom = 10 * time.Minute
	// rarely is the same for one about the program's own rights or credentials.
	rarely = 30 * time.Minute
	// leastErrors is the minimum count of an error: a single one may be chance.
	leastErrors = 3
	// leastShare is the minimum share of all lines, as 1/n, of an error that names no other program.
	leastShare = 10
	// nearEnd is the number of last lines of a log without times in which an error counts as current.
	nearEnd = 6
	// leastUnreached is the minimum count of an error that names another program.
	leastUnreached = 2
	// leastSaid is the length in bytes of a message that needs no other field of its line.
	leastSaid = 12
	// mostNoted is the maximum number of errors noted of a container that is not Degraded.
	mostNoted = 2
	// mostRepeats is the maximum number of errors reported for a container.
	mostRepeats = 3
)

var (
	// visitors matches errors that a server logs about faults of its clients.
	visitors = regexp.MustCompile(`(?i)\b(?:404|401|403|405|400)\b|\bnot found: /|no route matches|no such (?:route|page)|\bopen\(\) "[^"]*" failed \(2: |directory index of|access forbidden by rule|client (?:intended to send|sent|disconnected|closed|has gone|timed out)|\bclosed keepalive|TLS handshake error|SSL_do_handshake\(\) failed|tlsv?1? alert|bad (?:request|client hello|certificate from)|http request sent to an? https|invalid (?:http|request|method|token|jwt|signature|csrf|credentials|password|api key|session|host header|preface|protocol)|(?:token|session|signature|jwt) (?:has |is )?(?:expired|invalid)|malformed|login failed|authentication failed for user|password authentication|access denied for user|failed password|invalid user|validation (?:error|failed)|ValidationError|csrf|\bduplicate key\b|violates|syntax error at or near|relation "[^"]*" does not exist|column "[^"]*" does not exist|could not obtain lock on|canceling statement due to|terminating connection due to administrator|unexpected EOF on client|could not receive data from client|aborted connection|broken pipe|connection reset by peer|forcibly closed|rate limit(?:ed| exceeded) for|\bUnauthorized request|kex_exchange|banner exchange|no matching (?:host key|key exchange)|Disallowed host|disallowedhost|unsupported (?:media|method)|deadlock detected|could not serialize|invalid input syntax|value too long|division by zero|object has been modified|context canceled|code = (?:NotFound|InvalidArgument|AlreadyExists|Canceled|Aborted)\b`)
	// ownRequest matches what the program's own HTTP and AMQP clients log of an answer that refuses their request.
	ownRequest = regexp.MustCompile(`\boperation error \w+: \w+|\bAn error occurred \(\w+\) when calling the \w+ operation|\b(?:Axios|HTTPStatus|StatusCode)Error: |\b(?:urllib\.error|requests\.exceptions)\.HTTPError: |\b[Rr]equest failed with status code 4\d\d|\bgoogleapi: Error 4\d\d|\b(?:Client|Server) Error: .{0,40} for url: |\bserver returned HTTP (?:status|code) 4\d\d|\b(?:ACCESS_REFUSED|RESOURCE_LOCKED|PRECONDITION_FAILED) - |(?i)\b(?:failed|received|got|unexpected|returned|responded|replied|answered)\b[^.;]{0,40}\bstatus(?: ?code)?:? ?[\[(]?4\d\d\b.{0,40}\b(?:response|body)\b|\b(?:received|got|unexpected)\b[^.;]{0,30}\bstatus(?: ?code)?:? ?[\[(]?4\d\d\b|\btunnel connection failed: 4\d\d`)
	// asClient matches errors of database client libraries; a server does not log them about its clients.
	asClient = regexp.MustCompile(`\bconnection to server at "[^"]*"[^:]*, port \d+ failed: |\bOperationalError\b|\bAccess denied for user '[^']*'@.*\busing password\b.*\b(?:SQLSTATE|Error 1045|errno: 1045)`)
	// rejects matches a line in PostgreSQL's own log about a client it refused. In a client's log the same text is the client's error.
	rejects = regexp.MustCompile(`(?:^|\[\d+\][^:]*)FATAL: +(?:role|database) "[^"]*" does not exist|(?:^|\[\d+\][^:]*)FATAL: +no pg_hba\.conf entry`)
	// absent matches an error about a requested object that does not exist; ownLack one about something the program itself needs.
	absent  = regexp.MustCompile(`(?i)\bnot found[\s"'.)\]}]*$`)
	ownLack = regexp.MustCompile(`(?i)\b(?:command|module|class|library|file|host|executable|symbol|table|plugin|config\w*|secret)\b[^:]* not found`)
	// ends matches a line with which a program reports that it cannot continue.
	ends = regexp.MustCompile(`(?i)\bcrash(?:ed|ing)?\b|\b(?:cannot|can't|unable to|could not) (?:continue|proceed|go on|start|recover)|\bgiving up\b|\bterminat(?:ed|ing)\b|\bshutting down\b|\babort(?:ed|ing)\b|\bexiting\b|\bunrecoverable\b|\bout of memory\b|OutOfMemoryError`)
	// started matches a line that reports a completed start; notYet one that negates it.
	started = regexp.MustCompile(`(?i)\b(?:listening|running|serving|started) (?:on|at)\b|\b(?:server|service|http|application|app) (?:is )?(?:now )?(?:listening|running|started)\b|\bstarted (?:\S+ )?in [\d.]+|\brunning in\b|\b(?:startup|start-up|initiali[sz]ation) (?:is )?completed?\b|\bready\b|\bconnected\b`)
	notYet  = regexp.MustCompile(`(?i)\b(?:not|isn't|never|wait(?:ing|s)?|until|before|when|if|unless|none|0|client|user|peer|visitor|player|device|socket|session)\b(?:\W+\w+){0,5}\W+(?:listening|running|started|ready|connected)\b`)
	// optional matches errors of side features, such as telemetry and update checks.
	optional = regexp.MustCompile(`(?i)\btelemetry\b|\banalytics\b|\busage (?:stats|statistics|report|data)\b|\bphone ?home\b|\b(?:update|version|upgrade) check|\bcheck(?:ing)? for (?:updates|new versions?|upgrades)|\bnew version\b|\bsentry\b|\b(?:traces?|spans?) export|\bexport(?:ing)? (?:of )?(?:traces?|spans?)\b|\botlp|\bjaeger\b|\bzipkin\b|\bstatsd\b|\bprofil(?:er|ing)\b|\bmetadata (?:server|service)\b|169\.254\.169\.254|\bicon\b|\bdeprecat|\breverse (?:lookup|mapping|dns)\b|\bIP address '[^']*' could not be resolved|\bdoes not resolve to address\b`)
	// ofStack matches the unindented lines of a stack trace, which belong to the error above them.
	ofStack = regexp.MustCompile(`^\S+\.rb:\d+:in |^(?:Traceback \(|During handling of the above|The above exception was|Caused by: |(?:[A-Za-z_]\w*\.)*\w+(?:Error|Exception)(?:: |$))`)
	// raised matches a message that is an exception, which some programs log as a warning where a job of theirs fails.
	raised = regexp.MustCompile(`^(?:WARN(?:ING)?:? )?(?:[A-Za-z_]\w*(?:\.|::))*[A-Z]\w*(?:Error|Exception): `)
	// failedWork matches a warning about work that failed.
	failedWork = regexp.MustCompile(`(?i)\bfail(?:ed|s|ure)\b|\b(?:raised|threw|caught|got) (?:an? )?(?:\w+ )?exception\b|\b(?:refused|denied|rejected)\b|\b(?:cannot|can't|could not|couldn't|unable to)\b`)
	// threadEnded matches the report of a runtime about a thread that an error ended; ofPool matches threads that a pool replaces.
	threadEnded = regexp.MustCompile(`^Exception in thread (?:"[^"]*"|\S+)`)
	ofPool      = regexp.MustCompile(`(?i)^Exception in thread "?[^"]*(?:pool|exec|worker|http|nio|dispatcher|process_request)`)
	// noMemory matches an error that also ends threads of pools.
	noMemory = regexp.MustCompile(`\bjava\.lang\.OutOfMemoryError\b`)
	// recovers matches a line that reports a recovery.
	recovers = regexp.MustCompile(`(?i)\b(?:re-?connected|re-?established|recovered|restored|resumed|succeeded|successful(?:ly)?|is (?:back|healthy|up|available|reachable)(?: again)?|back (?:to normal|online|up)|connected to|connection (?:established|ok|is ok)|established (?:an? |the )?(?:new )?(?:\w+ )?connection|became (?:healthy|available|ready|leader)|acquired lease|healthy again|all (?:ok|good|healthy))\b`)
	// namesObject matches a warning about an object of the cluster.
	namesObject = regexp.MustCompile(`(?i)\b(?:service|endpoints?|backend|upstream|ingress|secret|configmap|persistentvolumeclaim|pod)s?[ :=]+["'\x60]?[a-z0-9][a-z0-9.-]*/[a-z0-9][a-z0-9.-]*`)
	// counted matches an error counter of zero.
	counted = regexp.MustCompile(`(?i)\b(?:0|no|zero) (?:\w+ )?(?:errors?|failures?|failed|exceptions?|problems?)\b|\b(?:errors?|failures?|failed)["']?[=:]\s*"?0\b`)
)

// logOf is the end of the log of a running container, oldest line first.
type logOf struct {
	Log
	story *logline.Story // which may omit some lines
	at    []time.Time    // when each line of it was written; nil if unknown
	seen  *fact.Fact     // the fact that holds the log; nil if it comes from the API
	ready time.Time      // when its pod became Ready; zero if unknown
}

// ofRights are the steps of entries about a program's own rights and credentials.
var ofRights = []string{"compare-credentials", "check-certificate", "allow-service-account", "add-hba-line"}

// complainedNow is an error that a container logs repeatedly at present.
type complainedNow struct {
	logline.Group
	log     logOf
	text    string
	another bool // the error is about another program
	place   string
	own     bool // it is about the program's own rights or credentials, and goes on until somebody changes them
}

// complaint reads a group of a log's lines.
func (h *inquiry) complaint(l logOf, g logline.Group) complainedNow {
	said := l.story.Message(g.Last)
	c := complainedNow{Group: g, log: l, text: said, another: blames(said), place: words.Place(l.story.Text(g.Last))}
	if m, ok := h.Knowledge.Meaning(said); ok {
		c.own = slices.ContainsFunc(m.Steps, func(s knowledge.Step) bool { return slices.Contains(ofRights, s.Do) })
	}
	return c
}

// complainsNow returns the errors that a log repeats at present, the most telling first.
func (h *inquiry) complainsNow(l logOf) []complainedNow {
	var all []complainedNow
	for _, g := range l.story.Groups(logline.Warning, l.at) {
		c := h.complaint(l, g)
		if g.Severity == logline.Warning && !c.another && !c.own && !raised.MatchString(c.text) && !failedWork.MatchString(c.text) || c.harmless() || !c.goesOn(h.Now) || c.recovered() {
			continue
		}
		all = append(all, c)
	}
	if slices.ContainsFunc(all, func(c complainedNow) bool { return c.Severity > logline.Warning }) { // a warning says the same in other words
		all = slices.DeleteFunc(all, func(c complainedNow) bool { return c.Severity == logline.Warning && !c.another })
	}
	most := 0
	for _, g := range all {
		most = max(most, g.Count)
	}
	rank := func(g complainedNow) int { // who names another that fails it names the cause of the rest
		if g.another && g.place != "" && g.Count*4 >= most {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b complainedNow) int {
		return cmp.Or(cmp.Compare(rank(b), rank(a)), cmp.Compare(b.Severity, a.Severity), cmp.Compare(b.Count, a.Count), cmp.Compare(b.Last, a.Last))
	})
	return all
}

// harmless reports whether an error is no sign that the program fails.
func (g complainedNow) harmless() bool {
	asked := !g.another && absent.MatchString(g.text) && !ownLack.MatchString(g.text)
	ofVisitor := visitors.MatchString(g.text) || len(g.text) < leastSaid && visitors.MatchString(g.log.story.Text(g.Last)) // another field may say what it is about
	return asked || ofVisitor && !ownRequest.MatchString(g.text) && !asClient.MatchString(g.text) || optional.MatchString(g.text) || counted.MatchString(g.text) || rejects.MatchString(g.log.story.Text(g.Last))
}

// endsThread reports whether an error ended a thread that no pool replaces.
func (g complainedNow) endsThread() bool {
	return threadEnded.MatchString(g.text) && (noMemory.MatchString(g.text) || !ofPool.MatchString(g.text))
}

// isShare reports whether an error makes up at least 1/leastShare of the lines since it was first logged. A rarer
// error that names no other program may concern single requests. Indented lines belong to the line above.
func (g complainedNow) isShare() bool {
	n := 0
	for i, line := range g.log.Lines {
		if line == "" || line[0] == ' ' || line[0] == '\t' || ofStack.MatchString(line) || i < len(g.log.At) && g.log.At[i].Before(g.From) {
			continue
		}
		n++
	}
	return g.Count > leastErrors && g.Count*leastShare >= n
}

// goesOn reports whether an error occurs often enough, and its last occurrence is no older than its interval allows.
func (g complainedNow) goesOn(now time.Time) bool {
	least := prose.Whether(g.another, leastUnreached, leastErrors)
	if g.endsThread() {
		return g.Until.IsZero() || !g.Until.Before(g.log.ready)
	}
	if g.Until.IsZero() {
		return g.Count >= leastErrors && (g.another || g.isShare()) && g.log.story.Len()-g.Last <= max(nearEnd, g.log.story.Len()/leastShare)
	}
	quiet := now.Sub(g.Until)
	if g.Until.Before(g.log.ready) {
		return false
	}
	if g.Severity >= logline.Fatal && g.log.story.EndsFailed() && g.Last >= g.log.story.Primary() && (quiet <= seldom && g.Count >= leastErrors || g.cannotGoOn()) {
		return true // nothing follows in the log, however long ago that was
	}
	if g.Count < least || !g.another && !g.own && !g.isShare() {
		return false
	}
	between := g.Until.Sub(g.From) / time.Duration(g.Count-1)
	if g.own && between <= rarely && quiet <= 2*rarely {
		return true
	}
	return between <= seldom && quiet <= max(degradedWithin/4, min(3*between, seldom+degradedWithin))
}

// cannotGoOn reports whether this error or a later line says that the program cannot continue.
func (g complainedNow) cannotGoOn() bool {
	for i := g.Last; i < g.log.story.Len(); i++ {
		if ends.MatchString(g.log.story.Message(i)) {
			return true
		}
	}
	return false
}

// plainLater yields the lines after the last error that are neither errors nor warnings.
func (g complainedNow) plainLater(yield func(i int, said string) bool) {
	for i := g.Last + 1; i < g.log.story.Len(); i++ {
		said := g.log.story.Message(i)
		if g.log.story.Severity(i) > logline.Plain || strings.HasPrefix(g.log.story.Text(i), "\t") || strings.HasSuffix(said, "?") { // such as libpq's hint
			continue
		}
		if !yield(i, said) {
			return
		}
	}
}

func (g complainedNow) saysRecovered() bool {
	for _, said := range g.plainLater {
		if (recovers.MatchString(said) || started.MatchString(said) && !notYet.MatchString(said)) && !g.inTurnWith(said) {
			return true
		}
	}
	return false
}

// inTurnWith reports whether a line alternates with the error, so that it is no recovery.
func (g complainedNow) inTurnWith(said string) bool {
	n := 0
	for i := range g.Last {
		if logline.Alike(g.log.story.Message(i), said) {
			n++
		}
	}
	return n >= leastErrors && 2*n >= g.Count
}

// recovered reports whether a later line reports a recovery, or several plain lines follow the last error for more
// than twice its interval.
func (g complainedNow) recovered() bool {
	if g.endsThread() {
		return false
	}
	if g.saysRecovered() {
		return true
	}
	plain, newest := 0, time.Time{}
	for i := range g.plainLater {
		if plain++; i < len(g.log.at) {
			newest = g.log.at[i]
		}
	}
	return plain >= leastErrors && g.Count > 1 && newest.Sub(g.Until) > 2*g.Until.Sub(g.From)/time.Duration(g.Count-1)
}

// howOften formats the count of an error, and its first and last time.
func (g complainedNow) howOften(now time.Time) string {
	if g.Until.IsZero() {
		return prose.Times(g.Count)
	}
	ago := now.Sub(g.Until)
	last := prose.Whether(ago >= time.Second, prose.Span(ago)+" ago", "just now")
	if g.Count == 1 {
		return prose.Times(g.Count) + ", " + last
	}
	return fmt.Sprintf("%s since %s, last %s", prose.Times(g.Count), g.From.UTC().Format(time.TimeOnly), last)
}

func (g complainedNow) repeat(said string) answer.Repeat {
	return answer.Repeat{Container: g.log.Container, Text: prose.Brief(said, quoted), Count: g.Count, First: g.From, Last: g.Until}
}
