package probe

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
)

// attemptOf probes once with a handler, at 127.0.0.1.
func attemptOf(t *testing.T, p *Prober, h v1.ProbeHandler) (fact.Probed, fact.Evidence) {
	t.Helper()
	got := p.Attempt(t.Context(), Target{
		Kind: fact.Readiness, PodIP: "127.0.0.1", Spec: &v1.Probe{TimeoutSeconds: 60, PeriodSeconds: 60, ProbeHandler: h},
	})
	if got.Evidence == nil {
		t.Fatalf("no evidence: %+v", got)
	}
	return got, *got.Evidence
}

// Connecting to a port says who spoke with whom, and how long that took.
func expectConnected(t *testing.T, ev fact.Evidence, port net.Addr) {
	t.Helper()
	if ev.Connect <= 0 || ev.Local == "" || ev.Remote != port.String() {
		t.Errorf("connected %+v", ev)
	}
}

func TestEvidenceOfHTTPS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Via", "1.1 somebody")
		http.Error(w, "not yet", http.StatusServiceUnavailable)
	}))
	t.Cleanup(s.Close)
	at := s.Listener.Addr()
	_, ev := attemptOf(t, newTestProber(t), v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{
		Scheme: v1.URISchemeHTTPS, Port: intstr.FromInt(at.(*net.TCPAddr).Port),
	}})
	expectConnected(t, ev, at)
	if ev.TLS <= 0 || ev.FirstByte <= 0 || ev.Status != 503 || ev.Output != "not yet\n" ||
		ev.Header["Via"] != "1.1 somebody" || ev.Header["Content-Type"] != "text/plain; charset=utf-8" {
		t.Errorf("%+v", ev)
	}
}

func TestEvidenceOfTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, ev := attemptOf(t, newTestProber(t), v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt(l.Addr().(*net.TCPAddr).Port)}})
	expectConnected(t, ev, l.Addr())
}

func TestEvidenceOfGRPC(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, service := grpc.NewServer(), health.NewServer()
	grpc_health_v1.RegisterHealthServer(s, service)
	service.SetServingStatus("web", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(s.Stop)
	name := "web"
	probed, ev := attemptOf(t, newTestProber(t), v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: int32(l.Addr().(*net.TCPAddr).Port), Service: &name}})
	expectConnected(t, ev, l.Addr())
	if probed.Verdict != fact.Failure || ev.FirstByte <= 0 || ev.Output != "NOT_SERVING" || ev.Target != l.Addr().String()+"/web" {
		t.Errorf("%+v %+v", probed, ev)
	}
}

func TestEvidenceOfExec(t *testing.T) {
	p, err := NewProber(func(context.Context, string, []string, time.Duration) ([]byte, int, error) {
		return []byte("queue is full, token=abc\n"), 3, nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	_, ev := attemptOf(t, p, v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"check", "-q"}}})
	if ev.Target != "check -q" || ev.ExitCode == nil || *ev.ExitCode != 3 || ev.Output != "queue is full, token=[redacted]\n" {
		t.Errorf("%+v", ev)
	}
}
