package probe

import (
	"bytes"
	"errors"
	"net/http"
	"net/textproto"
	"regexp"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
)

const (
	// maxOutput bounds what evidence keeps of a body or of a command's output, in bytes.
	maxOutput = 1 << 10
	// maxHeaderValue bounds a kept header, in bytes.
	maxHeaderValue = 256
)

// AnsweredBy is the header by which Whylet's mesh sidecar marks who answered:
// "sidecar" or "application".
const AnsweredBy = "X-Whylet-Answered-By"

// keptHeaders tell who answered, and where a redirect leads. The last ones are
// marks of the sidecars of Istio, osm-edge, Linkerd and Whylet.
var keptHeaders = []string{
	"Server", "Via", "Content-Type", "Location", AnsweredBy,
	"X-Envoy-Upstream-Service-Time", "X-Pipy-Upstream-Service-Time", "L5d-Proxy-Error",
	"X-Whylet-Upstream-Service-Time", "X-Whylet-Sidecar-Service-Time",
}

var keptLower = func() []string {
	lower := make([]string, len(keptHeaders))
	for i, name := range keptHeaders {
		lower[i] = strings.ToLower(name)
	}
	return lower
}()

// keptHeader gives the canonical name of a header that evidence keeps, or "".
func keptHeader(name []byte) string {
	for i, lower := range keptLower {
		if fold(name, lower) {
			return keptHeaders[i]
		}
	}
	return ""
}

// keepHeader notes the first value of a header, as http.Header.Get has it.
func keepHeader(into map[string]string, name, value string) {
	if _, ok := into[name]; !ok {
		into[name] = value[:min(len(value), maxHeaderValue)]
	}
}

func keepHeaders(h http.Header) map[string]string {
	var kept map[string]string
	for _, name := range keptHeaders {
		value := h.Get(textproto.CanonicalMIMEHeaderKey(name))
		if value == "" {
			continue
		}
		if kept == nil {
			kept = make(map[string]string, 4)
		}
		keepHeader(kept, name, value)
	}
	return kept
}

// excerpt is the part of an output that evidence keeps: bounded, valid UTF-8,
// and without what looks like a secret.
func excerpt(output []byte) string {
	output = output[:min(len(output), maxOutput)]
	return strings.ToValidUTF8(string(Redact(output)), "\uFFFD")
}

// urlPassword is user:password@ before the host of a URL (RFC 3986, 3.2.1).
var urlPassword = regexp.MustCompile(`(://[^\s:/@]*:)[^\s/@]+@`)

// secretNames are endings of names whose values are never kept, in lower case.
var secretNames = []string{
	"authorization", "token", "password", "passwd", "secret", "apikey", "api-key", "api_key",
	"cookie", "credential", "credentials", "private-key", "private_key", "privatekey", "access-key", "access_key",
}

// Redact replaces the values of names like Authorization, token or password, and
// the passwords in URLs. A health endpoint or a log has no business printing them,
// but some print their whole configuration. Neither is found where it is called
// something else.
func Redact(text []byte) []byte {
	text = urlPassword.ReplaceAll(text, []byte("$1[redacted]@"))
	var out []byte
	done := 0
	for i := 0; i < len(text); i++ {
		if text[i] != ':' && text[i] != '=' || !secretName(text[:i]) {
			continue
		}
		from := i + 1
		for from < len(text) && (text[from] == ' ' || text[from] == '"' || text[from] == '\'') {
			from++
		}
		to := from
		for to < len(text) && bytes.IndexByte([]byte("\r\n\"',&;}"), text[to]) < 0 {
			to++
		}
		out = append(append(out, text[done:from]...), "[redacted]"...)
		done, i = to, to
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

// secretName says whether the text ends with a name that stands for a secret,
// quoted or not.
func secretName(before []byte) bool {
	before = bytes.TrimRight(before, " \"'")
	for _, name := range secretNames {
		rest := len(before) - len(name)
		if rest >= 0 && fold(before[rest:], name) {
			return rest == 0 || before[rest-1] != '/' // the file /etc/passwd is no secret
		}
	}
	return false
}

// noteError keeps an error as it is, with its system error where it has one.
func noteError(e *fact.Evidence, err error) {
	e.Error = err.Error()
	var impossible interface{ plain() string }
	if errors.As(err, &impossible) {
		e.Error = impossible.plain()
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		e.Errno = unix.ErrnoName(errno)
	}
	var t interface{ Timeout() bool }
	if errors.As(err, &t) && t.Timeout() {
		e.Timeout = true
	}
}
