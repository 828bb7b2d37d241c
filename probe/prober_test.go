package probe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
)

func newTestProber(t testing.TB) *Prober {
	t.Helper()
	p, err := NewProber(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func listen(t testing.TB, h http.Handler) (port int) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().(*net.TCPAddr).Port
}

func getOf(port int, change ...func(*v1.HTTPGetAction)) Target {
	get := &v1.HTTPGetAction{Path: "/live", Port: intstr.FromInt(port)}
	for _, c := range change {
		c(get)
	}
	return Target{
		Kind: fact.Liveness, PodIP: "127.0.0.1",
		Spec: &v1.Probe{TimeoutSeconds: 1, PeriodSeconds: 1, ProbeHandler: v1.ProbeHandler{HTTPGet: get}},
	}
}

// A port name that nobody declares can never work: the first attempt says so.
// The message stays kubelet's.
func TestUnknownPortName(t *testing.T) {
	p := newTestProber(t)
	for _, tt := range []struct {
		ports []v1.ContainerPort
		want  string
	}{
		{nil, `the probe can never work: the container declares no port named "web" (it declares no port with a name)`},
		{[]v1.ContainerPort{{Name: "http", ContainerPort: 80}, {ContainerPort: 81}, {Name: "admin", ContainerPort: 82}}, `the probe can never work: the container declares no port named "web" (it declares http, admin)`},
	} {
		target := getOf(0, func(get *v1.HTTPGetAction) { get.Port = intstr.FromString("web") })
		target.Container = &v1.Container{Ports: tt.ports}
		got := p.Attempt(context.Background(), target)
		if got.Verdict != fact.Unknown || got.Message != `port "web" not found` || got.Evidence == nil || got.Evidence.Error != tt.want {
			t.Errorf("%+v %+v", got, got.Evidence)
		}
	}
}

// A command that the image lacks is told at the first attempt, in words of its own.
// The message stays the runtime's, as with kubelet; node/cri's TestExec holds runc
// to these words.
func TestCommandNotInTheImage(t *testing.T) {
	const wrap = `failed to exec in container: failed to start exec "4e1f": OCI runtime exec failed: exec failed: unable to start container process: exec: `
	for _, tt := range []struct{ program, said, want string }{
		{"/none", `"/none": stat /none: no such file or directory`, "the probe cannot work: there is no /none in the container"},
		{"none", `"none": executable file not found in $PATH`, "the probe cannot work: there is no none in any folder of the container's PATH"},
		{"/etc", `"/etc": permission denied`, wrap + `"/etc": permission denied`},
	} {
		p, err := NewProber(func(context.Context, string, []string, time.Duration) ([]byte, int, error) {
			return nil, 0, errors.New(wrap + tt.said)
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := p.Attempt(context.Background(), Target{
			Kind: fact.Liveness, Spec: &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{tt.program, "-c"}}}},
		})
		p.Close()
		if got.Verdict != fact.Unknown || got.Message != wrap+tt.said || got.Evidence == nil || got.Evidence.Error != tt.want {
			t.Errorf("%s: %+v %+v", tt.program, got, got.Evidence)
		}
	}
}

func TestEvidence(t *testing.T) {
	p := newTestProber(t)
	slow := make(chan struct{})
	port := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Server", "me")
		w.Header().Set(AnsweredBy, "application")
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://other.example/", http.StatusFound)
		case "/hang":
			<-slow
		case "/long":
			_, _ = fmt.Fprint(w, "password=hunter2\n", strings.Repeat("x", 5000))
		case "/live":
			_, _ = fmt.Fprint(w, "fine")
		default:
			http.Error(w, "broken", http.StatusInternalServerError)
		}
	}))
	t.Cleanup(func() { close(slow) })
	path := func(path string) func(*v1.HTTPGetAction) {
		return func(g *v1.HTTPGetAction) { g.Path = path }
	}
	url := fmt.Sprintf("http://127.0.0.1:%d", port)
	tests := map[string]struct {
		target Target
		want   fact.Evidence
	}{
		"success": {getOf(port), fact.Evidence{Status: 200, Proto: "HTTP/1.1", Output: "fine", Target: url + "/live"}},
		"failure": {getOf(port, path("/x")), fact.Evidence{Status: 500, Proto: "HTTP/1.1", Output: "broken\n", Target: url + "/x"}},
		"redirect": {getOf(port, path("/away")), fact.Evidence{
			Status: 302, Proto: "HTTP/1.1", Output: "<a href=\"http://other.example/\">Found</a>.\n\n", Target: url + "/away",
		}},
		"long body": {getOf(port, path("/long")), fact.Evidence{
			Status: 200, Proto: "HTTP/1.1", Output: "password=[redacted]\n" + strings.Repeat("x", 1007), Target: url + "/long",
		}},
		"another host": {
			getOf(port, func(g *v1.HTTPGetAction) { g.Host = "localhost" }),
			fact.Evidence{Status: 200, Proto: "HTTP/1.1", Target: fmt.Sprintf("http://localhost:%d/live", port)},
		},
		"hanging": {getOf(port, path("/hang")), fact.Evidence{
			Target: url + "/hang", Timeout: true,
			Error: fmt.Sprintf("Get %q: context deadline exceeded (Client.Timeout exceeded while awaiting headers)", url+"/hang"),
		}},
		"refused": {getOf(1), fact.Evidence{
			Target: "http://127.0.0.1:1/live", Errno: "ECONNREFUSED",
			Error: `Get "http://127.0.0.1:1/live": dial tcp 127.0.0.1:1: connect: connection refused`,
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			probed := p.Attempt(t.Context(), tt.target)
			got := *probed.Evidence
			if got.Status != 0 {
				if got.Header["Server"] != "me" || got.Header[AnsweredBy] != "application" {
					t.Errorf("headers %v", got.Header)
				}
				if got.Connect <= 0 || got.FirstByte <= 0 || got.Body <= 0 {
					t.Errorf("times missing: %+v", got)
				}
			}
			if got.Error == "" && (got.Local == "" || !strings.HasSuffix(got.Remote, fmt.Sprint(":", port))) {
				t.Errorf("addresses missing: %+v", got)
			}
			if sum := got.Connect + got.TLS + got.Sent + got.FirstByte + got.Body; sum > probed.Took {
				t.Errorf("phases take %v of %v: %+v", sum, probed.Took, got)
			}
			got.Connect, got.Sent, got.FirstByte, got.Body, got.Local, got.Remote, got.Header = 0, 0, 0, 0, "", "", nil
			tt.want.Handler = fact.HTTPGet
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// TestOneRequestAnAttempt: handing an attempt over to net/http must not ask the
// application twice.
func TestOneRequestAnAttempt(t *testing.T) {
	p := newTestProber(t)
	var requests atomic.Int64
	port := listen(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusEarlyHints) // the fast way gives up on it
		w.WriteHeader(http.StatusNoContent)
	}))
	if got := p.Attempt(t.Context(), getOf(port)); got.Verdict != fact.Success {
		t.Errorf("%+v", got)
	}
	if got := requests.Load(); got != 1 {
		t.Errorf("%d requests", got)
	}
}

// TestClose: attempts under way end at once, and nothing stays behind.
func TestClose(t *testing.T) {
	hang := make(chan struct{})
	port := listen(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(func() { close(hang) })
	exec := func(ctx context.Context, _ string, _ []string, _ time.Duration) ([]byte, int, error) {
		<-ctx.Done()
		return nil, 0, ctx.Err()
	}
	p, err := NewProber(exec, nil)
	if err != nil {
		t.Fatal(err)
	}
	long := getOf(port)
	long.Spec.TimeoutSeconds = 600
	byName := getOf(port, func(g *v1.HTTPGetAction) { g.Host = "localhost" })
	byName.Spec.TimeoutSeconds = 600
	command := Target{Spec: &v1.Probe{TimeoutSeconds: 600, ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"x"}}}}}
	var wg sync.WaitGroup
	for _, target := range []Target{long, byName, command} {
		wg.Go(func() {
			if got := p.Attempt(context.Background(), target); got.Verdict != fact.Unknown {
				t.Errorf("%+v", got)
			}
		})
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		p.poll.mu.Lock()
		flying := len(p.poll.flights) > 0
		p.poll.mu.Unlock()
		if flying || time.Now().After(deadline) {
			break
		}
	}
	p.Close()
	p.Close()
	wg.Wait()
}

// TestManyAtOnce runs the real parts against one another, for the race detector.
func TestManyAtOnce(t *testing.T) {
	port := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, "ok") }))
	var good, bad atomic.Int64
	s, err := NewScheduler(Options{Result: func(_ Key, began time.Time, p fact.Probed) {
		switch {
		case began.IsZero():
			t.Error("an attempt without beginning")
		case p.Verdict == fact.Success:
			good.Add(1)
		case p.Verdict == fact.Failure:
			bad.Add(1)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 100 {
		s.Set(keyOf(fmt.Sprint("good-", i)), getOf(port))
		s.Set(keyOf(fmt.Sprint("bad-", i)), getOf(1))
	}
	for deadline := time.Now().Add(20 * time.Second); good.Load() < 200 || bad.Load() < 200; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d good and %d bad results", good.Load(), bad.Load())
		}
	}
}

func TestAskWaitsLongerThanTheProbe(t *testing.T) {
	p := newTestProber(t)
	begun, go1 := make(chan struct{}, 10), make(chan struct{})
	port := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		select {
		case <-go1:
		case <-r.Context().Done():
		}
		_, _ = fmt.Fprint(w, "late")
	}))
	target := getOf(port)
	if first := p.Attempt(t.Context(), target); first.Verdict != fact.Failure || !first.Evidence.Timeout {
		t.Fatalf("the probe said %+v, want a timeout", first)
	}
	<-begun
	answered := make(chan fact.Probed, 1)
	go func() {
		said, _ := p.Ask(t.Context(), target, 5*time.Minute)
		answered <- said
	}()
	<-begun
	close(go1)
	if said := <-answered; said.Verdict != fact.Success || said.Evidence.Status != http.StatusOK {
		t.Errorf("asked again, it said %+v", said)
	}
}

func TestAskAsksOnce(t *testing.T) {
	p := newTestProber(t)
	var requests atomic.Int32
	port := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		w.Header().Set("Content-Length", "10")
		_, _ = fmt.Fprint(w, "half")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	said, asked := p.Ask(t.Context(), getOf(port), 200*time.Millisecond)
	if !asked || said.Verdict == fact.Success || said.Evidence == nil || !said.Evidence.Timeout || requests.Load() > 1 {
		t.Errorf("%d requests; it said %+v (%+v)", requests.Load(), said, said.Evidence)
	}
}
