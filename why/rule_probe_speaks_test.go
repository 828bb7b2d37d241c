package why

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// What is spoken where a probe asks, once it was tried in other protocols.
func TestSpeaksOtherwise(t *testing.T) {
	cut := attempt(fact.Readiness, fact.Evidence{Connect: time.Millisecond, Error: `Get "http://10.0.0.1:8080/": EOF`})
	odd := attempt(fact.Readiness, fact.Evidence{Connect: time.Millisecond, Error: `net/http: HTTP/1.x transport connection broken: malformed HTTP response "\x00\x00\x06"`})
	rpc := attempt(fact.Readiness, fact.Evidence{Handler: fact.GRPC, Target: "10.0.0.1:8080", Connect: time.Millisecond, Timeout: true})
	old := attempt(fact.Readiness, fact.Evidence{Connect: time.Millisecond, Error: `Get "http://10.0.0.1:8080/": http2: client conn could not be established`})
	overTLS := func(c *v1.Container) {
		c.ReadinessProbe.ProbeHandler = v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: 8080, Mode: new(v1.GRPCProbeModeTLS)}}
	}
	asHTTP2 := func(c *v1.Container) { c.ReadinessProbe.HTTPGet.Protocol = new(v1.HTTPProtocolHTTP2) }
	after := func(failed fact.Probed, speaks fact.Protocol) func(*tale) {
		return func(s *tale) {
			s.probe("app", 3, failed)
			s.in("app", fact.AskedAgain{Probe: fact.Readiness, Patience: time.Second, Timeout: time.Second, Verdict: fact.Failure, Speaks: speaks})
			s.probe("app", 2, failed)
		}
	}
	for _, q := range []question{
		{name: "TLS", cause: answer.ProbeWrongScheme, says: "Port 8080 of container app speaks TLS", tale: after(cut, fact.TLS)},
		{name: "gRPC", cause: answer.ProbeProtocol, says: "as gRPC does", tale: after(cut, fact.HTTP2)},
		{name: "gRPC, whose first bytes came back", cause: answer.ProbeProtocol, says: "as gRPC does", tale: after(odd, fact.HTTP2)},
		{name: "a load balancer's line", cause: answer.ProbeProtocol, says: "the line of the PROXY protocol", tale: after(cut, fact.Proxied)},
		{name: "gRPC is asked in vain of TLS", cause: answer.ProbeProtocol, says: "asks in gRPC without TLS", tale: after(rpc, fact.TLS)},
		{name: "gRPC is asked in vain of HTTP", cause: answer.ProbeProtocol, says: "speaks HTTP/1", tale: after(rpc, fact.HTTP1)},
		{name: "gRPC over TLS is asked in vain of gRPC", pod: web(ready, overTLS), cause: answer.ProbeProtocol, says: "asks in gRPC over TLS", tale: after(rpc, fact.HTTP2)},
		{name: "HTTP/2 is asked in vain of HTTP/1", pod: web(ready, asHTTP2), cause: answer.ProbeProtocol, says: "asks in HTTP/2 without TLS", tale: after(old, fact.HTTP1)},
		{name: "HTTP/2 is asked in vain of TLS", pod: web(ready, asHTTP2), cause: answer.ProbeWrongScheme, says: "asks in HTTP/2 without TLS", tale: after(old, fact.TLS)},
		{name: "its log says so, too", cause: answer.ProbeWrongScheme, says: "speaks TLS", tale: func(s *tale) {
			s.in("app", fact.Looked{PID: 100, State: "S", Said: []string{"http: TLS handshake error from 10.0.0.9:4711: tls: first record does not look like a TLS handshake"}})
			after(cut, fact.TLS)(s)
		}},
		{name: "it was well once", cause: answer.AppUnhealthy, tale: func(s *tale) {
			s.probe("app", 2, good(fact.Readiness, time.Millisecond))
			after(cut, fact.TLS)(s)
		}},
		{name: "another failure", cause: answer.AppUnhealthy, says: "with 500", tale: after(status(fact.Readiness, 500, "no"), fact.TLS)},
	} {
		if q.pod == nil {
			q.pod = web(ready)
		}
		q.symptom = answer.NotReady
		t.Run(q.name, func(t *testing.T) { q.run(t) })
	}
}

// A container that its probe ends again and again speaks what it spoke in the run before.
func TestSpeaksInTheNextRun(t *testing.T) {
	cut := attempt(fact.Liveness, fact.Evidence{Connect: time.Millisecond, Errno: "ECONNRESET"})
	s := tell(t, web())
	s.probe("app", 1, cut)
	s.in("app", fact.AskedAgain{Probe: fact.Liveness, Patience: time.Second, Timeout: time.Second, Verdict: fact.Failure, Speaks: fact.TLS})
	s.probe("app", 2, cut)
	s.wait(time.Minute)
	s.probe("app", 3, cut)
	a := s.ask()
	s.laws(a)
	if v := a.Verdicts[0]; v.Cause != answer.ProbeWrongScheme || v.Rule != "probe-protocol" {
		t.Error(a.Text(answer.Style{Wide: true}))
	}
}
