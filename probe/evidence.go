package probe

import (
	"errors"
	"net/http"
	"net/textproto"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/redact"
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
	return strings.ToValidUTF8(string(redact.Bytes(output)), "\uFFFD")
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
