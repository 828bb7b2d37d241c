// Package fronts starts an API server with a front before it and agents that remember
// what was recorded once, for tests of what a whole cluster is asked.
package fronts

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	authv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/front/uplink"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/test/kube"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/serve"
)

// World is an API server with a front before it.
type World struct {
	Kube *kube.Server
	Hub  *front.Hub
	// Address is where agents connect, CA the file of who vouches for it.
	Address, CA string
	// Stop ends the front.
	Stop func()
	// Requested is told what agents are told of who asks for the end of pods.
	Requested func(fact.Fact)

	t      testing.TB
	dir    string
	secure credentials.TransportCredentials
	key    string     // the file of the key that belongs to CA
	nodes  *authority // of nodes' own certificates

	mu    sync.Mutex
	hosts []string // of the replicas
}

// name is the one that all replicas have.
const name = "fronts.test"

const AgentUser = "system:serviceaccount:whylet:whylet-agent"

// New makes a world of its own on the API server that the package's tests share.
func New(t testing.TB, archive front.Archive) *World {
	t.Helper()
	w := &World{t: t, Kube: kube.Shared(t), dir: t.TempDir()}
	w.Kube.Namespace(t, "whylet", "whylet-agent")
	w.Kube.Namespace(t, "shop", "default")
	w.Kube.Namespace(t, "other", "default")
	w.secure, w.CA, w.key = certificate(t, w.dir)
	w.nodes = newAuthority(t)
	w.Address = "127.0.0.1:0"
	w.Front(archive)
	return w
}

// Front starts a front, at the address of the one before, until the test or the returned
// function ends it.
func (w *World) Front(archive front.Archive) (stop func()) {
	w.t.Helper()
	w.Hub, w.Stop = w.Replica("127.0.0.1", archive)
	return w.Stop
}

// Replica starts a front at another address and the same port, of which agents learn before
// they start.
func (w *World) Replica(host string, archive front.Archive) (hub *front.Hub, stop func()) {
	w.t.Helper()
	hub = front.New(front.Options{API: w.Kube.Client, Agent: AgentUser, Archive: archive, Authorities: w.nodes.pool, Log: slog.New(slog.DiscardHandler)})
	_, port, err := net.SplitHostPort(w.Address)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, port))
	if err != nil {
		w.t.Fatal(err)
	}
	if port == "0" {
		w.Address = l.Addr().String()
	}
	w.there(host)
	server, guarded := hub.Server(grpc.Creds(w.secure)), hub.Guard(l)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(guarded) })
	stop = func() { server.Stop(); serving.Wait() }
	w.t.Cleanup(stop)
	return hub, stop
}

// there tells agents of a replica.
func (w *World) there(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains(w.hosts, host) {
		w.hosts = append(w.hosts, host)
	}
}

// lookup is an agent's.
func (w *World) lookup(context.Context, string) ([]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.hosts), nil
}

// certificate makes a certificate for 127.0.0.1 that is its own authority, and gives its file
// and that of the key.
func certificate(t testing.TB, dir string) (secure credentials.TransportCredentials, path, keyPath string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path, keyPath = filepath.Join(dir, "ca.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{path: {Type: "CERTIFICATE", Bytes: der}, keyPath: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS13,
	}), path, keyPath
}

// Pod makes a pod on a node.
func (w *World) Pod(namespace, name, node string) *v1.Pod {
	w.t.Helper()
	p, err := w.Kube.Client.CoreV1().Pods(namespace).Create(w.t.Context(), &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1.PodSpec{NodeName: node, ServiceAccountName: "whylet-agent", Containers: []v1.Container{{Name: "app", Image: "app"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *World) Node(name string) {
	w.t.Helper()
	n, err := w.Kube.Client.CoreV1().Nodes().Create(w.t.Context(), &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err == nil {
		now := metav1.Now()
		n.Status.Conditions = []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue, LastHeartbeatTime: now, LastTransitionTime: now}}
		_, err = w.Kube.Client.CoreV1().Nodes().UpdateStatus(w.t.Context(), n, metav1.UpdateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// Token is that of an agent's pod on a node.
func (w *World) Token(node, audience string) string {
	w.t.Helper()
	pod := w.Pod("whylet", "agent-"+node+"-"+strings.ToLower(rand.Text()[:5]), node)
	r, err := w.Kube.Client.CoreV1().ServiceAccounts("whylet").CreateToken(w.t.Context(), "whylet-agent", &authv1.TokenRequest{Spec: authv1.TokenRequestSpec{
		Audiences: []string{audience}, BoundObjectRef: &authv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return r.Status.Token
}

// Journal is a node's memory with recorded facts, told of a pod of this cluster.
func (w *World) Journal(pod *v1.Pod, recorded string) *journal.Journal {
	w.t.Helper()
	j, err := journal.Open(w.t.TempDir(), journal.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = j.Close() })
	w.Record(j, pod, recorded)
	return j
}

// Record has a pod of this cluster live through what was recorded once.
func (w *World) Record(j *journal.Journal, pod *v1.Pod, recorded string) {
	w.t.Helper()
	if err := Record(j, fact.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, recorded); err != nil {
		w.t.Fatal(err)
	}
}

// Record is [World.Record] for an agent in a process of its own.
func Record(j *journal.Journal, pod fact.Pod, recorded string) error {
	f, err := journal.OpenFile(filepath.Join(recordings(), recorded+".facts"))
	if err != nil {
		return err
	}
	base := j.Next(int(f.Stats().LastID)) - 1
	var all []fact.Fact
	for f, err := range f.Query(journal.Query{}) {
		if err != nil {
			return err
		}
		f.ID += base
		for i := range f.Because {
			f.Because[i] += base
		}
		if f.Pod.UID != "" {
			f.Pod = pod
		}
		all = append(all, f)
	}
	return j.Append(all...)
}

// Agent runs an agent of a node until the test or the returned function ends it.
func (w *World) Agent(node string, j *journal.Journal) (stop func()) {
	w.t.Helper()
	return w.uplink(uplink.Options{TokenFile: w.tokenFile(node)}, j)
}

func (w *World) tokenFile(node string) string {
	w.t.Helper()
	path := filepath.Join(w.t.TempDir(), "token")
	if err := os.WriteFile(path, []byte(w.Token(node, link.Audience)), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// Own runs what a node of Whylet's own tells, as [World.Agent] does.
func (w *World) Own(node string, j *journal.Journal) (stop func()) {
	w.t.Helper()
	own := w.Certificate("system:node:"+node, "system:nodes")
	return w.uplink(uplink.Options{Certificate: func() (tls.Certificate, error) { return own, nil }}, j)
}

func (w *World) uplink(o uplink.Options, j *journal.Journal) (stop func()) {
	w.t.Helper()
	o.Address, o.Lookup, o.CAFile, o.Requested = w.replicas(), w.lookup, w.CA, w.Requested
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = run(ctx, o, j) })
	stop = func() { cancel(); running.Wait() }
	w.t.Cleanup(stop)
	return stop
}

// replicas is what agents are told of where fronts are.
func (w *World) replicas() string {
	_, port, err := net.SplitHostPort(w.Address)
	if err != nil {
		w.t.Fatal(err)
	}
	return net.JoinHostPort(name, port)
}

// run tells fronts of what a node remembers until ctx ends.
func run(ctx context.Context, o uplink.Options, j *journal.Journal) error {
	o.Journal, o.Log = j, slog.New(slog.DiscardHandler)
	o.Serve = map[string]http.Handler{"why": serve.Handler(j, health.Policy{}, nil), "why/facts": serve.FactsHandler(j)}
	return uplink.Run(ctx, o)
}

// Until waits until something is so.
func (w *World) Until(what string, so func() bool) {
	w.t.Helper()
	for end := time.Now().Add(30 * time.Second); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("never: %s", what)
		}
	}
}

// Asker asks through the front, as somebody who may see one namespace.
func (w *World) Asker(namespace string) *ask.Cluster {
	w.t.Helper()
	c, err := ask.Connect(w.Kube.Config, ask.Options{Namespace: namespace, Front: w.Hub, Within: namespace != ""})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// Ill is how many pods of a namespace are not well.
func (w *World) Ill(namespace string) int {
	ill, _, _, err := w.Hub.Standing(w.t.Context(), namespace)
	if err != nil {
		w.t.Fatal(err)
	}
	return len(ill)
}

// recordings is where the recorded histories are.
func recordings() string { return filepath.Join(kube.Root(), "why", "serve", "testdata") }
