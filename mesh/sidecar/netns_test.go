package sidecar

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/mesh/identity"
	"whylet.dev/whylet/probe"
)

// The addresses of the test's network: two pods of the mesh, and the node, on
// which the control plane is, and which is no member.
const (
	nodeIP   = "10.213.7.254"
	clientIP = "10.213.7.1"
	serverIP = "10.213.7.2"
	planeURL = "https://" + nodeIP + ":8443"
)

// roleEnv says, in the environment of this test's children, what they are.
const roleEnv = "WHYLET_MESH_TEST_ROLE"

func TestMain(m *testing.M) {
	role, ok := roles[os.Getenv(roleEnv)]
	if !ok {
		os.Exit(m.Run())
	}
	if err := role(os.Getenv("WHYLET_MESH_TEST_DIR")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var roles = map[string]func(dir string) error{
	"plane": runPlane, "sidecar": runSidecar, "app": runApp,
	"get":     func(string) error { return runGet(fmt.Sprintf("http://%s:8080/", serverIP)) },
	"probe":   func(string) error { return runProbes() },
	"capture": runCapture, "mark": runMark,
}

func ready() { fmt.Println("ready") }

// runPlane is a control plane whose tokens are names.
func runPlane(dir string) error {
	ca, err := identity.NewCA(nil, time.Now())
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "ca.crt"), ca.Bundle(), 0o644); err != nil {
		return err
	}
	s := &identity.Server{
		CA: func() *identity.CA { return ca }, Log: slog.New(slog.DiscardHandler),
		Members:      func() []string { return []string{clientIP, serverIP} },
		Authenticate: func(_ context.Context, token string) (string, string, error) { return "ns", token, nil },
	}
	mux := http.NewServeMux()
	s.Register(mux)
	l, err := net.Listen("tcp", nodeIP+":8443")
	if err != nil {
		return err
	}
	serving := &identity.Serving{Hosts: []string{nodeIP}, CA: s.CA}
	ready()
	return http.Serve(tls.NewListener(l, &tls.Config{GetCertificate: serving.GetCertificate}), mux)
}

// runSidecar does what init container and sidecar do: the redirect as root, all
// else as the user whose traffic is not redirected.
func runSidecar(dir string) error {
	for range 2 { // a second time changes nothing
		if err := Redirect(); err != nil {
			return err
		}
	}
	roots, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return err
	}
	if err := syscall.Setuid(int(mesh.ProxyUID)); err != nil {
		return err
	}
	probe := *get("/", 8080, "HTTP")
	member := identity.NewMember(planeURL, filepath.Join(dir, "token"), roots, slog.New(slog.DiscardHandler))
	go func() {
		for !member.Ready() || !member.IsPeer(serverIP) {
			time.Sleep(10 * time.Millisecond)
		}
		ready()
	}()
	return Serve(context.Background(), Options{
		Probes: true, Healthcheck: true, Member: member, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Config: mesh.SidecarConfig{Form: mesh.Default, Routes: []mesh.Route{{Container: "app", Kind: fact.Liveness, Probe: probe}}},
	})
}

func runApp(string) error {
	l, err := net.Listen("tcp", ":8080")
	if err != nil {
		return err
	}
	ready()
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "hello %s", r.RemoteAddr[:strings.LastIndex(r.RemoteAddr, ":")])
	}))
}

func runGet(url string) error {
	client := &http.Client{Timeout: time.Minute}
	res, err := client.Get(url)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(res.Body)
	fmt.Println(string(body))
	return err
}

// runProbes makes the node's probes of the server pod, as they were written and
// as they are rewritten.
func runProbes() error {
	p, err := probe.NewProber(nil, nil)
	if err != nil {
		return err
	}
	defer p.Close()
	plainHTTP := get("/", 8080, "HTTP")
	tcp := func(port int32) *v1.Probe {
		original := get("/", port, "HTTP")
		original.TCPSocket, original.HTTPGet = &v1.TCPSocketAction{Port: original.HTTPGet.Port}, nil
		return original
	}
	for _, one := range []struct {
		name  string
		probe *v1.Probe
	}{{"HTTP", plainHTTP}, {"TCP open", tcp(8080)}, {"TCP closed", tcp(9)}} {
		pod, err := mesh.Rewrite(&v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "app", LivenessProbe: one.probe}}}}, mesh.Default)
		if err != nil {
			return err
		}
		for _, spec := range []*v1.Probe{one.probe, pod.Spec.Containers[0].LivenessProbe} {
			got := p.Attempt(context.Background(), probe.Target{Kind: fact.Liveness, Spec: spec, PodIP: serverIP})
			fmt.Printf("%s %v %s\n", one.name, spec != one.probe, got.Verdict)
		}
	}
	return nil
}

// network makes the namespaces client, server and node, joined by a bridge in
// the node's.
func network(t *testing.T) (client, server, node string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root to make network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs ip(8)")
	}
	prefix := fmt.Sprintf("wlmesh%d", os.Getpid())
	client, server, node = prefix+"c", prefix+"s", prefix+"n"
	for _, ns := range []string{node, client, server} {
		ip(t, "netns", "add", ns)
		t.Cleanup(func() { ip(t, "netns", "del", ns) })
		ip(t, "-n", ns, "link", "set", "lo", "up")
	}
	ip(t, "-n", node, "link", "add", "br0", "type", "bridge")
	ip(t, "-n", node, "addr", "add", nodeIP+"/24", "dev", "br0")
	ip(t, "-n", node, "link", "set", "br0", "up")
	for i, pod := range []struct{ ns, address string }{{client, clientIP}, {server, serverIP}} {
		end := fmt.Sprint("pod", i)
		ip(t, "-n", node, "link", "add", end, "type", "veth", "peer", "name", "eth0", "netns", pod.ns)
		ip(t, "-n", node, "link", "set", end, "master", "br0", "up")
		ip(t, "-n", pod.ns, "addr", "add", pod.address+"/24", "dev", "eth0")
		ip(t, "-n", pod.ns, "link", "set", "eth0", "up")
	}
	return client, server, node
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v %s", args, err, out)
	}
}

// start runs a role in a namespace until the test ends, once it says it is ready.
func startRole(t *testing.T, ns, role, dir string) {
	t.Helper()
	cmd := child(ns, role, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s in %s: %s", role, ns, log.String())
		}
	})
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		lines <- line
	}()
	select {
	case line := <-lines:
		if line != "ready\n" {
			t.Fatalf("%s in %s does not start: %s", role, ns, line)
		}
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s in %s does not get ready", role, ns)
	}
}

func child(ns, role, dir string) *exec.Cmd {
	cmd := exec.Command("ip", "netns", "exec", ns, os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"="+role, "WHYLET_MESH_TEST_DIR="+dir)
	return cmd
}

func runRole(ns, role string) (string, error) {
	out, err := child(ns, role, "").CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// TestMeshInNamespaces is the seed's page with real packets: what fails in a mesh
// without rewriting works with it, and the traffic between members is their own.
func TestMeshInNamespaces(t *testing.T) {
	client, server, node := network(t)
	dir, err := os.MkdirTemp("", "whylet-mesh-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // the sidecars are another user
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("app"), 0o644); err != nil {
		t.Fatal(err)
	}
	startRole(t, node, "plane", dir)
	startRole(t, server, "app", dir)
	if out, err := runRole(node, "get"); err != nil || !strings.HasPrefix(out, "hello "+nodeIP) {
		t.Fatalf("the network does not work without the mesh: %s %v", out, err)
	}
	startRole(t, node, "capture", dir)
	seen := 0
	if out, err := runRole(client, "get"); err != nil || out != "hello "+clientIP {
		t.Fatalf("the client gets %q, %v", out, err)
	}
	streams, raw := wire(t, node, dir, &seen)
	checkWire(t, streams, raw, false)
	startRole(t, server, "sidecar", dir)
	startRole(t, client, "sidecar", dir)

	wire(t, node, dir, &seen) // up to here
	if out, err := runRole(client, "get"); err != nil || out != "hello "+serverIP {
		t.Errorf("a member gets %q, %v", out, err)
	}
	streams, raw = wire(t, node, dir, &seen)
	checkWire(t, streams, raw, true)
	if out, err := runRole(node, "get"); err == nil {
		t.Errorf("who is no member gets %q", out)
	}
	out, err := runRole(node, "probe")
	want := strings.Join([]string{
		"HTTP false Failure", "HTTP true Success",
		"TCP open false Success", "TCP open true Success",
		"TCP closed false Success", // the proxy accepts every connection
		"TCP closed true Failure",
	}, "\n")
	if err != nil || out != want {
		t.Errorf("the node's probes say\n%s %v\nwant\n%s", out, err, want)
	}
}
