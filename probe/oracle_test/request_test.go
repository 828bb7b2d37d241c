package oracle_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	"pgregory.net/rapid"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/probe"
)

// agent is the one header that differs: kubelet's comes from its build flags.
var agent = regexp.MustCompile(`kube-probe/[0-9.]*`)

var badName = regexp.MustCompile(`invalid header field name ".*"`)

// TestRequestBytes compares what goes over the wire, byte by byte.
func TestRequestBytes(t *testing.T) {
	p := newProber(t, nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	requests := make(chan string, 1)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			requests <- readHead(conn)
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
			_ = conn.Close()
		}
	}()
	rapid.Check(t, func(rt *rapid.T) {
		for range 60 {
			compareRequests(t, rt, p, l.Addr().(*net.TCPAddr).Port, requests)
		}
	})
}

func compareRequests(t *testing.T, rt *rapid.T, p *probe.Prober, port int, requests chan string) {
	target := httpTarget(port, func(g *v1.HTTPGetAction) {
		g.Path = rapid.SampledFrom([]string{"", "/", "/a/b?c=d&e", "healthz", "/%zz", "/ü x", "//u:p@h/x", "/a#b", "?q", "/a%2Fb"}).Draw(rt, "path")
		name := rapid.SampledFrom([]string{"Host", "User-Agent", "Accept", "accept", "X-A", "x-a", "Connection", "Upgrade", "Content-Length", "Transfer-Encoding", "Authorization", "Accept-Encoding", "bad name", ""})
		value := rapid.SampledFrom([]string{"", "a", "close", "keep-alive", "Upgrade", "example.org", " b ", "ü", "5", "chunked"})
		for range rapid.IntRange(0, 4).Draw(rt, "headers") {
			g.HTTPHeaders = append(g.HTTPHeaders, v1.HTTPHeader{Name: name.Draw(rt, "name"), Value: value.Draw(rt, "value")})
		}
	})
	want := kubelet(target)
	wantRequest := drain(requests)
	got := whylet(t, p, target)
	gotRequest := drain(requests)
	// Of several bad names net/http tells the one that its map gives first.
	want.message = badName.ReplaceAllString(want.message, "bad name")
	got.message = badName.ReplaceAllString(got.message, "bad name")
	if difference := sameAs(want, got); difference != "" {
		rt.Fatalf("%+v\n%s", target.Spec.HTTPGet, difference)
	}
	if w, g := agent.ReplaceAllString(wantRequest, "kube-probe"), agent.ReplaceAllString(gotRequest, "kube-probe"); w != g {
		rt.Fatalf("kubelet sends\n%s\nwhylet sends\n%s", w, g)
	}
}

func drain(requests chan string) string {
	select {
	case r := <-requests:
		return r
	default:
		return "none"
	}
}

func readHead(conn net.Conn) string {
	head, r := "", bufio.NewReader(conn)
	for {
		line, err := r.ReadString('\n')
		head += line
		if err != nil || line == "\r\n" {
			return head
		}
	}
}

// TestUserAgent pins what servers match on.
func TestUserAgent(t *testing.T) {
	agents := make(chan string, 1)
	port := serveHTTP(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { agents <- r.UserAgent() }))
	whylet(t, newProber(t, nil), httpTarget(port))
	if got := <-agents; got != "kube-probe/1.37" {
		t.Errorf("User-Agent %q", got)
	}
}

func TestPorts(t *testing.T) {
	p := newProber(t, nil)
	port := serveHTTP(t, http.NotFoundHandler())
	container := &v1.Container{Ports: []v1.ContainerPort{{Name: "web", ContainerPort: int32(port)}, {Name: "bad", ContainerPort: 70000}}}
	for _, named := range []intstr.IntOrString{
		intstr.FromString("web"), intstr.FromString("nope"), intstr.FromString("bad"), intstr.FromString("80000"),
		intstr.FromString("-1"), intstr.FromInt32(0), intstr.FromInt32(65536), intstr.FromString(""),
	} {
		for _, handler := range []v1.ProbeHandler{
			{HTTPGet: &v1.HTTPGetAction{Port: named}},
			{TCPSocket: &v1.TCPSocketAction{Port: named}},
		} {
			target := probe.Target{
				Kind: fact.Readiness, PodIP: "127.0.0.1", Container: container,
				Spec: &v1.Probe{TimeoutSeconds: 1, ProbeHandler: handler},
			}
			if difference := sameAs(kubelet(target), whylet(t, p, target)); difference != "" {
				t.Errorf("port %v: %s", named, difference)
			}
		}
	}
}

func TestCommandExpansion(t *testing.T) {
	var got []string
	p := newProber(t, func(_ context.Context, _ string, cmd []string, _ time.Duration) ([]byte, int, error) {
		got = cmd
		return nil, 0, nil
	})
	rapid.Check(t, func(rt *rapid.T) {
		for range 500 {
			word := rapid.StringOf(rapid.SampledFrom([]rune("$$()(AB_ x")))
			command := rapid.SliceOfN(word, 1, 3).Draw(rt, "command")
			env := []v1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "$(A)"}, {Name: "AB", Value: ""}}
			target := probe.Target{
				Container: &v1.Container{Env: env},
				Spec:      &v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: command}}},
			}
			whylet(t, p, target)
			want := kubecontainer.ExpandContainerCommandOnlyStatic(command, env)
			if !slices.Equal(got, want) {
				rt.Fatalf("%q becomes %q, want %q", command, got, want)
			}
		}
	})
}
