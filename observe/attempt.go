package observe

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/tap"
	"whylet.dev/whylet/redact"
)

// asks says whether an attempt may be one of a probe.
func asks(p *v1.Probe, a tap.Attempt) bool {
	switch {
	case a.Sent == 0: // it came to no request, or is one of a TCP probe
		return true
	case p.HTTPGet != nil && p.HTTPGet.Scheme == v1.URISchemeHTTPS:
		return a.TLS
	case p.HTTPGet != nil:
		return a.Path != "" && a.Path == "/"+strings.TrimPrefix(p.HTTPGet.Path, "/")
	case p.GRPC != nil:
		return a.HTTP2
	}
	return false
}

// bodyOf says what kubelet must have made of an attempt; ok is false where packets do
// not tell.
func bodyOf(a tap.Attempt, p probed) (b fact.Probed, ok bool) {
	ev := &fact.Evidence{
		Local: a.Near.String(), Remote: a.Far.String(), Connect: a.Connect, Sent: a.Sent, FirstByte: a.First,
		Status: a.Status, Proto: a.Proto, Header: a.Header, Target: a.Far.String(), Handler: fact.TCPSocket,
	}
	b = fact.Probed{Probe: p.kind, By: fact.ByTap, Evidence: ev, Took: max(a.Ended, a.First, a.Sent, a.Connect), Verdict: fact.Failure}
	plain := false
	switch {
	case p.spec.HTTPGet != nil:
		scheme := strings.ToLower(string(p.spec.HTTPGet.Scheme))
		if scheme == "" {
			scheme = "http"
		}
		plain = scheme == "http"
		ev.Handler, ev.Target = fact.HTTPGet, fmt.Sprintf("%s://%s/%s", scheme, a.Far, strings.TrimPrefix(p.spec.HTTPGet.Path, "/"))
	case p.spec.GRPC != nil:
		ev.Handler = fact.GRPC
	}
	timeout := func() {
		ev.Timeout, ev.Error = true, "no answer in time"
		b.Took = max(b.Took, time.Duration(max(1, p.spec.TimeoutSeconds))*time.Second)
		b.Message = fmt.Sprintf("%s: context deadline exceeded", ev.Target)
	}
	switch {
	case a.Refused:
		ev.Errno, ev.Error = "ECONNREFUSED", "connect: connection refused"
		b.Message = fmt.Sprintf("dial tcp %s: connect: connection refused", a.Far)
	case a.Connect == 0:
		timeout()
	case p.spec.TCPSocket != nil:
		b.Verdict = fact.Success
	case a.Alert:
		ev.Error = "tls: the server refused the handshake"
		b.Message = ev.Error
	case a.First == 0 && a.Reset:
		ev.Errno, ev.Error = "ECONNRESET", "read: connection reset by peer"
		b.Message = ev.Error
	case a.First == 0 && a.Closed:
		ev.Error, b.Message = "EOF", ev.Target+": EOF"
	case a.First == 0:
		timeout()
	case ev.Handler == fact.GRPC:
		return grpcBody(a, b)
	case !plain:
		return b, false // it is encrypted, and something was answered
	default:
		return httpBody(a, b, p.spec.HTTPGet, timeout)
	}
	return b, true
}

func httpBody(a tap.Attempt, b fact.Probed, of *v1.HTTPGetAction, timeout func()) (fact.Probed, bool) {
	switch {
	case a.Odd:
		b.Evidence.Error = "malformed HTTP response"
		b.Message = b.Evidence.Error
	case a.Short:
		b.Evidence.Error, b.Message = "unexpected EOF", b.Evidence.Target+": unexpected EOF"
	case a.Partial:
		timeout()
	case a.Status >= 400:
		b.Message = fmt.Sprintf("HTTP probe failed with statuscode: %d", a.Status)
		if of.Host == "" { // what somebody else says is nobody's here
			b.Evidence.Output = strings.ToValidUTF8(string(redact.Bytes(a.Body)), "")
		}
	case a.Status >= 300 || a.Status < 200:
		return b, false // kubelet goes where it is sent, and what it finds there decides
	default:
		b.Verdict = fact.Success
	}
	return b, true
}

func grpcBody(a tap.Attempt, b fact.Probed) (fact.Probed, bool) {
	names := map[int]string{0: "UNKNOWN", 2: "NOT_SERVING", 3: "SERVICE_UNKNOWN"}
	if a.Health == 1 {
		b.Verdict = fact.Success
		return b, true
	}
	switch {
	case a.Code > 0:
		return refused(status.New(codes.Code(a.Code), a.Said), b)
	case a.Status != 0: // of HTTP/1: a client of gRPC waits on for HTTP/2
		b.Evidence.Status, b.Evidence.Proto, b.Evidence.Header, b.Evidence.FirstByte = 0, "", nil, 0
		b.Evidence.Timeout, b.Evidence.Error = true, "no answer in time"
		b.Message = fmt.Sprintf("timeout: failed to connect service %q: context deadline exceeded", a.Far)
		return b, true
	}
	name, ok := names[a.Health]
	b.Message = fmt.Sprintf("service unhealthy (responded with %q)", name)
	b.Evidence.Output = name
	return b, ok
}

// refused is a gRPC call that its server answered with an error, in kubelet's words
// (pkg/probe/grpc/grpc.go).
func refused(s *status.Status, b fact.Probed) (fact.Probed, bool) {
	switch s.Code() {
	case codes.Unimplemented:
		b.Message = "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): " + s.Message()
	case codes.DeadlineExceeded:
		return b, false // whose deadline that was, packets do not tell
	default:
		b.Message = fmt.Sprintf("error: health rpc probe failed: %v", s.Err())
	}
	b.Evidence.Error = s.Err().Error()
	return b, true
}
