package server

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
)

func keyPair(t *testing.T, cert, key []byte) []tls.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return []tls.Certificate{pair}
}

func TestPaths(t *testing.T) {
	logs := t.TempDir()
	write(t, logs+"/syslog", []byte("kernel: hello\n"))
	registry := NewRegistry()
	started := prometheus.NewCounter(prometheus.CounterOpts{Name: "whylet_containers_started_total", Help: "x"})
	registry.MustRegister(started)
	started.Inc()
	n := startNode(t, func(c *Config) {
		c.Metrics, c.Resources, c.Probes = registry, prometheus.NewRegistry(), prometheus.NewRegistry()
		c.LogsDir = logs
		c.Configz = func() map[string]any { return map[string]any{"whylet": map[string]int{"maxPods": 110}} }
		c.Extra = map[string]http.Handler{"/why": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "because "+r.URL.Path)
		})}
	})
	n.host.pods = []*v1.Pod{web()}
	n.runtime.paths["c1"] = "/nowhere"
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/pods", 200, `"name":"web"`},
		{"GET", "/pods/", 200, `"name":"web"`},
		{"GET", "/runningpods/", 200, `"name":"web"`},
		{"GET", "/stats/summary", 200, `"nodeName":"n1-false"`},
		{"POST", "/stats/summary?only_cpu_and_memory=true", 200, `"nodeName":"n1-true"`},
		{"GET", "/metrics", 200, "whylet_containers_started_total 1"},
		{"GET", "/metrics", 200, "process_cpu_seconds_total"},
		{"GET", "/metrics", 200, "go_goroutines"},
		{"GET", "/metrics/resource", 200, ""},
		{"GET", "/metrics/probes", 200, ""},
		{"GET", "/metrics/cadvisor", 404, "404 page not found"},
		{"GET", "/healthz", 200, "ok"},
		{"GET", "/healthz?verbose=true", 200, "[+]syncloop ok"},
		{"GET", "/healthz/syncloop", 200, "ok"},
		{"GET", "/configz", 200, `{"whylet":{"maxPods":110}}`},
		{"GET", "/logs/", 200, "syslog"},
		{"GET", "/logs/syslog", 200, "kernel: hello"},
		{"GET", "/logs/../../etc/passwd", 404, ""},
		{"GET", "/debug/pprof/", 200, "goroutine"},
		{"GET", "/why", 200, "because /why"},
		{"GET", "/why/default/web", 200, "because /why/default/web"},
		{"POST", "/run/default/web/app?cmd=ls+/", 200, "c1:ls!"},
		{"POST", "/run/default/web/u1/app?cmd=ls", 200, "c1:ls!"},
		{"POST", "/run/default/web/u2/app?cmd=ls", 404, "pod not found"},
		{"POST", "/run/default/web/app?cmd=false", 500, "command terminated with exit code 1"},
		{"POST", "/run/default/web/new?cmd=ls", 500, `container not found ("new")`},
		{"POST", "/run/default/gone/app?cmd=ls", 404, "pod does not exist"},
		{"GET", "/run/default/web/app", 405, "Method Not Allowed"},
	} {
		if status, body := n.ask(n.as("root"), c.method, c.path); status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s %s: %d %q, want %d with %q", c.method, c.path, status, body, c.status, c.body)
		}
	}
}

func TestSickLoopShowsInHealthz(t *testing.T) {
	n := startNode(t, nil)
	n.host.sick = errors.New("the loop has not turned for 3m0s")
	if status, body := n.get("/healthz"); status != 500 || !strings.Contains(body, "[-]syncloop failed") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := n.get("/runningpods"); status != 500 || body != "the loop has not turned for 3m0s" {
		t.Errorf("%d %s", status, body)
	}
}

func TestTakenPortIsSaidAtOnce(t *testing.T) {
	n := startNode(t, nil)
	config := n.config
	config.Port = n.server.Port()
	_, err := Listen(config)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:"+strconv.Itoa(config.Port)+", another program does") {
		t.Errorf("%v", err)
	}
}

func TestMissingFilesAreSaidAtOnce(t *testing.T) {
	n := startNode(t, nil)
	for name, spoil := range map[string]func(*Config){
		"serving certificate of the node's API": func(c *Config) { c.ServingKey += ".gone" },
		"client CA of the node's API":           func(c *Config) { c.ClientCA += ".gone" },
		"no API server to ask":                  func(c *Config) { c.Client = nil },
	} {
		config := n.config
		spoil(&config)
		if _, err := Listen(config); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	n := startNode(t, nil)
	client := n.as("root")
	config := client.Transport.(*http.Transport).TLSClientConfig
	config.MinVersion, config.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if _, err := client.Get(n.url + "/pods"); err == nil || !strings.Contains(err.Error(), "protocol version") {
		t.Errorf("%v", err)
	}
}

// serial is the number of the certificate that the server shows a new client.
func (n *node) serial() int64 {
	n.t.Helper()
	conn, err := tls.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(n.server.Port())),
		n.as("").Transport.(*http.Transport).TLSClientConfig)
	if err != nil {
		n.t.Fatal(err)
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func TestNewCertificateIsServedWithoutARestart(t *testing.T) {
	n := startNode(t, nil)
	if got := n.serial(); got != 2 {
		t.Fatalf("serial %d", got)
	}
	n.serveWith(n.ca.issue("n1", 77))
	for end := time.Now().Add(deadline); n.serial() != 77; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the old certificate is still served")
		}
	}
}
