package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	client "k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// streams is the streaming side of a CRI runtime: the requests are answered with
// the address of a real streaming server.
type streams struct{ server streaming.Server }

func (s streams) Exec(_ context.Context, r *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	return s.server.GetExec(r)
}

func (s streams) Attach(_ context.Context, r *runtimeapi.AttachRequest) (*runtimeapi.AttachResponse, error) {
	return s.server.GetAttach(r)
}

func (s streams) PortForward(_ context.Context, r *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse, error) {
	return s.server.GetPortForward(r)
}

// echo is what runs behind the streaming server: it says what it was asked, and
// gives back what it is sent.
type echo struct{}

func (echo) Exec(_ context.Context, id string, cmd []string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	if cmd[0] == "exit3" {
		return exec.CodeExitError{Err: errors.New("exit 3"), Code: 3}
	}
	_, _ = fmt.Fprintf(out, "%s runs %v, tty %v\n", id, cmd, tty)
	if errOut != nil {
		_, _ = io.WriteString(errOut, "to stderr")
	}
	if resize != nil {
		size := <-resize
		_, _ = fmt.Fprintf(out, "%dx%d\n", size.Width, size.Height)
	}
	if in != nil {
		_, _ = io.Copy(out, in)
	}
	return nil
}

func (e echo) Attach(ctx context.Context, id string, in io.Reader, out, errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize) error {
	return e.Exec(ctx, id, []string{"attached"}, in, out, errOut, tty, resize)
}

func (echo) PortForward(_ context.Context, sandbox string, port int32, stream io.ReadWriteCloser) error {
	line := make([]byte, 4)
	if _, err := io.ReadFull(stream, line); err != nil {
		return err
	}
	_, err := fmt.Fprintf(stream, "%s:%d %s", sandbox, port, line)
	return errors.Join(err, stream.Close())
}

// streamingNode is a node whose runtime has a real streaming server.
func streamingNode(t *testing.T) *node {
	t.Helper()
	listening := httptest.NewUnstartedServer(nil)
	config := streaming.DefaultConfig
	config.BaseURL = &url.URL{Scheme: "http", Host: listening.Listener.Addr().String()}
	server, err := streaming.NewServer(config, echo{})
	if err != nil {
		t.Fatal(err)
	}
	listening.Config.Handler = server
	listening.Start()
	t.Cleanup(listening.CloseClientConnections)
	n := startNode(t, nil)
	n.runtime.streams = streams{server}
	n.host.pods = []*v1.Pod{web()}
	n.host.sandboxes["u1"] = "sandbox1"
	return n
}

// transports are the ways in which kubectl comes.
var transports = map[string]func(n *node, path string) (client.Executor, error){
	"spdy": func(n *node, path string) (client.Executor, error) {
		to, err := url.Parse(n.url + path)
		if err != nil {
			return nil, err
		}
		return client.NewSPDYExecutor(n.rest("root"), http.MethodPost, to)
	},
	"websocket": func(n *node, path string) (client.Executor, error) {
		return client.NewWebSocketExecutor(n.rest("root"), http.MethodGet, n.url+path)
	},
}

// sizes gives one terminal size.
type sizes chan client.TerminalSize

func (s sizes) Next() *client.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &size
}

func TestExecAndAttach(t *testing.T) {
	n := streamingNode(t)
	for name, transport := range transports {
		for _, c := range []struct {
			path           string
			tty            bool
			stdout, stderr string
		}{
			{"/exec/default/web/app?command=cat&command=-u&input=1&output=1&error=1", false, "c1 runs [cat -u], tty false\nhello", "to stderr"},
			{"/exec/default/web/u1/app?command=sh&input=1&output=1&tty=1", true, "c1 runs [sh], tty true\n80x25\nhello", ""},
			{"/attach/default/web/app?input=1&output=1&error=1", false, "c1 runs [attached], tty false\nhello", "to stderr"},
			{"/attach/default/web/tty?input=1&output=1&tty=1", true, "c2 runs [attached], tty true\n80x25\nhello", ""},
		} {
			t.Run(name+c.path, func(t *testing.T) {
				executor, err := transport(n, c.path)
				if err != nil {
					t.Fatal(err)
				}
				var stdout, stderr bytes.Buffer
				options := client.StreamOptions{Stdin: strings.NewReader("hello"), Stdout: &stdout, Stderr: &stderr, Tty: c.tty}
				if c.tty {
					options.Stderr = nil
					size := make(sizes, 1)
					size <- client.TerminalSize{Width: 80, Height: 25}
					options.TerminalSizeQueue = size
					defer close(size)
				}
				ctx, cancel := context.WithTimeout(context.Background(), deadline)
				defer cancel()
				if err := executor.StreamWithContext(ctx, options); err != nil {
					t.Fatal(err)
				}
				if stdout.String() != c.stdout || stderr.String() != c.stderr {
					t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
				}
			})
		}
	}
}

func TestExitCodeComesThrough(t *testing.T) {
	n := streamingNode(t)
	for name, transport := range transports {
		executor, err := transport(n, "/exec/default/web/app?command=exit3&output=1")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		err = executor.StreamWithContext(ctx, client.StreamOptions{Stdout: io.Discard})
		var code exec.CodeExitError
		if !errors.As(err, &code) || code.Code != 3 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStreamsThatCannotBe(t *testing.T) {
	n := streamingNode(t)
	for path, want := range map[string]string{
		"/exec/default/web/app?command=ls":                     "400 you must specify at least 1 of stdin, stdout, stderr",
		"/exec/default/web/new?command=ls&output=1":            `500 container not found ("new")`,
		"/exec/default/gone/app?command=ls&output=1":           "404 pod does not exist",
		"/exec/default/web/another-uid/app?command=l&output=1": "404 pod not found",
		"/attach/default/web/nope?output=1":                    `500 container not found ("nope")`,
		"/portForward/default/gone":                            "404 pod does not exist",
		"/portForward/default/web/another-uid":                 "404 pod not found",
		"/exec/default/web/app?output=1":                       "500 ",
	} {
		status, body := n.ask(n.as("root"), http.MethodPost, path)
		if got := fmt.Sprintf("%d %s", status, body); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	n.host.sandboxes = nil
	if status, body := n.ask(n.as("root"), http.MethodPost, "/portForward/default/web"); status != 500 || body != "failed to find sandboxID for pod web_default(u1)" {
		t.Errorf("%d %s", status, body)
	}
}

func TestPortForward(t *testing.T) {
	n := streamingNode(t)
	to, err := url.Parse(n.url + "/portForward/default/web")
	if err != nil {
		t.Fatal(err)
	}
	transport, upgrader, err := spdy.RoundTripperFor(n.rest("root"))
	if err != nil {
		t.Fatal(err)
	}
	t.Run("spdy", func(t *testing.T) {
		forward(t, func(ports []string, stop, ready chan struct{}) (*portforward.PortForwarder, error) {
			dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, to)
			return portforward.New(dialer, ports, stop, ready, io.Discard, io.Discard)
		})
	})
	t.Run("websocket", func(t *testing.T) {
		forward(t, func(ports []string, stop, ready chan struct{}) (*portforward.PortForwarder, error) {
			dialer, err := portforward.NewSPDYOverWebsocketDialer(to, n.rest("root"))
			if err != nil {
				return nil, err
			}
			return portforward.New(dialer, ports, stop, ready, io.Discard, io.Discard)
		})
	})
}

// forward sends something through a forwarded port.
func forward(t *testing.T, open func(ports []string, stop, ready chan struct{}) (*portforward.PortForwarder, error)) {
	t.Helper()
	stop, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := open([]string{"0:8080"}, stop, ready)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	defer func() {
		close(stop)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	case <-time.After(deadline):
		t.Fatal("no port is forwarded")
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local))), deadline)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.SetDeadline(time.Now().Add(deadline))
		if _, err := io.WriteString(conn, "ping"); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(conn)
		_ = conn.Close()
		if err != nil || string(got) != "sandbox1:8080 ping" {
			t.Fatalf("%q, %v", got, err)
		}
	}
}

func TestExecSessionEndsWithTheServer(t *testing.T) {
	n := streamingNode(t)
	executor, err := transports["spdy"](n, "/exec/default/web/app?command=cat&input=1&output=1")
	if err != nil {
		t.Fatal(err)
	}
	in, keepOpen := io.Pipe()
	defer keepOpen.Close()
	started := make(lineSeen, 16)
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	go func() {
		ended <- executor.StreamWithContext(ctx, client.StreamOptions{Stdin: in, Stdout: started})
	}()
	select {
	case <-started:
	case err := <-ended:
		t.Fatal(err)
	}
	n.stop()
	select {
	case <-ended:
	case <-ctx.Done():
		t.Error("the session goes on without its server")
	}
}

func TestNothingIsKeptOfStreamsThatEnded(t *testing.T) {
	n := streamingNode(t)
	for name, transport := range transports {
		executor, err := transport(n, "/exec/default/web/app?command=ls&output=1")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := executor.StreamWithContext(ctx, client.StreamOptions{Stdout: io.Discard}); err != nil {
			t.Fatal(name, err)
		}
	}
	for end := time.Now().Add(deadline); len(n.server.listener.conns()) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d connections are still held", len(n.server.listener.conns()))
		}
	}
}

// lineSeen tells of each write.
type lineSeen chan struct{}

func (l lineSeen) Write(p []byte) (int, error) {
	l <- struct{}{}
	return len(p), nil
}
