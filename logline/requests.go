package logline

import (
	"regexp"
	"strings"
)

// access fits what servers log of every request, in the form of Apache's and its like.
var access = expr(`"[A-Z]+ \S+ HTTP/\d`)

var (
	// requestLogged fits the same of those that log objects: a message that says no more than that there was
	// a request, whatever its level (pino-http and Caddy call one that was answered with 5xx an error).
	requestLogged = expr(`"(?:msg|message)": ?"(?i:(?:(?:http|incoming|handled|finished|completed|processed|served|access|api) )?(?:request|response|access)(?: (?:completed|finished|handled|processed|served|done|errored|log))?)"`)
	// withError fits one of these that has what went wrong beside it.
	withError = regexp.MustCompile(`"(?:err|error|exception)": ?(?:"[^"]|\{)`)
)

// IsRequest reports whether a line is what a server logs of each request, and no more.
func IsRequest(line string) bool {
	return access.MatchString(line) || requestLogged.MatchString(line) && nothingElse(line)
}

// aRequest reports whether an object tells of a request and of nothing that went wrong but its status.
func (l *line) aRequest() bool { return l.raw.Fits(requestLogged) && nothingElse(l.text) }

func nothingElse(line string) bool {
	return !withError.MatchString(line) || strings.Contains(line, "failed with status code ")
}
