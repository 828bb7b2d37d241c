package logline

import (
	"regexp"
	"strconv"
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

var (
	// answered fits the status of a request as Apache and its like log it.
	answered = regexp.MustCompile(`"[A-Z]+ \S+ HTTP/[\d.]+" (\d{3})\b`)
	// answeredBy fits the same of HAProxy: frontend, backend/server, times, status.
	answeredBy = regexp.MustCompile(` \S+/\S+ (?:-?\d+/){2,4}\+?-?\d+ (\d{3}) \+?\d+ \S+ \S+ \S{4} `)
	// statusOf fits the status in an object that tells of a request.
	statusOf = regexp.MustCompile(`"status(?:_?[cC]ode)?": ?(\d{3})\b`)
)

// Status returns the HTTP status with which a line says that a server answered a request; 0 where it is no such line, and
// of kubelet's probes.
func Status(line string) int {
	if strings.Contains(line, "kube-probe/") {
		return 0
	}
	for _, form := range []*regexp.Regexp{answered, answeredBy} {
		if m := form.FindStringSubmatch(line); m != nil {
			status, _ := strconv.Atoi(m[1])
			return status
		}
	}
	if m := statusOf.FindStringSubmatch(line); m != nil && requestLogged.MatchString(line) {
		status, _ := strconv.Atoi(m[1])
		return status
	}
	return 0
}
