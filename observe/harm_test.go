package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"whylet.dev/whylet/fact"
)

// world is an API server, a container runtime and a kubelet that note all that they are
// asked.
type world struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	eventsapi.UnimplementedEventsServer

	mu     sync.Mutex
	asked  map[string]int
	exited bool
	end    chan struct{}
}

func (w *world) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[what]++
}

func (w *world) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "a-runtime", RuntimeVersion: "1"}, nil
}

func (w *world) state() runtimeapi.ContainerState {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.exited {
		return runtimeapi.ContainerState_CONTAINER_EXITED
	}
	return runtimeapi.ContainerState_CONTAINER_RUNNING
}

var theLabels = map[string]string{"io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "shop", "io.kubernetes.pod.uid": "u", "io.kubernetes.container.name": "app"}

func (w *world) ListContainers(context.Context, *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{Id: "c", Labels: theLabels, Metadata: &runtimeapi.ContainerMetadata{Name: "app"}, State: w.state()}}}, nil
}

func (w *world) ContainerStatus(context.Context, *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	s := &runtimeapi.ContainerStatus{Id: "c", Labels: theLabels, Metadata: &runtimeapi.ContainerMetadata{Name: "app"}, State: w.state(), StartedAt: dawn.UnixNano()}
	if s.State == runtimeapi.ContainerState_CONTAINER_EXITED {
		s.FinishedAt, s.ExitCode, s.Reason = at(60).UnixNano(), 137, "Error"
	}
	return &runtimeapi.ContainerStatusResponse{Status: s}, nil
}

func (w *world) serveRuntime(t *testing.T) (endpoint string) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(
		grpc.UnaryInterceptor(func(ctx context.Context, q any, info *grpc.UnaryServerInfo, h grpc.UnaryHandler) (any, error) {
			w.note(info.FullMethod)
			return h(ctx, q)
		}),
		grpc.StreamInterceptor(func(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, h grpc.StreamHandler) error {
			w.note(info.FullMethod)
			return h(srv, stream)
		}))
	runtimeapi.RegisterRuntimeServiceServer(server, w)
	eventsapi.RegisterEventsServer(server, w)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(server.Stop)
	return "unix://" + socket
}

// ServeHTTP is the API server, and kubelet.
func (w *world) ServeHTTP(out http.ResponseWriter, q *http.Request) {
	w.note(q.Method + " " + q.URL.Path)
	out.Header().Set("Content-Type", "application/json")
	pod := theSpec()
	pod.APIVersion, pod.Kind = "v1", "Pod"
	pod.Status = v1.PodStatus{Phase: v1.PodRunning, PodIP: "127.0.0.1", Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}}}
	var body any
	switch {
	case q.URL.Path == "/metrics/probes":
		fmt.Fprintln(out, `prober_probe_total{container="app",namespace="shop",pod="web",pod_uid="u",probe_type="Liveness",result="failed"} 3`)
		return
	case strings.HasSuffix(q.URL.Path, "/events"):
		ended := metav1.NewTime(at(59))
		body = v1.EventList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "EventList"}, Items: []v1.Event{{
			ObjectMeta: metav1.ObjectMeta{Name: "e", UID: "e"}, InvolvedObject: v1.ObjectReference{UID: "u", FieldPath: "spec.containers{app}"},
			Source: v1.EventSource{Component: "kubelet"}, Reason: "Killing", Message: "Container app failed liveness probe, will be restarted", Count: 1, FirstTimestamp: ended, LastTimestamp: ended,
		}}}
	case q.URL.Query().Get("sendInitialEvents") != "":
		out.WriteHeader(http.StatusUnprocessableEntity) // an older API server: it is to be listed
		body = metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity}
	case q.URL.Query().Get("watch") != "":
		out.(http.Flusher).Flush()
		select {
		case <-q.Context().Done():
		case <-w.end:
		}
		return
	default:
		body = v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []v1.Pod{*pod}}
	}
	_ = json.NewEncoder(out).Encode(body) // who asked may be gone
}

// live runs an agent until it has told of each of these kinds.
func (w *world) live(t *testing.T, o Options, kubelet string, until ...fact.Kind) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	a, err := Open(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	a.counts.read = func(ctx context.Context) ([]byte, error) { return a.api.Beside(ctx, kubelet+"/metrics/probes") }
	next := a.loop.heard
	a.loop.heard = func(f fact.Fact) {
		next(f)
		kind := f.Body.Kind()
		if kind == (fact.Started{}).Kind() {
			w.mu.Lock()
			w.exited = true
			w.mu.Unlock()
		}
		if until = slices.DeleteFunc(until, func(k fact.Kind) bool { return k == kind }); len(until) == 0 {
			cancel()
		}
	}
	if err := a.Run(ctx); err != nil {
		t.Error(err)
	}
	if len(until) > 0 {
		t.Errorf("%v were not told", until)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// In an agent's whole life, and in that of the next one, nothing is asked of the API
// server, the container runtime and kubelet that could change anything.
func TestNothingIsChanged(t *testing.T) {
	w := &world{asked: map[string]int{}, end: make(chan struct{})}
	api, beside := httptest.NewServer(w), httptest.NewTLSServer(w)
	t.Cleanup(beside.Close)
	t.Cleanup(api.Close)
	t.Cleanup(func() { close(w.end) })
	config := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {token: t}}], contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}`, api.URL)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := Options{
		Node: "n", Kubeconfig: config, Runtime: w.serveRuntime(t), DataDir: t.TempDir(), NoTap: true, NoProbeAgain: true, Log: slog.New(slog.DiscardHandler),
	}
	w.live(t, o, beside.URL, "SpecSeen", "StatusSeen", "Started", "Exited", "Counted", "Said", "Act")
	w.live(t, o, beside.URL, "AgentStarted", "Counted")

	may := []string{
		"GET /api/v1/pods", "GET /api/v1/namespaces/shop/events", "GET /metrics/probes",
		"/runtime.v1.RuntimeService/Version", "/runtime.v1.RuntimeService/ListContainers", "/runtime.v1.RuntimeService/ContainerStatus", "/containerd.services.events.v1.Events/Subscribe",
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for what, n := range w.asked {
		if !slices.Contains(may, what) {
			t.Errorf("%s, %d times", what, n)
		}
	}
	for _, what := range may[:6] {
		if w.asked[what] == 0 {
			t.Errorf("nobody asked %s, so nothing is shown of it", what)
		}
	}
}
