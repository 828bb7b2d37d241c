package reported

import (
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/redact"
)

// Attempt makes a probe attempt of what kubelet says of one that failed: the output
// in its log, or its event Unhealthy after "probe failed: ". What the text does not
// say stays empty: kubelet keeps bodies and times to itself, and of a timeout whether
// it had connected. spec may be nil.
func Attempt(kind fact.ProbeKind, spec *v1.Probe, output string, errored bool) fact.Probed {
	output = strings.TrimSpace(output)
	ev := &fact.Evidence{Handler: handlerOf(spec)}
	p := fact.Probed{Probe: kind, Verdict: fact.Failure, By: fact.BySay, Evidence: ev}
	p.Message = Bounded(redact.Text(output))
	if errored {
		p.Verdict = fact.Unknown
	}
	switch ev.Handler {
	case fact.Exec:
		ev.Target = Bounded(redact.Text(strings.Join(spec.Exec.Command, " ")))
		execWords(ev, output)
	case fact.GRPC:
		grpcWords(ev, output)
	default:
		httpWords(ev, output)
		if spec != nil && spec.HTTPGet != nil {
			if own, ok := elsewhere(ev.Target, spec.HTTPGet); ok {
				ev.Redirected, ev.Target = ev.Target, own
			}
		}
	}
	return p
}

// elsewhere says whether a URL is not the one that a probe asks, but one that kubelet was
// sent to, and gives the probe's own.
func elsewhere(target string, asks *v1.HTTPGetAction) (own string, ok bool) {
	u, err := url.Parse(target)
	if err != nil || u.Scheme == "" || asks.Port.IntVal == 0 {
		return "", false
	}
	scheme := strings.ToLower(string(asks.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	wanted := strconv.Itoa(int(asks.Port.IntVal))
	if u.Scheme == scheme && port == wanted {
		return "", false
	}
	host := asks.Host
	if host == "" {
		host = u.Hostname()
	}
	return scheme + "://" + net.JoinHostPort(host, wanted) + "/" + strings.TrimPrefix(asks.Path, "/"), true
}

const mostMessage = 1 << 10

// Bounded returns at most the first KiB of a message.
func Bounded(s string) string {
	if len(s) > mostMessage {
		s = strings.ToValidUTF8(s[:mostMessage], "")
	}
	return s
}

func handlerOf(spec *v1.Probe) fact.Handler {
	switch {
	case spec == nil:
		return ""
	case spec.Exec != nil:
		return fact.Exec
	case spec.GRPC != nil:
		return fact.GRPC
	case spec.TCPSocket != nil:
		return fact.TCPSocket
	}
	return fact.HTTPGet
}

var (
	statusCode = regexp.MustCompile(`^HTTP probe failed with statuscode: ([0-9]{3})`)
	getURL     = regexp.MustCompile(`^Get "([^"]+)": (.*)`)
	dialed     = regexp.MustCompile(`dial tcp (?:\S+->)?(\S+): `)
)

// errnos are the system's words for what the network says, as Go prints them.
var errnos = map[string]string{
	"connection refused": "ECONNREFUSED", "connection reset by peer": "ECONNRESET", "broken pipe": "EPIPE", "no route to host": "EHOSTUNREACH",
	"network is unreachable": "ENETUNREACH", "operation not permitted": "EPERM", "permission denied": "EACCES", "invalid argument": "EINVAL",
}

// httpWords reads the words of HTTP and TCP probes (pkg/probe/http, pkg/probe/tcp,
// and Go's net and net/http).
func httpWords(ev *fact.Evidence, output string) {
	if m := statusCode.FindStringSubmatch(output); m != nil {
		ev.Handler = fact.HTTPGet
		ev.Status, _ = strconv.Atoi(m[1]) // three digits
		return
	}
	text := output
	if m := getURL.FindStringSubmatch(output); m != nil {
		ev.Handler, ev.Target, text = fact.HTTPGet, m[1], m[2]
		if u, err := url.Parse(m[1]); err == nil && net.ParseIP(u.Hostname()) != nil {
			ev.Remote = u.Host
		}
	}
	dial := dialed.FindStringSubmatch(text)
	if dial != nil {
		ev.Remote = dial[1]
		if ev.Target == "" {
			ev.Target = dial[1]
		}
	}
	ev.Error = Bounded(text)
	for words, errno := range errnos {
		if strings.HasSuffix(text, words) {
			ev.Errno = errno
		}
	}
	ev.Timeout = strings.Contains(text, "i/o timeout") || strings.Contains(text, "deadline exceeded") || strings.Contains(text, "Client.Timeout exceeded")
}

// execWords reads those of commands (pkg/probe/exec): their output, or that they
// took too long. The exit code is not said; what failed to run at all is.
func execWords(ev *fact.Evidence, output string) {
	code := 0
	switch {
	case strings.HasPrefix(output, "command timed out"), strings.Contains(output, " timed out after "), strings.HasPrefix(output, "command ") && strings.HasSuffix(output, "timed out"):
		ev.Timeout, ev.Error = true, Bounded(output)
		return
	case strings.Contains(output, "executable file not found"), strings.Contains(output, "no such file or directory: unknown"):
		code = 127
	case strings.Contains(output, "permission denied: unknown"):
		code = 126
	}
	if code != 0 { // the runtime could not run it at all, as a shell would say
		ev.ExitCode, ev.Error = &code, Bounded(output)
	}
	ev.Output = Bounded(redact.Text(output))
}

// grpcWords reads those of gRPC health probes (pkg/probe/grpc/grpc.go).
func grpcWords(ev *fact.Evidence, output string) {
	ev.Error = Bounded(output)
	switch {
	case strings.HasPrefix(output, "timeout: failed to connect service"), strings.HasPrefix(output, "error: failed to connect service"):
		for words, errno := range errnos {
			if strings.Contains(output, words) {
				ev.Errno = errno
			}
		}
		ev.Timeout = ev.Errno == "" && strings.HasPrefix(output, "timeout")
	case strings.HasPrefix(output, "timeout: health rpc"), strings.Contains(output, "DeadlineExceeded"):
		ev.Timeout = true
	default:
		ev.Output = Bounded(output)
	}
}

// Probes are the words for probes at the beginning of events and in logs.
var Probes = map[string]fact.ProbeKind{"Liveness": fact.Liveness, "Readiness": fact.Readiness, "Startup": fact.Startup}

// Unhealthy reads the message of an event Unhealthy or ProbeWarning
// (pkg/kubelet/prober/prober.go).
func Unhealthy(message string) (kind fact.ProbeKind, output string, errored, ok bool) {
	message = strings.TrimPrefix(message, fact.Combined)
	word, rest, found := strings.Cut(message, " probe ")
	kind, known := Probes[word]
	if !found || !known {
		return "", "", false, false
	}
	if output, ok := strings.CutPrefix(rest, "failed: "); ok {
		return kind, output, false, true
	}
	if rest, ok := strings.CutPrefix(rest, "errored"); ok {
		if _, output, found := strings.Cut(rest, ": "); found {
			return kind, output, true, true
		}
	}
	return "", "", false, false
}
