package words

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
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

// said, reasons and stacks are the members of a line in JSON or logfmt that say what happened,
// why, and where; the first that there is counts.
var (
	said    = []string{"msg", "message", "@message", "log", "event", "title"}
	reasons = []string{"err", "error", "reason", "cause", "error.message", "exception.message", "detail", "details", "alarm", "attr"}
	stacks  = []string{"stack_trace", "error.stack_trace", "exception.stacktrace", "exception", "exc_info", "traceback", "stack"}
)

// Gist is what a line of a log says, without what a logger put before it: of a line in
// JSON or logfmt its message and its reason.
func Gist(line string) string {
	line = strings.Trim(strings.TrimSpace(uncoloured(line)), "│╷╵╭╰─ ")
	if text := structured(members(line)); text != "" {
		return text
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
	return line
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
		if e[1] == "message" || slices.Contains(reasons, e[1]) {
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

// mostTold is how much is kept of what a long object says.
const mostTold = 600

// shortened is a line with an object of which only its level and what it says are left.
func shortened(line string) string {
	m := map[string]string{}
	if strings.HasPrefix(line, "{") {
		m = members(line)
	}
	text := structured(m)
	if text == "" {
		return line
	}
	short := map[string]string{"msg": strings.ToValidUTF8(text[:min(len(text), mostTold)], "")}
	for _, name := range levels {
		if m[name] != "" {
			short[name] = m[name]
		}
	}
	if raw, err := json.Marshal(short); err == nil && len(raw) < len(line) {
		return string(raw)
	}
	return line
}

// structured words the members of a line; empty where they have neither message nor reason.
func structured(m map[string]string) string {
	var parts []string
	for _, names := range [][]string{said, reasons} {
		for _, name := range names {
			if text := first(m[name]); text != "" && !slices.Contains(parts, text) {
				parts = append(parts, strings.TrimSuffix(text, "."))
				break
			}
		}
	}
	for _, name := range stacks {
		if why := deepest(m[name]); why != "" && !slices.ContainsFunc(parts, func(part string) bool { return strings.HasSuffix(why, part) }) {
			parts = append(parts, why)
			break
		}
	}
	if text := strings.Join(parts, ": "); text == "" || strings.Contains(text, " ") || m["err_trace"] == "" {
		return text
	}
	return parts[0] + ": " + m["err_trace"] // a word alone tells next to nothing
}

// first is what a member says, of one with several lines what comes before the frames of a stack.
func first(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	n := 1
	for n < min(len(lines), 3) && !Frame(lines[n-1], lines[n]) {
		n++
	}
	return strings.Join(lines[:n], " / ")
}

// deepest is the last reason that a stack gives; empty where it gives none.
func deepest(stack string) string {
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	if len(lines) == 1 {
		return lines[0]
	}
	for i, line := range slices.Backward(lines) {
		if trimmed := strings.TrimSpace(line); GivesReason(trimmed) || raised.MatchString(trimmed) || belowTraceback(lines, i) {
			if above := wider(lines, i); above >= 0 {
				return strings.TrimSpace(lines[above]) + " / " + trimmed
			}
			return trimmed
		}
	}
	return ""
}

// within adds what the object under a name tells: {"error": {"message": …}}, {"attr": {"error": …}}.
func within(m map[string]string, name string, object map[string]any) {
	switch message := object["message"].(type) {
	case string:
		m[name] = message
	case map[string]any:
		within(m, name, message)
	}
	if text, ok := object["msg"].(string); ok && m[name] == "" {
		m[name] = text
	}
	for _, inner := range append(slices.Clone(reasons), stacks...) {
		switch v := object[inner].(type) {
		case string:
			m[inner] = cmp.Or(m[inner], v)
		case map[string]any:
			for _, name := range []string{"errmsg", "message", "msg"} {
				if text, ok := v[name].(string); ok {
					m[inner] = cmp.Or(m[inner], text)
				}
			}
		}
	}
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
			case float64:
				if slices.Contains(levels, name) {
					m[name] = strconv.FormatFloat(v, 'f', -1, 64)
				}
			case map[string]any:
				if name == "fields" { // of Rust's tracing
					name = "message"
				}
				within(m, strings.ToLower(name), v)
			}
		}
		return m
	}
	if !strings.Contains(line, "level=") && !strings.Contains(line, "msg=") {
		return nil
	}
	for _, p := range pair.FindAllStringSubmatch(line, -1) {
		m[p[1]] = unquoted(p[2])
	}
	return m
}

// unquoted is the value of a member in logfmt.
func unquoted(value string) string {
	var text string
	if strings.HasPrefix(value, `"`) && json.Unmarshal([]byte(value), &text) == nil {
		return text
	}
	return strings.Trim(value, `"`)
}
