package logline

import (
	"regexp"
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
	line = zapConsole(line)
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

// colour fits what a terminal takes for a colour.
var colour = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]`)

func uncoloured(line string) string {
	if !strings.Contains(line, "\x1b") {
		return line
	}
	return colour.ReplaceAllString(line, "")
}
