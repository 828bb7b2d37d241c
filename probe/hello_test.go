package probe

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/fcgi"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// serve takes connections and hands each to a function, which closes it.
func serve(t *testing.T, each func(net.Conn)) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go each(c)
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// fastCGI is an application as it is asked by a web server.
func fastCGI(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() { _ = fcgi.Serve(l, http.NotFoundHandler()) }()
	return l.Addr().(*net.TCPAddr).Port
}

// Servers that cut, or do not understand, what a plain probe asks, and what they speak.
func TestHello(t *testing.T) {
	cut := func(c net.Conn) { _ = c.Close() }
	tlsPort := func(c *tls.Config) int {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.TLS = c
		s.Config.ErrorLog = nil
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.Listener.Addr().(*net.TCPAddr).Port
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rpc := grpc.NewServer()
	go func() { _ = rpc.Serve(l) }()
	t.Cleanup(rpc.Stop)
	grpcPort := l.Addr().(*net.TCPAddr).Port
	proxied := serve(t, func(c net.Conn) {
		defer func() { _ = c.Close() }()
		from := bufio.NewReader(c)
		line, err := from.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "PROXY TCP4 127.0.0.1 127.0.0.1 ") {
			return
		}
		if r, err := http.ReadRequest(from); err == nil && r.URL.Path == "/live" {
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		}
	})
	complains := serve(t, func(c net.Conn) {
		defer func() { _ = c.Close() }()
		_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n")
		_, _ = io.Copy(io.Discard, c)
	})
	asGRPC := func(port int) Target {
		return Target{Kind: fact.Liveness, PodIP: "127.0.0.1", Spec: &v1.Probe{ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: int32(port)}}}}
	}
	overTLS := func(port int) Target {
		t := asGRPC(port)
		t.Spec.GRPC.Mode = new(v1.GRPCProbeModeTLS)
		return t
	}
	asHTTP2 := func(port int) Target {
		return getOf(port, func(g *v1.HTTPGetAction) { g.Protocol = new(v1.HTTPProtocolHTTP2) })
	}
	elsewhere := getOf(tlsPort(nil), func(g *v1.HTTPGetAction) { g.Host = "localhost" })
	secure := getOf(grpcPort, func(g *v1.HTTPGetAction) { g.Scheme = v1.URISchemeHTTPS })
	p := newTestProber(t)
	for name, test := range map[string]struct {
		target Target
		want   fact.Protocol
	}{
		"TLS":                            {getOf(tlsPort(nil)), fact.TLS},
		"TLS that demands a certificate": {getOf(tlsPort(&tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12})), fact.TLS},
		"gRPC":                           {getOf(grpcPort), fact.HTTP2},
		"the PROXY protocol":             {getOf(proxied), fact.Proxied},
		"FastCGI":                        {getOf(fastCGI(t)), fact.FastCGI},
		"nothing":                        {getOf(serve(t, cut)), ""},
		"a complaint, whatever is said":  {getOf(complains), ""},
		"HTTP, where gRPC is asked":      {asGRPC(listen(t, http.NotFoundHandler())), fact.HTTP1},
		"TLS, where gRPC is asked":       {asGRPC(tlsPort(nil)), fact.TLS},
		"HTTP, where h2c is asked":       {asHTTP2(listen(t, http.NotFoundHandler())), fact.HTTP1},
		"TLS, where h2c is asked":        {asHTTP2(tlsPort(nil)), fact.TLS},
		"HTTP, where gRPC over TLS is":   {overTLS(listen(t, http.NotFoundHandler())), fact.HTTP1},
		"gRPC, where gRPC over TLS is":   {overTLS(grpcPort), fact.HTTP2},
		"another host's":                 {elsewhere, ""},
		"a probe that says hello to TLS": {secure, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := p.Hello(t.Context(), test.target, 5*time.Second); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// One that takes the connection and says nothing costs no more than the time that is given.
func TestHelloToTheSilent(t *testing.T) {
	p := newTestProber(t)
	port := serve(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	if got := p.Hello(t.Context(), getOf(port), 20*time.Millisecond); got != "" {
		t.Errorf("it speaks %q", got)
	}
}
