package words

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// preamble is what loggers put before what is said: when, by which process, at which
// place; the level stays. In the forms of syslog and ISO 8601, of nginx, PostgreSQL,
// MariaDB, Redis, RabbitMQ, Tomcat, OpenLDAP and gunicorn.
var preamble = regexp.MustCompile(`^(` +
	`\[?\d{4}[-/]\d\d[-/]\d\d[T ]+\d\d?:\d\d:\d\d([.,]\d+)?( ?(Z|[A-Z]{3,4}|[+-]\d\d:?\d\d))?\]?[,:|]?\s+` + // 2026-11-23 01:53:26.123 UTC
	`|\d\d-[A-Z][a-z]{2}-\d{4} \d\d:\d\d:\d\d\.\d+\s+` + // 23-Nov-2026 01:53:26.123
	`|\d+:[A-Z] \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d\.\d+ [#*.-] ` + // 1:M 23 Nov 2026 01:53:26.123 #
	`|[A-Z][a-z]{2}\s+\d+ \d\d:\d\d:\d\d( [\w.-]+)? ` + // Nov 23 01:53:26 host
	`|\[[\w :./+-]*\d\d:\d\d:\d\d[\w :./+-]*\] ` + // [Mon Nov 23 01:53:26.123 2026]
	`|\d\d:\d\d:\d\d[.,]\d+\s+` + // 01:53:26.123
	`|\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\]\[\d+\]` + // [2026-11-23 01:53:26.123][1][critical]
	`|1\d{9}(\.\d+)?: ` + // 1795429539:
	`|[0-9a-f]{8}\.[0-9a-f]{8} 0x[0-9a-f]+ ` + // 6b045d38.22c6f91e 0x7f26d745b200
	`|\[\d+\] |\d+#\d+: |<[\d.]+> |<[0-7]>|\d+ ` + // [1] 7#7: <0.230.0> <3> 0
	`|[A-Z] \| |[IWEF]\d{4} [\d:.]+\s+\d+ \S+\] ` + // W | E1123 01:53:26.123 7 main.go:12]
	"|\\S+:\\d+:in [`'][^']*': " + // /srv/config.ru:3:in `new':
	`)`)

// leveled are what stands before the level of a line, and between it and what is said: of
// Celery, of Ruby, of Spring, of nginx, RabbitMQ and Envoy.
var leveled = []struct {
	form *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`^\[[\d-]+ [\d:,.]+: ([A-Z]+)/[\w-]+\] `), "$1 "},
	{regexp.MustCompile(`^[A-Z], \[[^\]]*\]\s+([A-Z]+) -- [^:]*: `), "$1: "},
	{regexp.MustCompile(`^([A-Z]+)\s+\d+ --- \[[^\]]*\] (?:\[[^\]]*\] )?\S+\s*: `), "$1 "},
	{regexp.MustCompile(`^(\[\w+\]) (?:\d+#\d+: (?:\*\d+ )?|<[\d.]+>(?: |$))`), "$1 "},
	{regexp.MustCompile(`^(\[\w+\])\[\w+\] (?:\[\S+:\d+\] )?`), "$1 "},
}

// proxied is what nginx tells of a request beside its upstream.
var proxied = regexp.MustCompile(`, (client|server|request|host|referrer): (\"[^\"]*\"|[^,]*)`)

// said and reasons are the members of a line in JSON or logfmt that say what happened, and
// why; the first that there is counts.
var (
	said    = []string{"msg", "message", "@message", "log", "event", "title"}
	reasons = []string{"err", "error", "reason", "cause", "exception", "detail", "details", "alarm", "stack_trace"}
)

// Gist is what a line of a log says, without what a logger put before it: of a line in
// JSON or logfmt its message and its reason.
func Gist(line string) string {
	line = strings.TrimSpace(line)
	if text := structured(members(line)); text != "" {
		return text
	}
	line = proxied.ReplaceAllString(line, "")
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
	return line
}

// structured words the members of a line; empty where they have neither message nor reason.
func structured(m map[string]string) string {
	var parts []string
	for _, names := range [][]string{said, reasons} {
		for _, name := range names {
			if text := strings.TrimSpace(m[name]); text != "" && !slices.Contains(parts, text) {
				parts = append(parts, strings.TrimSuffix(text, "."))
				break
			}
		}
	}
	if text := strings.Join(parts, ": "); text == "" || strings.Contains(text, " ") || m["err_trace"] == "" {
		return text
	}
	return parts[0] + ": " + m["err_trace"] // a word alone tells next to nothing
}

// pair is one member in logfmt.
var pair = regexp.MustCompile(`(?:^|\s)([\w.@-]+)=("(?:[^"\\]|\\.)*"?|\S*)`)

// members reads a line that is an object in JSON, or logfmt with a level or a message; nil
// for another.
func members(line string) map[string]string {
	m := map[string]string{}
	if strings.HasPrefix(line, "{") {
		var object map[string]any
		if json.Unmarshal([]byte(line), &object) != nil {
			return nil
		}
		for name, value := range object {
			switch v := value.(type) {
			case string:
				m[strings.ToLower(name)] = v
			case map[string]any: // {"error": {"message": …}}
				if text, ok := v["message"].(string); ok {
					m[strings.ToLower(name)] = text
				}
			}
		}
		return m
	}
	if !strings.Contains(line, "level=") && !strings.Contains(line, "msg=") {
		return nil
	}
	for _, p := range pair.FindAllStringSubmatch(line, -1) {
		value := p[2]
		if strings.HasPrefix(value, `"`) {
			var text string
			if json.Unmarshal([]byte(value), &text) == nil {
				value = text
			}
		}
		m[p[1]] = strings.Trim(value, `"`)
	}
	return m
}
