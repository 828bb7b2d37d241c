package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// deadline is how long a test waits for what must happen.
const deadline = 20 * time.Second

// authority signs certificates for one test.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	a := &authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert = a.sign(template, template, &a.key.PublicKey)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(template, parent *x509.Certificate, public *ecdsa.PublicKey) *x509.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

// issue gives a key pair in PEM, for a server on loopback as well as for a client.
func (a *authority) issue(name string, serial int64, groups ...string) (cert, key []byte) {
	a.t.Helper()
	own := newKey(a.t)
	signed := a.sign(&x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}, a.cert, &own.PublicKey)
	der, err := x509.MarshalECPrivateKey(own)
	if err != nil {
		a.t.Fatal(err)
	}
	return pemOf("CERTIFICATE", signed.Raw), pemOf("EC PRIVATE KEY", der)
}

func pemOf(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// reviews is an API server that knows tokens and who may do what.
type reviews struct {
	tokens  map[string]string // token: user name
	allowed map[string]bool   // "user verb subresource"
	down    bool

	mu    sync.Mutex
	asked []string
}

func (f *reviews) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case f.down:
		http.Error(w, "etcd is away", http.StatusBadRequest)
	case r.URL.Path == "/apis/authentication.k8s.io/v1/tokenreviews":
		review := decode[authenticationv1.TokenReview](w, r)
		user, ok := f.tokens[review.Spec.Token]
		review.Status = authenticationv1.TokenReviewStatus{Authenticated: ok, User: authenticationv1.UserInfo{Username: user}}
		answer(w, review)
	case r.URL.Path == "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		review := decode[authorizationv1.SubjectAccessReview](w, r)
		a := review.Spec.ResourceAttributes
		question := review.Spec.User + " " + a.Verb + " " + a.Resource + "/" + a.Name + "/" + a.Subresource
		f.mu.Lock()
		f.asked = append(f.asked, question)
		f.mu.Unlock()
		review.Status.Allowed = f.allowed[question]
		answer(w, review)
	default:
		http.NotFound(w, r)
	}
}

func decode[T any](w http.ResponseWriter, r *http.Request) *T {
	v := new(T)
	if err := json.NewDecoder(r.Body).Decode(v); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return v
}

// fakeHost has the pods and the sandboxes that a test gave it.
type fakeHost struct {
	mu        sync.Mutex
	pods      []*v1.Pod
	sandboxes map[types.UID]string
	sick      error
}

func (h *fakeHost) Pods() []*v1.Pod {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.pods)
}

func (h *fakeHost) Pod(namespace, name string) *v1.Pod {
	for _, pod := range h.Pods() {
		if pod.Namespace == namespace && pod.Name == name {
			return pod
		}
	}
	return nil
}

func (h *fakeHost) RunningPods(context.Context) ([]*v1.Pod, error) { return h.Pods(), h.sick }
func (h *fakeHost) SandboxID(uid types.UID) string                 { return h.sandboxes[uid] }
func (h *fakeHost) Healthy() error                                 { return h.sick }

// update changes the pods' statuses; pods that were handed out are left alone.
func (h *fakeHost) update(change func(*v1.PodStatus)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, pod := range h.pods {
		h.pods[i] = pod.DeepCopy()
		change(&h.pods[i].Status)
	}
}

// fakeRuntime knows where the logs of containers are, and which of them run.
type fakeRuntime struct {
	streams
	mu    sync.Mutex
	paths map[string]string
	ended map[string]bool
}

func (f *fakeRuntime) ContainerStatus(_ context.Context, id string, _ bool) (*runtimeapi.ContainerStatusResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path, ok := f.paths[id]
	if !ok {
		return nil, status.Errorf(codes.NotFound, "container %q not found", id)
	}
	state := runtimeapi.ContainerState_CONTAINER_RUNNING
	if f.ended[id] {
		state = runtimeapi.ContainerState_CONTAINER_EXITED
	}
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{State: state, LogPath: path}}, nil
}

func (f *fakeRuntime) end(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended[id] = true
}

func (f *fakeRuntime) ExecSync(_ context.Context, id string, cmd []string, _ time.Duration) (stdout, stderr []byte, err error) {
	if cmd[0] == "false" {
		return nil, nil, errors.New("command terminated with exit code 1")
	}
	return []byte(id + ":" + cmd[0]), []byte("!"), nil
}

// fakeStats answers with the node's name.
type fakeStats struct{}

func (fakeStats) Summary(_ context.Context, small bool) (*statsapi.Summary, error) {
	return &statsapi.Summary{Node: statsapi.NodeStats{NodeName: "n1-" + strconv.FormatBool(small)}}, nil
}

// node is a server under test with all that is around it.
type node struct {
	t       *testing.T
	ca      *authority
	api     *reviews
	host    *fakeHost
	runtime *fakeRuntime
	server  *Server
	config  Config
	url     string
	stop    context.CancelFunc
	served  chan error
}

// startNode starts a server on loopback, with real certificates and a real API
// server's wire between it and its reviews. The user "root" may do everything.
func startNode(t *testing.T, adjust func(*Config)) *node {
	t.Helper()
	n := &node{
		t: t, ca: newAuthority(t, "cluster-ca"),
		host:    &fakeHost{sandboxes: map[types.UID]string{}},
		runtime: &fakeRuntime{paths: map[string]string{}, ended: map[string]bool{}},
		api: &reviews{
			tokens: map[string]string{"metrics-token": "metrics"},
			allowed: map[string]bool{
				"metrics get nodes/n1/metrics": true,
				"metrics get nodes/n1/pods":    true,
				"old get nodes/n1/proxy":       true,
			},
		},
	}
	for _, verb := range []string{"get", "create"} {
		for _, sub := range []string{"proxy", "stats", "metrics", "log", "pods", "healthz", "configz"} {
			n.api.allowed["root "+verb+" nodes/n1/"+sub] = true
		}
	}
	reviewer := httptest.NewServer(n.api)
	t.Cleanup(reviewer.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: reviewer.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	n.config = Config{
		NodeName: "n1", Address: "127.0.0.1", Client: client, Host: n.host, Runtime: n.runtime, Stats: fakeStats{},
		ServingCert: filepath.Join(dir, "tls.crt"), ServingKey: filepath.Join(dir, "tls.key"), ClientCA: filepath.Join(dir, "ca.crt"),
		Log: slog.New(slog.DiscardHandler),
	}
	write(t, n.config.ClientCA, pemOf("CERTIFICATE", n.ca.cert.Raw))
	n.serveWith(n.ca.issue("n1", 2))
	if adjust != nil {
		adjust(&n.config)
	}
	n.start()
	return n
}

func (n *node) serveWith(cert, key []byte) {
	n.t.Helper()
	write(n.t, n.config.ServingCert, cert)
	write(n.t, n.config.ServingKey, key)
}

func (n *node) start() {
	n.t.Helper()
	server, err := Listen(n.config)
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	n.server, n.stop, n.served = server, stop, make(chan error, 1)
	n.url = "https://127.0.0.1:" + strconv.Itoa(server.Port())
	go func() { n.served <- server.Serve(ctx) }()
	n.t.Cleanup(func() {
		stop()
		select {
		case err := <-n.served:
			if err != nil {
				n.t.Error(err)
			}
		case <-time.After(deadline):
			n.t.Error("the server does not end")
		}
	})
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// as is a client with a certificate of that name; without a name it has none.
func (n *node) as(name string) *http.Client {
	n.t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(n.ca.cert)
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if name != "" {
		pair, err := tls.X509KeyPair(n.ca.issue(name, 3))
		if err != nil {
			n.t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	n.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: deadline}
}

// rest is the same as a configuration for client-go's streaming clients.
func (n *node) rest(name string) *rest.Config {
	cert, key := n.ca.issue(name, 4)
	return &rest.Config{Host: n.url, TLSClientConfig: rest.TLSClientConfig{
		CAData: pemOf("CERTIFICATE", n.ca.cert.Raw), CertData: cert, KeyData: key,
	}}
}

// ask gives status and body.
func (n *node) ask(c *http.Client, method, path string, header ...string) (int, string) {
	n.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, n.url+path, http.NoBody)
	if err != nil {
		n.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := c.Do(request)
	if err != nil {
		n.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		n.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// get asks as root.
func (n *node) get(path string) (int, string) {
	n.t.Helper()
	return n.ask(n.as("root"), http.MethodGet, path)
}

// web is a pod with one running container "app" (id c1), which ran before (c0).
func web() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u1"},
		Spec: v1.PodSpec{
			InitContainers: []v1.Container{{Name: "init"}},
			Containers:     []v1.Container{{Name: "app"}, {Name: "tty", TTY: true}, {Name: "new"}},
			EphemeralContainers: []v1.EphemeralContainer{
				{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debugger"}},
			},
		},
		Status: v1.PodStatus{
			ContainerStatuses: []v1.ContainerStatus{
				{
					Name: "app", ContainerID: "containerd://c1", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}},
					LastTerminationState: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ContainerID: "containerd://c0"}},
				},
				{Name: "tty", ContainerID: "containerd://c2", State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
				{Name: "new", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ContainerCreating"}}},
			},
		},
	}
}
