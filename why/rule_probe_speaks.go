package why

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// speaksLasts is how long ago a hello may have been answered that tells of the attempts at
// hand: each run of a container is tried anew, and need not have been yet.
const speaksLasts = 10 * time.Minute

// speaks is the newest hello of this probe that was answered.
func (p *probing) speaks() (*fact.Fact, fact.AskedAgain) {
	for _, r := range slices.Backward(p.h.Runs(p.run.Container)) {
		for f, b := range newest[fact.AskedAgain](r.Decided().Again) {
			if b.Probe == p.kind && b.Speaks != "" && f.When().After(p.from.Add(-speaksLasts)) && !f.When().After(p.until.Add(p.period())) {
				return f, b
			}
		}
	}
	return nil, fact.AskedAgain{}
}

// probeSpeaksOtherwise: the port speaks another protocol, and was heard to.
func probeSpeaksOtherwise(p *probing) *finding {
	ev := p.last.Evidence
	if ev == nil || p.worked() || p.mesh.Mesh != "" {
		return nil
	}
	asGRPC := ev.Handler == fact.GRPC && ev.Timeout
	if p.mode != broken && p.mode != mismatch && !asGRPC {
		return nil
	}
	at, b := p.speaks()
	if at == nil {
		return nil
	}
	cause, spoken, does := answer.ProbeProtocol, "speaks "+prose.Brief(string(b.Speaks), 20), ""
	asHTTP2, overTLS := spokenWays(p.spec)
	switch b.Speaks {
	case fact.TLS:
		spoken, does = "speaks TLS", "a gRPC probe knows no TLS: probe with exec, with tcpSocket, or at a port without it"
		if !asGRPC {
			cause, does = answer.ProbeWrongScheme, "set "+p.field("scheme")+" to HTTPS"
		}
		if asHTTP2 {
			does = "remove " + p.field("protocol") + " and set " + p.field("scheme") + " to HTTPS, which finds out by itself whether HTTP/2 is spoken"
		}
	case fact.HTTP2:
		spoken = "speaks HTTP/2 from the first byte, as gRPC does"
		does = whether(overTLS, "remove "+p.field("mode")+": the port speaks gRPC without TLS", "if it is gRPC and has the health service, make it a grpc probe; or probe with tcpSocket, or at a port that speaks HTTP/1.1")
	case fact.Proxied:
		spoken = "wants the line of the PROXY protocol before each request, which a load balancer sends"
		does = "probe at a port without the PROXY protocol, or with tcpSocket"
	case fact.FastCGI:
		spoken = "speaks FastCGI, which a web server speaks with it (PHP-FPM does)"
		does = "probe with tcpSocket, or ask the web server in front of it; PHP-FPM's own ping.path is asked by FastCGI, too (exec: cgi-fcgi)"
	case fact.HTTP1:
		spoken = "speaks HTTP/1"
		does = whether(asHTTP2, "remove "+p.field("protocol")+": the port speaks HTTP/1", "make it an httpGet probe, or ask at the port that speaks gRPC")
	}
	f := p.finds(cause, certain, at).
		says("Port %d of container %s %s, and %s asks in %s: tried once in the other way, it was answered.", p.port(), p.run.Container, spoken, p.what(), asksIn(asGRPC, asHTTP2, overTLS))
	if does != "" {
		f.fix(p.h.specFix(does))
	}
	return f
}

func asksIn(asGRPC, asHTTP2, overTLS bool) string {
	switch {
	case asGRPC && overTLS:
		return "gRPC over TLS"
	case asGRPC:
		return "gRPC without TLS"
	case asHTTP2:
		return "HTTP/2 without TLS"
	}
	return "plain HTTP"
}

// spokenWays returns what the probe speaks beside the default: HTTP/2 without TLS, or
// gRPC over TLS (gates H2CContainerProbe and GRPCContainerProbeTLS of Kubernetes 1.37).
func spokenWays(spec *v1.Probe) (asHTTP2, overTLS bool) {
	if spec == nil {
		return false, false
	}
	asHTTP2 = spec.HTTPGet != nil && spec.HTTPGet.Protocol != nil && *spec.HTTPGet.Protocol == v1.HTTPProtocolHTTP2
	overTLS = spec.GRPC != nil && spec.GRPC.Mode != nil && *spec.GRPC.Mode == v1.GRPCProbeModeTLS
	return asHTTP2, overTLS
}
