package sidecar

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/probe"
)

// run starts a sidecar for the pod on free ports of loopback, and gives for each
// port of the mesh the one that stands for it.
func run(t *testing.T, pod *v1.Pod) map[int32]int32 {
	t.Helper()
	config, err := mesh.SidecarConfigOf(pod)
	if err != nil {
		t.Fatal(err)
	}
	ports := map[int32]int32{}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	listening := make(chan struct{})
	go func() {
		ended <- Serve(ctx, Options{
			Config: config, Probes: true, Healthcheck: true, Log: slog.New(slog.DiscardHandler),
			Listen: func(port int32) (net.Listener, error) {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err == nil {
					ports[port] = int32(l.Addr().(*net.TCPAddr).Port)
				}
				if len(ports) == 4 {
					close(listening)
				}
				return l, err
			},
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serving ended with %v", err)
		}
	})
	select {
	case <-listening:
	case <-time.After(10 * time.Second):
		t.Fatal("the sidecar does not listen")
	}
	return ports
}

func portOf(t testing.TB, l net.Listener) int32 {
	t.Helper()
	return int32(l.Addr().(*net.TCPAddr).Port)
}

func app(t testing.TB, name string, tls bool) int32 {
	t.Helper()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", name)
		switch r.URL.Path {
		case "/live":
			_, _ = fmt.Fprintf(w, "%s is fine, asked by %s for %s with %s", name, r.UserAgent(), r.Host, r.Header.Get("X-Probe"))
		case "/bounce":
			http.Redirect(w, r, "/live", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://other.example/", http.StatusFound)
		case "/hang":
			<-r.Context().Done()
		default:
			http.Error(w, "no", http.StatusTeapot)
		}
	}))
	if tls {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return portOf(t, s.Listener)
}

func get(path string, port int32, scheme v1.URIScheme) *v1.Probe {
	return &v1.Probe{TimeoutSeconds: 1, ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{
		Path: path, Port: intstr.FromInt32(port), Scheme: scheme,
	}}}
}

func closedPort(t testing.TB) int32 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return portOf(t, l)
}

// attempt makes the rewritten probe as the node does, on the stand-in port.
func attempt(t *testing.T, pod *v1.Pod, container int, kind fact.ProbeKind, ports map[int32]int32) fact.Probed {
	t.Helper()
	c := &pod.Spec.Containers[container]
	p, ok := mesh.Original(pod, c.Name, kind)
	if !ok {
		t.Fatalf("container %s has no %s probe", c.Name, kind)
	}
	spec := p.Current.DeepCopy()
	spec.HTTPGet.Port = intstr.FromInt32(ports[spec.HTTPGet.Port.IntVal])
	prober, err := probe.NewProber(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer prober.Close()
	return prober.Attempt(t.Context(), probe.Target{Kind: kind, Spec: spec, PodIP: "127.0.0.1"})
}

func rewritten(t *testing.T, form mesh.Form, containers ...v1.Container) *v1.Pod {
	t.Helper()
	pod, err := mesh.Rewrite(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1.PodSpec{Containers: containers}}, form)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// TestThroughTheMesh attempts every kind of probe as the node would, and looks at
// the verdict and at who is said to have answered.
func TestThroughTheMesh(t *testing.T) {
	plain, secure, closed := app(t, "plain", false), app(t, "secure", true), closedPort(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	services := health.NewServer()
	services.SetServingStatus("down", grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, services)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	check := func(port int32, service string) *v1.Probe {
		return &v1.Probe{TimeoutSeconds: 1, ProbeHandler: v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port, Service: &service}}}
	}
	tcp := func(port int32) *v1.Probe {
		return &v1.Probe{TimeoutSeconds: 1, ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: intstr.FromInt32(port)}}}
	}
	withHeader := get("/live", plain, "HTTP")
	withHeader.HTTPGet.HTTPHeaders = []v1.HTTPHeader{{Name: "X-Probe", Value: "yes"}, {Name: "Host", Value: "me.example"}}
	for name, tt := range map[string]struct {
		probe   *v1.Probe
		verdict fact.Verdict
		message string
		by      string
		output  string
	}{
		"HTTP":            {get("/live", plain, "HTTP"), fact.Success, "", mesh.Application, fmt.Sprintf("asked by kube-probe/1.37 for 127.0.0.1:%d with", plain)},
		"headers":         {withHeader, fact.Success, "", mesh.Application, "for me.example with yes"},
		"failing":         {get("/x", plain, "HTTP"), fact.Failure, "HTTP probe failed with statuscode: 418", mesh.Application, "no\n"},
		"HTTPS":           {get("/live", secure, "HTTPS"), fact.Success, "", mesh.Application, "secure is fine"},
		"redirect":        {get("/bounce", plain, "HTTP"), fact.Success, "", mesh.Application, "plain is fine"},
		"redirect away":   {get("/away", plain, "HTTP"), fact.Warning, "Probe terminated redirects", mesh.Application, "other.example"},
		"refused":         {get("/live", closed, "HTTP"), fact.Failure, "HTTP probe failed with statuscode: 503", mesh.Sidecar, "connection refused"},
		"wrong protocol":  {get("/live", plain, "HTTPS"), fact.Failure, "HTTP probe failed with statuscode: 503", mesh.Sidecar, "HTTP response to HTTPS client"},
		"gRPC":            {check(portOf(t, l), ""), fact.Success, "", mesh.Application, "SERVING"},
		"gRPC, down":      {check(portOf(t, l), "down"), fact.Failure, "HTTP probe failed with statuscode: 503", mesh.Application, `service unhealthy (responded with "NOT_SERVING")`},
		"TCP open":        {tcp(plain), fact.Success, "", mesh.Application, "is open"},
		"TCP closed":      {tcp(closed), fact.Failure, "HTTP probe failed with statuscode: 404", mesh.Sidecar, "connection refused"},
		"hanging":         {get("/hang", plain, "HTTP"), fact.Failure, "", "", ""},
		"gRPC, no server": {check(closed, ""), fact.Failure, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := rewritten(t, mesh.Default, v1.Container{Name: "app", ReadinessProbe: tt.probe})
			got := attempt(t, pod, 0, fact.Readiness, run(t, pod))
			if got.Verdict != tt.verdict || !strings.HasPrefix(got.Message, tt.message) {
				t.Errorf("%s: %q", got.Verdict, got.Message)
			}
			if tt.by == "" {
				return // the node's own timeout is over first, or not
			}
			if got.Evidence.Header[probe.AnsweredBy] != tt.by || !strings.Contains(got.Evidence.Output, tt.output) {
				t.Errorf("answered by %q: %q", got.Evidence.Header[probe.AnsweredBy], got.Evidence.Output)
			}
		})
	}
}

// TestEveryContainerAnswersForItself: two containers with the same kind of probe
// both count; osm-edge's plain path means the last one.
func TestEveryContainerAnswersForItself(t *testing.T) {
	a, closed := app(t, "a", false), closedPort(t)
	containers := []v1.Container{{Name: "a", LivenessProbe: get("/live", a, "HTTP")}, {Name: "b", LivenessProbe: get("/live", closed, "HTTP")}}
	for form, want := range map[mesh.Form][2]fact.Verdict{
		mesh.Default: {fact.Success, fact.Failure},
		mesh.OSMEdge: {fact.Failure, fact.Failure},
	} {
		pod := rewritten(t, form, containers...)
		ports := run(t, pod)
		for i, verdict := range want {
			if got := attempt(t, pod, i, fact.Liveness, ports); got.Verdict != verdict {
				t.Errorf("%s, container %d: %s %q", form, i, got.Verdict, got.Message)
			}
		}
	}
}

// TestHTTPSPassedOn is osm-edge's form, in which the application itself speaks
// TLS with the node, beside HTTP probes on the same port.
func TestHTTPSPassedOn(t *testing.T) {
	plain, secure := app(t, "plain", false), app(t, "secure", true)
	pod := rewritten(t, mesh.OSMEdge,
		v1.Container{Name: "a", LivenessProbe: get("/live", secure, "HTTPS")}, v1.Container{Name: "b", LivenessProbe: get("/live", plain, "HTTP")})
	ports := run(t, pod)
	for i, name := range []string{"secure", "plain"} {
		got := attempt(t, pod, i, fact.Liveness, ports)
		if got.Verdict != fact.Success || got.Evidence.Header["Server"] != name {
			t.Errorf("%s: %s %q, %v", name, got.Verdict, got.Message, got.Evidence.Header)
		}
	}
}

// TestHTTP2PassedOn: the node asks the sidecar in HTTP/1, and the sidecar the application
// in HTTP/2 without TLS, as the probe says.
func TestHTTP2PassedOn(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Header().Set("Server", r.Proto) }))
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	asked := get("/live", int32(s.Listener.Addr().(*net.TCPAddr).Port), "HTTP")
	asked.HTTPGet.Protocol = new(v1.HTTPProtocolHTTP2)
	pod := rewritten(t, mesh.Default, v1.Container{Name: "a", LivenessProbe: asked})
	if got := attempt(t, pod, 0, fact.Liveness, run(t, pod)); got.Verdict != fact.Success || got.Evidence.Header["Server"] != "HTTP/2.0" {
		t.Errorf("%s %q, %v", got.Verdict, got.Message, got.Evidence)
	}
}

// TestByHand is what the seed's reader does with kubectl port-forward and curl.
func TestByHand(t *testing.T) {
	pod := rewritten(t, mesh.Default, v1.Container{Name: "app", LivenessProbe: get("/live", app(t, "plain", false), "HTTP")})
	ports := run(t, pod)
	for _, tt := range []struct {
		port   int32
		path   string
		header string
		status int
	}{
		{15901, "/osm-liveness-probe", "", 200},
		{15901, "/osm-liveness-probe/app", "", 200},
		{15901, "/osm-liveness-probe/nobody", "", 404},
		{15901, "/osm-readiness-probe", "", 404},
		{15902, "/osm-readiness-probe", "", 404},
		{15901, "/osm-liveness-probex", "", 404},
		{15904, "/osm-healthcheck", "", 400},
		{15904, "/osm-healthcheck", "port", 400},
		{15904, "/osm-healthcheck", "0", 400},
		{15904, "/osm-healthcheck", "65536", 400},
		{15904, "/", "1", 404},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", ports[tt.port], tt.path), nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.header != "" {
			req.Header.Set(mesh.OriginalTCPPort, tt.header)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != tt.status {
			t.Errorf("%d%s %q: %d %s", tt.port, tt.path, tt.header, res.StatusCode, body)
		}
	}
}

// TestPatience: the sidecar waits as long as the probe's timeout, and longer only
// for a request that says so.
func TestPatience(t *testing.T) {
	p := *get("/", 80, "HTTP")
	p.TimeoutSeconds = 2
	for said, want := range map[string]time.Duration{"": 2 * time.Second, "1s": 2 * time.Second, "20s": 20 * time.Second, "5h": time.Minute, "x": 2 * time.Second} {
		r := httptest.NewRequest(http.MethodGet, "/osm-liveness-probe/app", nil)
		r.Header.Set(probe.Patience, said)
		if got := timeout(p, r); got != want {
			t.Errorf("with %q it waits %v, want %v", said, got, want)
		}
		req, err := request(t.Context(), r, p.HTTPGet)
		if err != nil || req.Header.Get(probe.Patience) != "" {
			t.Errorf("the application is told of it: %v", err)
		}
	}
}

// TestAskedWithPatience: a slow application behind the sidecar times out, and
// answers the patient request.
func TestAskedWithPatience(t *testing.T) {
	answer := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-answer:
			_, _ = io.WriteString(w, "late")
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	pod := rewritten(t, mesh.Default, v1.Container{Name: "app", LivenessProbe: get("/", portOf(t, slow.Listener), "HTTP")})
	ports := run(t, pod)
	if got := attempt(t, pod, 0, fact.Liveness, ports); got.Verdict != fact.Failure {
		t.Fatalf("the first attempt: %+v", got)
	}
	spec := pod.Spec.Containers[0].LivenessProbe.DeepCopy()
	spec.HTTPGet.Port = intstr.FromInt32(ports[mesh.LivenessPort])
	prober, err := probe.NewProber(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer prober.Close()
	time.AfterFunc(2*time.Second, func() { close(answer) }) // twice the probe's timeout
	got, _ := prober.Ask(t.Context(), probe.Target{Kind: fact.Liveness, Spec: spec, PodIP: "127.0.0.1"}, 2*time.Minute)
	if got.Verdict != fact.Success || got.Evidence.Header[mesh.AnsweredBy] != mesh.Application {
		t.Errorf("asked with patience: %+v %+v", got, got.Evidence)
	}
}

// BenchmarkOverhead is what the sidecar adds to a probe of an application.
func BenchmarkOverhead(b *testing.B) {
	port := app(b, "plain", false)
	spec := get("/live", port, "HTTP")
	handler := newProbes(fact.Liveness, mesh.SidecarConfig{Routes: []mesh.Route{{Container: "app", Kind: fact.Liveness, Probe: *spec}}}, nil, slog.New(slog.DiscardHandler))
	s := httptest.NewServer(handler)
	defer s.Close()
	prober, err := probe.NewProber(nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer prober.Close()
	// In turns, so that what else the machine does meets both alike.
	targets := []*v1.Probe{spec, get("/osm-liveness-probe/app", portOf(b, s.Listener), "HTTP")}
	took := make([][]time.Duration, len(targets))
	for b.Loop() {
		for i, target := range targets {
			began := time.Now()
			if got := prober.Attempt(b.Context(), probe.Target{Spec: target, PodIP: "127.0.0.1"}); got.Verdict != fact.Success {
				b.Fatal(got.Message)
			}
			took[i] = append(took[i], time.Since(began))
		}
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Nanoseconds()) / 1000
	}
	direct, through := median(took[0]), median(took[1])
	b.ReportMetric(direct, "direct-µs")
	b.ReportMetric(through, "through-µs")
	b.ReportMetric(through-direct, "added-µs")
}
