package oracle_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	remote "k8s.io/cri-client/pkg"
	kubeprobe "k8s.io/kubernetes/pkg/probe"
	kubeexec "k8s.io/kubernetes/pkg/probe/exec"
	utilexec "k8s.io/utils/exec"
	fakeexec "k8s.io/utils/exec/testing"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/probe"
)

func serveHTTP(t testing.TB, h http.Handler) (port int) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().(*net.TCPAddr).Port
}

// closedPort is one that nobody listens on.
func closedPort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// deafPort is one whose backlog is full, so that connecting never ends.
func deafPort(t testing.TB) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := name.(*syscall.SockaddrInet4).Port
	for range 8 {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), 100*time.Millisecond)
		if err != nil {
			return port
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	t.Fatal("the backlog does not fill up")
	return 0
}

func target(podIP string, h v1.ProbeHandler) probe.Target {
	return probe.Target{Kind: fact.Liveness, PodIP: podIP, Spec: &v1.Probe{TimeoutSeconds: 1, ProbeHandler: h}}
}

// TestConnecting covers what happens before a byte is exchanged.
func TestConnecting(t *testing.T) {
	p := newProber(t, nil)
	open, closed, deaf := serveHTTP(t, http.NotFoundHandler()), closedPort(t), deafPort(t)
	for _, host := range []string{"127.0.0.1", "::1", "localhost", "", "255.255.255.255", "0.0.0.0", "no-such-host.invalid", "::ffff:127.0.0.1", "fe80::1%lo"} {
		for name, port := range map[string]int{"open": open, "closed": closed, "deaf": deaf} {
			for _, h := range []v1.ProbeHandler{
				{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt(port)}},
				{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt(port)}},
			} {
				t.Run(fmt.Sprintf("%s/%s/%v", host, name, h.HTTPGet != nil), func(t *testing.T) {
					t.Parallel()
					if difference := sameAs(kubelet(target(host, h)), whylet(t, p, target(host, h))); difference != "" {
						t.Error(difference)
					}
				})
			}
		}
	}
}

// TestTLS crosses the protocols: each kind of server, with the right scheme and
// with the wrong one.
func TestTLS(t *testing.T) {
	p := newProber(t, nil)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/healthz":
			_, _ = fmt.Fprint(w, "over ", r.Proto)
		case "/bounce":
			http.Redirect(w, r, "/healthz", http.StatusFound)
		default:
			http.Error(w, "no", http.StatusTeapot)
		}
	})
	servers := map[string]func(*httptest.Server){
		"plain":   func(s *httptest.Server) { s.Start() },
		"TLS":     func(s *httptest.Server) { s.StartTLS() },
		"HTTP/2":  func(s *httptest.Server) { s.EnableHTTP2 = true; s.StartTLS() },
		"TLS 1.0": func(s *httptest.Server) { s.TLS = &tls.Config{MaxVersion: tls.VersionTLS10}; s.StartTLS() },
		"TLS 1.1": func(s *httptest.Server) {
			s.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
			s.StartTLS()
		},
		"h2c": func(s *httptest.Server) {
			s.Config.Protocols = new(http.Protocols)
			s.Config.Protocols.SetUnencryptedHTTP2(true)
			s.Start()
		},
		"client certificate": func(s *httptest.Server) {
			s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
			s.StartTLS()
		},
	}
	for name, start := range servers {
		s := httptest.NewUnstartedServer(handler)
		s.Config.ErrorLog = nil
		start(s)
		t.Cleanup(s.Close)
		for _, scheme := range []v1.URIScheme{"HTTP", "HTTPS", ""} {
			for _, protocol := range []*v1.HTTPProtocol{nil, new(v1.HTTPProtocolHTTP1), new(v1.HTTPProtocolHTTP2)} {
				for _, path := range []string{"/healthz", "/bounce", "/no"} {
					t.Run(fmt.Sprintf("%s/%s/%v%s", name, scheme, ptr.Deref(protocol, ""), path), func(t *testing.T) {
						port := s.Listener.Addr().(*net.TCPAddr).Port
						get := httpTarget(port, func(g *v1.HTTPGetAction) { g.Scheme, g.Path, g.Protocol = scheme, path, protocol })
						want, got := kubelet(get), whylet(t, p, get)
						if protocol != nil && *protocol == v1.HTTPProtocolHTTP2 {
							want.message = notHTTP2.ReplaceAllString(want.message, "not HTTP/2")
							got.message = notHTTP2.ReplaceAllString(got.message, "not HTTP/2")
						}
						if difference := sameAs(want, got); difference != "" {
							t.Error(difference)
						}
					})
				}
			}
		}
	}
}

// stubborn is a health service that answers as it is told to.
type stubborn struct {
	grpc_health_v1.UnimplementedHealthServer
	answer func(ctx context.Context) (*grpc_health_v1.HealthCheckResponse, error)
}

func (s stubborn) Check(ctx context.Context, _ *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	return s.answer(ctx)
}

func serveGRPC(t testing.TB, register func(*grpc.Server), options ...grpc.ServerOption) (port int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(options...)
	register(s)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	return l.Addr().(*net.TCPAddr).Port
}

func TestGRPC(t *testing.T) {
	p := newProber(t, nil)
	service := health.NewServer()
	service.SetServingStatus("up", grpc_health_v1.HealthCheckResponse_SERVING)
	service.SetServingStatus("down", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	healthy := serveGRPC(t, func(s *grpc.Server) { grpc_health_v1.RegisterHealthServer(s, service) })
	saying := func(answer func(context.Context) (*grpc_health_v1.HealthCheckResponse, error)) int {
		return serveGRPC(t, func(s *grpc.Server) { grpc_health_v1.RegisterHealthServer(s, stubborn{answer: answer}) })
	}
	certificate := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(certificate.Close)
	secure := serveGRPC(t, func(s *grpc.Server) { grpc_health_v1.RegisterHealthServer(s, service) }, grpc.Creds(credentials.NewServerTLSFromCert(&certificate.TLS.Certificates[0])))
	cases := map[string]struct {
		port    int
		service *string
	}{
		"over TLS":          {port: secure},
		"over TLS, down":    {secure, new("down")},
		"HTTP over TLS":     {port: certificate.Listener.Addr().(*net.TCPAddr).Port},
		"healthy":           {port: healthy},
		"service up":        {healthy, new("up")},
		"service down":      {healthy, new("down")},
		"unknown service":   {healthy, new("nope")},
		"no health service": {port: serveGRPC(t, func(*grpc.Server) {})},
		"plain HTTP":        {port: serveHTTP(t, http.NotFoundHandler())},
		"closed":            {port: closedPort(t)},
		"deaf":              {port: deafPort(t)},
		"silent":            {port: serve(t, whole("", "hang"))},
		"closing":           {port: serve(t, script{Read: "some", End: "close"})},
		"garbage":           {port: serve(t, script{Read: "none", Pieces: []piece{{Text: "garbage\r\n"}}, End: "close"})},
		"hanging": {port: saying(func(ctx context.Context) (*grpc_health_v1.HealthCheckResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})},
		"failing": {port: saying(func(context.Context) (*grpc_health_v1.HealthCheckResponse, error) {
			return nil, status.Error(codes.PermissionDenied, "go away")
		})},
		"new status": {port: saying(func(context.Context) (*grpc_health_v1.HealthCheckResponse, error) {
			return &grpc_health_v1.HealthCheckResponse{Status: 7}, nil
		})},
	}
	for name, c := range cases {
		for _, mode := range []*v1.GRPCProbeMode{nil, new(v1.GRPCProbeModePlaintext), new(v1.GRPCProbeModeTLS)} {
			t.Run(fmt.Sprint(name, "/", ptr.Deref(mode, "")), func(t *testing.T) {
				t.Parallel()
				check := target("127.0.0.1", v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: int32(c.port), Service: c.service, Mode: mode}})
				if difference := sameAs(kubelet(check), whylet(t, p, check)); difference != "" {
					t.Error(difference)
				}
			})
		}
	}
}

// TestExec compares with kubelet's exec prober on the same result of the runtime.
func TestExec(t *testing.T) {
	long := strings.Repeat("x", 20_000)
	cases := map[string]struct {
		output string
		code   int
		err    error
	}{
		"success":              {output: "fine"},
		"failure":              {output: "not fine", code: 1},
		"failure without word": {code: 127},
		"long failure":         {output: long, code: 2},
		"timeout":              {err: status.Error(codes.DeadlineExceeded, "took too long")},
		"no container":         {err: status.Error(codes.NotFound, "no such container")},
		"runtime gone":         {err: status.Error(codes.Unavailable, "connection refused")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			calls := 0
			p := newProber(t, func(context.Context, string, []string, time.Duration) ([]byte, int, error) {
				calls++
				return []byte(c.output), c.code, c.err
			})
			check := target("", v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check", "me"}}})
			want := kubeletExec(c.output, c.code, c.err)
			if difference := sameAs(want, whylet(t, p, check)); difference != "" {
				t.Error(difference)
			}
			if wantCalls := map[bool]int{true: 3, false: 1}[want.verdict == fact.Unknown]; calls != wantCalls {
				t.Errorf("the command ran %d times, want %d", calls, wantCalls)
			}
		})
	}
}

func kubeletExec(output string, code int, err error) answer {
	switch {
	case status.Code(err) == codes.DeadlineExceeded:
		err = fmt.Errorf("%w: %q timed out after %s", remote.ErrCommandTimedOut, "check me", time.Second) // as in cri-client
	case err == nil && code != 0:
		err = utilexec.CodeExitError{Err: errors.New("exited"), Code: code}
	}
	cmd := &commandOf{FakeCmd: &fakeexec.FakeCmd{}, output: output, err: err}
	result, message, err := kubeexec.New().Probe(cmd)
	switch {
	case err != nil:
		return answer{fact.Unknown, err.Error()}
	case result == kubeprobe.Success:
		return answer{verdict: fact.Success}
	}
	return answer{fact.Failure, message}
}

// commandOf is a command that ends as it is told to.
type commandOf struct {
	*fakeexec.FakeCmd
	output string
	err    error
}

func (c *commandOf) Start() error {
	_, _ = c.Stdout.Write([]byte(c.output))
	return c.err
}

func (c *commandOf) Wait() error { return nil }
