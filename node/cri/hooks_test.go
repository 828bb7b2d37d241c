package cri_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/cri/critest"
	"whylet.dev/whylet/sense/containers"
)

func TestExecHook(t *testing.T) {
	n := critest.Start(t)
	c := critest.Sh("main", "sleep 100")
	c.Lifecycle = &v1.Lifecycle{
		PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", "echo started >/tmp/hook"}}},
		PreStop:   &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sh", "-c", "echo no way; exit 9"}}},
	}
	p := n.RunPod(t, nil, c)
	id := p.Start("main", 0)
	hook := cri.Hook{Pod: p.Pod, Container: &p.Spec.Containers[0], ContainerID: id}

	hook.Kind = fact.PostStart
	if ran := n.RunHook(t.Context(), hook); ran.Error != "" || ran.Hook != fact.PostStart || ran.Took == 0 {
		t.Errorf("%+v", ran)
	}
	if r, err := n.Exec(t.Context(), id, []string{"cat", "/tmp/hook"}, time.Minute, 100); err != nil || string(r.Stdout) != "started\n" {
		t.Errorf("the hook left %q, %v", r.Stdout, err)
	}

	hook.Kind = fact.PreStop
	ran := n.RunHook(t.Context(), hook)
	for _, want := range []string{
		`Exec lifecycle hook ([sh -c echo no way; exit 9]) for Container "main" in Pod "` + p.Name + `_default(`,
		"failed - error: command 'sh -c echo no way; exit 9' exited with 9: ", `message: "no way\n"`,
	} {
		if !strings.Contains(ran.Error, want) {
			t.Errorf("%q is missing in %q", want, ran.Error)
		}
	}
	if ran.Timeout {
		t.Error("it did not time out")
	}

	c.Lifecycle.PreStop.Exec.Command = []string{"sleep", "100"}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	hook.Container = &c
	if ran := n.RunHook(ctx, hook); !ran.Timeout || ran.Error == "" || ran.Took > 10*time.Second {
		t.Errorf("a hook without end: %+v", ran)
	}
}

// TestHTTPHook needs no runtime: the node itself asks.
func TestHTTPHook(t *testing.T) {
	var asked *http.Request
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r
		if r.URL.Path == "/slow" {
			<-r.Context().Done()
		}
		if r.URL.Path == "/bad" {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer plain.Close()
	secure := httptest.NewTLSServer(plain.Config.Handler)
	defer secure.Close()

	run := func(ctx context.Context, server, scheme, path string) fact.HookRan {
		asked = nil
		u, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		port, _ := strconv.Atoi(u.Port())
		c := &v1.Container{Name: "main", Lifecycle: &v1.Lifecycle{PreStop: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{
			Path: path, Port: intstr.FromInt(port), Scheme: v1.URIScheme(scheme),
			HTTPHeaders: []v1.HTTPHeader{{Name: "X-Who", Value: "me"}},
		}}}}
		return (&cri.Client{Client: &containers.Client{}}).RunHook(ctx, cri.Hook{Kind: fact.PreStop, Pod: &v1.Pod{}, Container: c, PodIPs: []string{u.Hostname()}})
	}
	if ran := run(t.Context(), plain.URL, "HTTP", "/ok"); ran.Error != "" || asked.Header.Get("X-Who") != "me" ||
		!strings.HasPrefix(asked.UserAgent(), "kube-lifecycle/") {
		t.Errorf("%+v %v", ran, asked)
	}
	// As in kubelet, an answer is an answer, whatever its status.
	if ran := run(t.Context(), plain.URL, "HTTP", "/bad"); ran.Error != "" {
		t.Errorf("%+v", ran)
	}
	if ran := run(t.Context(), secure.URL, "HTTPS", "/ok"); ran.Error != "" {
		t.Errorf("without a known certificate: %+v", ran)
	}
	if ran := run(t.Context(), plain.URL, "HTTPS", "/ok"); ran.Error != "" || asked == nil {
		t.Errorf("https to a plain server falls back: %+v", ran)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if ran := run(ctx, plain.URL, "HTTP", "/slow"); !ran.Timeout || !strings.HasPrefix(ran.Error, `HTTP lifecycle hook (/slow) for Container "main" in Pod `) {
		t.Errorf("%+v", ran)
	}
	plain.Close()
	if ran := run(t.Context(), plain.URL, "HTTP", "/ok"); !strings.Contains(ran.Error, "connection refused") {
		t.Errorf("%+v", ran)
	}
}

func TestOtherHooks(t *testing.T) {
	run := func(h *v1.LifecycleHandler, ctx context.Context) fact.HookRan {
		c := &v1.Container{Name: "main", Lifecycle: &v1.Lifecycle{PostStart: h}}
		return (&cri.Client{Client: &containers.Client{}}).RunHook(ctx, cri.Hook{Kind: fact.PostStart, Pod: &v1.Pod{}, Container: c})
	}
	if ran := run(nil, t.Context()); ran.Error != "" {
		t.Errorf("no hook: %+v", ran)
	}
	if ran := run(&v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 0}}, t.Context()); ran.Error != "" {
		t.Errorf("sleep: %+v", ran)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if ran := run(&v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 100}}, ctx); !ran.Timeout || !strings.Contains(ran.Error, "container terminated before sleep hook finished") {
		t.Errorf("sleep: %+v", ran)
	}
	// The API still has tcpSocket for hooks, and kubelet never ran one.
	if ran := run(&v1.LifecycleHandler{TCPSocket: &v1.TCPSocketAction{}}, t.Context()); !strings.HasPrefix(ran.Error, "Cannot run handler: invalid handler") {
		t.Errorf("tcpSocket: %+v", ran)
	}
}
