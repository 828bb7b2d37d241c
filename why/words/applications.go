package words

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"whylet.dev/whylet/knowledge"
)

// ShellCodes are the exit codes that shells have for what they could not run, with what
// they stand for (POSIX.1-2024, 2.8.2).
var ShellCodes = map[int32]string{
	126: "126 is what a shell gives for a command that it may not execute",
	127: "127 is what a shell gives for a command that it does not find",
}

// NodeCodes are the exit codes that Node.js has for ends of its own, with what they stand for
// (Node 24, doc/api/process.md, Exit codes).
var NodeCodes = map[int32]string{
	9:  "9 is what Node.js gives for an option that it does not know, or a value that it does not take",
	12: "12 is what Node.js gives for a wrong port or address of its debugger",
	13: "13 is what Node.js gives where nothing is left to do and an await at the top of a module was not settled yet: what it waits for there never comes",
}

// placed fits what names the host that was asked, in the words of many clients.
var placed = regexp.MustCompile(`(?i)\blookup "?([\w.-]+)|bad address '([\w.-]+)'|(?:enotfound|eai_again) ([\w.-]+)|(?:resolve (?:the )?(?:host address|host name|hostname|host|server|address):?|host name|getaddrinfo for(?: host)?|resolution failed for(?: target)?|backend host|host not found in upstream|unknownhostexception:?) ["']*([\w.-]+(?::\d{2,5})?)|\bname=([\w.-]+) type=|\bgetaddrinfo: ([\w.-]+) \d+:|; host '([\w.-]+)'|\bfailed to resolve '([\w.-]+)' \[A|\bconnection to backend: ([\w.-]+)|\bconnect(?:ed|ing|ion)? to ([a-z][\w.-]*) \(\d+\.|\bserver at "([\w.-]+)"|\bserver (?:on|host) '([\w.-]+(?::\d+)?)|\bhost='([\w.-]+)'|\b[a-z][a-z+]*://(?:[^/@\s'"]*@)?([\w.-]+(?::\d{2,5})?)|\bto (?:host )?([\w.-]+ port \d+)|\b(?:remote )?host \(([\w.:]+)\)|\b((?:[a-z][\w-]*(?:\.[\w-]+)*|\d+(?:\.\d+){3}):\d{2,5})\b`)

// askedHost fits the host that a command asks: by the variable that Kubernetes sets for a Service, by a URL, as
// host:port, or as nc and the clients of PostgreSQL, Redis and MySQL take it.
var askedHost = regexp.MustCompile(`\$\{?([A-Z][A-Z0-9_]*)_SERVICE_HOST\b|\bhttps?://(?:[^/@\s]*@)?([\w.-]+)|\b([a-z][\w-]*(?:\.[\w-]+)*):\d{2,5}\b|\bnc(?: -\w+(?: \d+)?)* ([a-z][\w.-]*) \d{2,5}\b|\b(?:pg_isready|psql|redis-cli|mysql|mysqladmin)\b.*? -h[ =]?([\w.-]+)`)

// Asked returns the host that a command asks; by is the variable that names it, of a Service, and empty where the
// command names it itself.
func Asked(command string) (host, by string) {
	m := askedHost.FindStringSubmatch(command)
	if m == nil {
		return "", ""
	}
	return strings.Join(m[2:], ""), m[1]
}

// became is what became of a question that a line tells of, in the words of an answer.
var became = map[knowledge.Outcome]string{
	knowledge.NoAnswerOfDNS: "its name is not resolved",
	knowledge.UnknownName:   "there is no such name in DNS",
	knowledge.NobodyListens: "the connection is refused",
	knowledge.Unanswered:    "nobody answers there",
	knowledge.NotReached:    "it is not reached",
	knowledge.ServerError:   "it answers with an error",
	knowledge.NotInTime:     "it does not answer in time",
	knowledge.NoMember:      "none of those that it may ask is there",
	knowledge.NotLetIn:      "it does not let it in",
	knowledge.EndedByOther:  "it breaks the connection off",
}

// unreached are the outcomes of a question that reached nobody, failed those of one that did.
var (
	unreached = []knowledge.Outcome{knowledge.NoAnswerOfDNS, knowledge.UnknownName, knowledge.NobodyListens, knowledge.Unanswered, knowledge.NotReached}
	failed    = []knowledge.Outcome{knowledge.ServerError, knowledge.NotInTime, knowledge.NoMember, knowledge.NotLetIn, knowledge.EndedByOther}
)

// asking are the entries that stand for an outcome in the log of who asks another.
var asking = knowledge.NewGroup(func(e *knowledge.Entry) bool { return e.Role.Client != "" })

// outcome reads what a line says of a question: the first of some outcomes that it fits, in words, and whom it asked, empty
// where it does not say.
func outcome(line string, among []knowledge.Outcome) (said, where string, ok bool) {
	first := len(among)
	for _, e := range asking.In(line) {
		i := slices.Index(among, e.Role.Client)
		if i < 0 || i > first {
			continue
		}
		slots := e.Slots(line)
		if i < first || where == "" {
			where = slots["host"] + slots["place"]
		}
		first = i
	}
	if first == len(among) {
		return "", "", false
	}
	return became[among[first]], cmp.Or(where, Place(line)), true
}

// stands reports whether a line fits one of some outcomes.
func stands(line string, among ...knowledge.Outcome) bool {
	return slices.ContainsFunc(asking.In(line), func(e *knowledge.Entry) bool { return slices.Contains(among, e.Role.Client) })
}

// saying are the entries that stand for a state of who prints them.
var saying = knowledge.NewGroup(func(e *knowledge.Entry) bool { return e.Role.Server != "" })

// Says reports whether a line tells of a state of the program that prints it.
func Says(line string, state knowledge.State) bool {
	return slices.ContainsFunc(saying.In(line), func(e *knowledge.Entry) bool { return e.Role.Server == state })
}

// source fits the line of a file from which something is said, as loggers and parsers name it,
// which looks like a host and its port.
var source = regexp.MustCompile(`(^|[\s"'(\[{<,=:])(?:\.\./|/)?[\w.@-]+(?:/[\w.@-]+)*\.(?:go|py|m?js|ts|rb|java|kt|scala|php|cpp|cc?|h|hpp|rs|cs|exs?|erl|lua|cfg|conf|cnf|ini|ya?ml|json|xml|toml|properties|log|txt):\d+\b`)

// quotes are what may stand between a host and its port, and what only looks like one.
var quotes = strings.NewReplacer("`:`", ":", "`", "", "lookup address information", "", "lookup SRV records", "lookup", "lookup for host", "lookup", "lookup failed for", "lookup", "lookup failed:", "", "lookup failure for:", "lookup", "dns:", "", "/<unresolved>:", ":")

// addresses are the forms in which Java, Python and others have a host and its port, and nc has both names;
// of a connection only where it leads.
var addresses = []struct {
	form *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`\b([a-z][\w.-]*)/\d+(?:\.\d+){3}:(\d+)`), "$1:$2"},
	{regexp.MustCompile(`\('([\w.:-]+)', (\d+)(?:, <[^>]*>)?\)`), "$1:$2"},
	{regexp.MustCompile(`\bhost[=:]([\w.-]+)(?:\)\(|, )port[=:](\d+)`), "$1:$2"},
	{regexp.MustCompile(`\bhost "([\w.-]+)" \([^)]*\) and accepting TCP/IP connections on port (\d+)`), "$1:$2"},
	{regexp.MustCompile(`\b([a-z][\w.-]*)\[\d+(?:\.\d+){3}\]:(\d+)`), "$1:$2"},
	{regexp.MustCompile(`\|(\d+(?:\.\d+){3})\|:(\d+)`), " $1:$2"},
	{regexp.MustCompile(`\b(\d+(?:\.\d+){3})#(\d+)`), "$1:$2"},
	{regexp.MustCompile(`(?:\[[0-9a-f:]+\]|\d[\d.]*):\d+->`), ""},
	{regexp.MustCompile(`\[::1\]:(\d+)`), "localhost:$1"},
	{regexp.MustCompile(`\betcd-endpoints://0x[0-9a-f]+/`), ""},
	{regexp.MustCompile(` \(\d+(?:\.\d+){3}\) port `), " port "},
}

// clients are those of whom a server logs that they asked it, transports what may stand before
// an address.
var clients, transports = regexp.MustCompile(`(?i)\bclient:? \[?\d[\d.:a-f\]]*`), regexp.MustCompile(`\b(?:tcp|udp|ipv)[46]?[:#](\d)`)

// requested fits what nginx adds of the request at which it met an error: who asked it, and for what.
var requested = regexp.MustCompile(`, client: [^,]+, server: [^,]*, request: "[^"]*"|, host: "[^"]*"(?:, referrer: "[^"]*")?$`)

// requestOf fits what servers that log in JSON have in it of the request: its host is themselves.
var requestOf = regexp.MustCompile(`,"request":\{.*$`)

// Place is where a line of words about another points to; empty where it does not say.
func Place(line string) string {
	line = requestOf.ReplaceAllString(requested.ReplaceAllString(source.ReplaceAllString(line, "$1"), ""), "")
	line = quotes.Replace(line)
	for _, a := range addresses {
		line = a.form.ReplaceAllString(line, a.to)
	}
	line = transports.ReplaceAllString(clients.ReplaceAllString(line, " "), "$1")
	m := placed.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return strings.Replace(strings.TrimRight(strings.Join(m[1:], ""), "."), " port ", ":", 1) // one group fits
}

// socket fits the file of a socket, by what programs say of one that they listen on or ask: a path
// right behind "unix" or behind what the system calls EADDRINUSE.
var socket = regexp.MustCompile(`(?i)(?:\bunix(?:://|:| )|\baddress already in use:? )['"]?(/[a-z_][\w.@-]*(?:/[\w.@-]+)+)(?:[^\w./@-]|\.?$)`)

// Socket is the file of the socket that a line is about; empty where it is about none.
func Socket(line string) string {
	if m := socket.FindStringSubmatch(line); m != nil {
		return strings.TrimRight(m[1], ".")
	}
	return ""
}

// FailedBy reads what a line says of a question that another answered with a failure, or not in
// time: what that came to, and whom it asked, empty where it does not say.
func FailedBy(line string) (said, where string, ok bool) { return outcome(line, failed) }

// BreaksOff says whether a line tells of a connection that was ended by whom it led to, as its
// client says it.
func BreaksOff(line string) bool { return stands(line, knowledge.EndedByOther) }

// Unanswered says whether a line tells of a connection that was asked for, and neither came about
// nor was refused.
func Unanswered(line string) bool { return stands(line, knowledge.Unanswered) }

// Refused says whether a line is of a connection that was refused.
func Refused(line string) bool { return stands(line, knowledge.NobodyListens) }

// Unreached reads what a line says of a connection that did not come about: what kept
// it, and where to, as a name, an address or host:port, empty where it does not say.
func Unreached(line string) (said, where string, ok bool) { return outcome(line, unreached) }

// NotReached reports whether a line says that another program is not reached, and not why.
func NotReached(line string) bool {
	said, _, ok := Unreached(line)
	return ok && said == became[knowledge.NotReached]
}

// faultsByName are the signals by what strsignal(3) calls them.
var faultsByName = map[string]int32{
	"Illegal instruction": 4, "Trace/breakpoint trap": 5, "Aborted": 6, "Bus error": 7, "Floating point exception": 8, "Segmentation fault": 11, "Bad system call": 31,
}

// DiedOf is the signal of which a child died, as a shell says; 0 where the line says no such
// thing.
func DiedOf(line string) int32 {
	return faultsByName[knowledge.DiedOf.Slots(line)["signal"]]
}

// refusal fits the status of a refusal in the words of a client that was given it.
var refusal = regexp.MustCompile(`(?i)\b(?:http error|client error|status(?: code)?|response(?: code)?|returned error)[ :='"(]{1,3}4\d\d\b|\b4\d\d (?:client error|unauthorized|forbidden|bad request|not found|conflict|too many requests)\b`)

// ToldNo says whether words are those of a client that was answered, and with a refusal or a failure.
func ToldNo(text string) bool {
	return stands(text, knowledge.ServerError, knowledge.StatusRefusal) || refusal.MatchString(text)
}

// OfAnother says whether words are about another that was asked: where in its own code somebody says so is
// no place to correct.
func OfAnother(text string) bool {
	return stands(text, knowledge.Outcomes...) || refusal.MatchString(text)
}

// BrokeOff says whether an answer ended before it was there (io of Go, EOF).
func BrokeOff(text string) bool { return strings.Contains(text, "EOF") }

// Alert is the alert in an error of a handshake, as Go words it.
func Alert(text string) string {
	_, alert, _ := strings.Cut(text, "remote error: ")
	return alert
}

// CutShort says whether an answer ended in its middle (io of Go, ErrUnexpectedEOF).
func CutShort(text string) bool { return strings.HasSuffix(text, "unexpected EOF") }
