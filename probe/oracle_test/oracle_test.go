// Package oracle_test holds package probe to kubelet's own probers: the same
// verdict and the same message on the same misbehaving server. It lives apart
// because it links a good part of Kubernetes.
package oracle_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	kubeprobe "k8s.io/kubernetes/pkg/probe"
	kubegrpc "k8s.io/kubernetes/pkg/probe/grpc"
	kubehttp "k8s.io/kubernetes/pkg/probe/http"
	kubetcp "k8s.io/kubernetes/pkg/probe/tcp"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/probe"
)

// TestMain lowers the number of rapid's rounds, unless told otherwise: each is
// hundreds of attempts side by side, and lasts as long as their timeouts.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "3"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}

// answer is what can be compared of an attempt.
type answer struct {
	verdict fact.Verdict
	message string
}

func (a answer) String() string { return fmt.Sprintf("%s: %q", a.verdict, a.message) }

var kubeletHTTP = kubehttp.New(false)

// kubelet attempts a probe as kubelet's prober.go does: three tries while the
// try itself errs.
func kubelet(t probe.Target) answer {
	var result kubeprobe.Result
	var output string
	var err error
	for range 3 {
		result, output, err = kubeletTry(t)
		if err == nil {
			break
		}
	}
	switch {
	case err != nil:
		return answer{fact.Unknown, err.Error()}
	case result == kubeprobe.Success:
		return answer{verdict: fact.Success}
	case result == kubeprobe.Warning:
		return answer{fact.Warning, output}
	case result == kubeprobe.Failure:
		return answer{fact.Failure, output}
	}
	return answer{fact.Unknown, output}
}

func kubeletTry(t probe.Target) (kubeprobe.Result, string, error) {
	timeout := time.Duration(t.Spec.TimeoutSeconds) * time.Second
	container := t.Container
	if container == nil {
		container = &v1.Container{}
	}
	switch {
	case t.Spec.HTTPGet != nil:
		req, err := kubehttp.NewRequestForHTTPGetAction(t.Spec.HTTPGet, container, t.PodIP, "probe")
		if err != nil {
			return kubeprobe.Unknown, "", err
		}
		if protocol := t.Spec.HTTPGet.Protocol; protocol != nil && *protocol == v1.HTTPProtocolHTTP2 {
			return kubeletHTTP.ProbeH2C(req, timeout)
		}
		return kubeletHTTP.Probe(req, timeout)
	case t.Spec.TCPSocket != nil:
		port, err := kubeprobe.ResolveContainerPort(t.Spec.TCPSocket.Port, container)
		if err != nil {
			return kubeprobe.Unknown, "", err
		}
		host := t.Spec.TCPSocket.Host
		if host == "" {
			host = t.PodIP
		}
		return kubetcp.New().Probe(host, port, timeout)
	case t.Spec.GRPC != nil:
		service := ""
		if t.Spec.GRPC.Service != nil {
			service = *t.Spec.GRPC.Service
		}
		return kubegrpc.New().Probe(t.PodIP, service, int(t.Spec.GRPC.Port), timeout,
			kubegrpc.ProbeOptions{UseTLS: t.Spec.GRPC.Mode != nil && *t.Spec.GRPC.Mode == v1.GRPCProbeModeTLS})
	}
	return kubeprobe.Unknown, "", errors.New("no handler")
}

func newProber(t testing.TB, exec probe.ExecFunc) *probe.Prober {
	t.Helper()
	p, err := probe.NewProber(exec, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func whylet(t testing.TB, p *probe.Prober, target probe.Target) answer {
	t.Helper()
	probed := p.Attempt(t.Context(), target)
	if probed.Evidence == nil {
		t.Errorf("no evidence with %s: %q", probed.Verdict, probed.Message)
	}
	return answer{probed.Verdict, probed.Message}
}

var (
	localPort = regexp.MustCompile(`127\.0\.0\.1:\d+->`)
	resets    = regexp.MustCompile(`(read|write) tcp 127\.0\.0\.1:LOCAL->(\S+): (read|write): (connection reset by peer|broken pipe)`)
	// A reset that comes at once meets the one who still connects.
	resetDial = regexp.MustCompile(`dial tcp (\S+): connect: connection reset by peer`)
)

// notHTTP2 are Go's words for a server that does not begin in HTTP/2. Which of them is
// met depends on whether its answer or the end of the connection is read first.
var notHTTP2 = regexp.MustCompile(`unexpected EOF|(read|write) tcp \S+: (read|write): (connection reset by peer|broken pipe)|http2: client conn could not be established|http2: failed reading the frame payload: .*`)

// normalise takes out what differs from one attempt to the next of the same
// prober: ephemeral ports, and which of its two goroutines meets a reset or the
// server's last words first.
func normalise(message string) string {
	message = localPort.ReplaceAllString(message, "127.0.0.1:LOCAL->")
	message = resets.ReplaceAllString(message, "tcp LOCAL->$2: reset")
	message = resetDial.ReplaceAllString(message, "tcp LOCAL->$1: reset")
	message = strings.Replace(message, "readLoopPeekFailLocked: ", "", 1)
	return strings.ReplaceAll(message, "net/http: HTTP/1.x transport connection broken: tcp LOCAL", "tcp LOCAL")
}

// sameAs says how two answers differ, "" when they do not.
func sameAs(want, got answer) string {
	want.message, got.message = normalise(want.message), normalise(got.message)
	if want == got {
		return ""
	}
	return fmt.Sprintf("kubelet says %v\nwhylet says  %v", want, got)
}
