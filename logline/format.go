package logline

import (
	"regexp"
	"slices"
	"strings"
)

// preamble is what loggers put before what is said: when, by which process, at which
// place; the level stays. In the forms of syslog and ISO 8601, of nginx, PostgreSQL,
// MariaDB, Redis, RabbitMQ, Tomcat, OpenLDAP and gunicorn.
var preamble = regexp.MustCompile(`^(` +
	`\[?\d{4}[-/]\d\d[-/]\d\d[T ]+\d\d?:\d\d:\d\d([.,]\d+)?( ?(Z|[A-Z]{3,4}|[+-]\d\d:?\d\d))?\]?[,:|]?\s+` + // 2026-11-23 01:53:26.123 UTC
	`|\d{4}\.\d\d\.\d\d \d\d:\d\d:\d\d\.\d+\s+` + // 2026.11.23 01:53:26.123456
	`|\[ *\d+ *\] |\{\S*\} |\| +` + // [ 7 ] {query} |
	`|\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d\.\d+\s+` + // 23-Nov-2026 01:53:26.123
	`|\d+:[A-Z] \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d\.\d+ [#*.-] ` + // 1:M 23 Nov 2026 01:53:26.123 #
	`|[A-Z][a-z]{2}\s+\d+ \d\d:\d\d:\d\d( [\w.-]+)? ` + // Nov 23 01:53:26 host
	`|\[[\w :./+-]*\d\d:\d\d:\d\d[\w :./+-]*\] ` + // [Mon Nov 23 01:53:26.123 2026]
	`|\d\d:\d\d:\d\d([.,]\d+)?\s+` + // 01:53:26.123
	`|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\]\[\d+\]` + // [2026-11-23 01:53:26.123][1][critical]
	`|1\d{9}(\.\d+)?: ` + // 1795429539:
	`|6[0-9a-f]{7}(\.[0-9a-f]{8} 0x[0-9a-f]+)? ` + // 6b045d38.22c6f91e 0x7f26d745b200
	`|\d+#\d+: |<[\d.]+> |<[0-7]>|\d+ ` + // 7#7: <0.230.0> <3> 0
	`|npm (?:ERR!|error|notice|warn|WARN) ?` +
	`|[A-Z] \| |[IWEF]\d{4,6} [\d:.]+\s+\d+ \S+(?:\]| ⋮ \[\S*\] \d+ ) ?` + // W | E1123 01:53:26.123 7 main.go:12]
	"|\\S+:\\d+:in [`'][^']*': " + // /srv/config.ru:3:in `new':
	`)`)

// leveled are what stands before the level of a line, and between it and what is said: of
// Celery, of Ruby, of Spring, of nginx, RabbitMQ and Envoy.
var leveled = []struct {
	form *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`^\[[\d-]+ [\d:,.]+: ([A-Z]+)/[\w-]+\] `), "$1 "},
	{regexp.MustCompile(`^\[\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d+\]\[([A-Z]+) *\]\[[^\]]*\] ?`), "[$1] "},
	{regexp.MustCompile(`^([A-Z]+) \d\d-\d\d \d\d:\d\d:\d\d \S+:\d+\] `), "$1 "},
	{regexp.MustCompile(`^[A-Z], \[[^\]]*\]\s+([A-Z]+) -- [^:]*: `), "$1: "},
	{regexp.MustCompile(`^pid=\d+ tid=\w+ (?:\w+=\S+ )*([A-Z]+): `), "$1: "},
	{regexp.MustCompile(`^([A-Z]+)\s+\d+ --- \[[^\]]*\] (?:\[[^\]]*\] )?\S+\s*: `), "$1 "},
	{regexp.MustCompile(`^(\[\w+\]) (?:\d+#\d+: (?:\*\d+ )?|<[\d.]+>(?: |$))`), "$1 "},
	{regexp.MustCompile(`^(\[\w+\])\[\w+\] (?:\[\S+:\d+\] )?`), "$1 "},
}

// proxied is what nginx tells of a request beside its upstream.
var proxied = regexp.MustCompile(`, (client|server|request|host|referrer): (\"[^\"]*\"|[^,]*)`)

// escaped fits a stack whose ends of lines were escaped, as Apache logs what PHP says.
var escaped = regexp.MustCompile(`\\n(Stack trace:|#0 |\s+at |\\tat ).*$`)

// ofErlang fits the line with which Erlang's runtime ends, and the sentence in its term that says why.
var ofErlang = regexp.MustCompile(`^(?:\{")?(Kernel pid terminated|Runtime terminating during boot|init terminating in do_boot)(?:",\w+,"| \().*?"([A-Z][^"\\]* [^"\\]*)\\?".*$`)

// Message returns what a line of a log says, without what a logger put before it: of a line in
// JSON or logfmt its message and its reason.
func Message(line string) string {
	text, _ := message(uncoloured(line))
	return text
}

// message is the same of a line without colours, with the members that it has.
func message(line string) (text string, m map[string]string) {
	line = strings.Trim(strings.TrimSpace(line), "│╷╵╭╰─ ")
	m = members(line)
	if text := structured(m); text != "" {
		return text, m
	}
	if at := strings.LastIndex(line, "\t{"); at > 0 { // of zap's console
		if why := structured(members(line[at+1:])); why != "" {
			line = line[:at] + ": " + why
		}
	}
	line = escaped.ReplaceAllString(proxied.ReplaceAllString(hashed(line), ""), "")
	line = ofErlang.ReplaceAllString(line, "$1: $2")
	for range 4 {
		for _, l := range leveled {
			line = l.form.ReplaceAllString(line, l.to)
		}
		short := strings.TrimSpace(line[len(preamble.FindString(line)):])
		if short == line || short == "" {
			break
		}
		line = short
	}
	return line, m
}

// hash and entry are what Ruby writes of a hash behind what is said, and an entry of it.
var (
	hash  = regexp.MustCompile(` ?\{:?"?\w+"?(=>|: ).*\}$`)
	entry = regexp.MustCompile(`:(\w+)(?:=>|: )("(?:[^"\\]|\\.)*"|[^,}]*)`)
)

// hashed is a line that ends with a hash of Ruby's that has a reason, with no more of it than that.
func hashed(line string) string {
	at := hash.FindStringIndex(line)
	if at == nil {
		return line
	}
	for _, e := range entry.FindAllStringSubmatch(line[at[0]:], -1) {
		if e[1] == "message" || slices.Contains(reasonsIn, e[1]) {
			return line[:at[0]] + ": " + unquoted(e[2])
		}
	}
	return line
}

// colour fits what a terminal takes for a colour.
var colour = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

func uncoloured(line string) string {
	if !strings.Contains(line, "\x1b") {
		return line
	}
	return colour.ReplaceAllString(line, "")
}
