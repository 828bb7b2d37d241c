// Package kube starts a real API server with its etcd for one test, without nodes,
// controllers or a network of their own. Tests that use it skip where the binaries of
// `make peer` are missing.
package kube

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Server is a running API server.
type Server struct {
	// Config is an administrator's.
	Config *rest.Config
	Client kubernetes.Interface
	// Log is the file of what the API server says.
	Log string
	// PID is the API server's process.
	PID int

	// run starts the API server, end ends it at once.
	run func(testing.TB)
	end func()
}

const adminToken = "the-test-s-own"

// binaries is where `make peer` puts its programs, by default below the module.
func binaries() string {
	if dir := os.Getenv("WHYLET_PEER_BIN"); dir != "" {
		return dir
	}
	return filepath.Join(Root(), "bin", "peer")
}

// Root is the module's folder: the first one above the test's with a go.mod.
func Root() string {
	dir, err := os.Getwd()
	for ; err == nil && dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return "."
}

// packageWide is the test that a shared server belongs to: all of the package.
type packageWide struct {
	testing.TB
	dir  string
	ends []func()
}

var (
	whole  *packageWide
	shared *Server
)

// Main runs a package's tests, which may share a server:
//
//	func TestMain(m *testing.M) { os.Exit(kube.Main(m)) }
func Main(m *testing.M) int {
	whole = &packageWide{}
	defer func() {
		for _, end := range slices.Backward(whole.ends) {
			end()
		}
		if whole.dir != "" {
			_ = os.RemoveAll(whole.dir)
		}
	}()
	return m.Run()
}

func (p *packageWide) Cleanup(f func()) { p.ends = append(p.ends, f) }

func (p *packageWide) TempDir() string {
	if p.dir == "" {
		dir, err := os.MkdirTemp("", "kube-")
		if err != nil {
			p.Fatal(err)
		}
		p.dir = dir
	}
	return p.dir
}

// Shared is the server that all tests of the package share, one after the other, for its
// start takes longer than most of them: empty of nodes, of pods, and of bindings but its own.
func Shared(t testing.TB) *Server {
	t.Helper()
	if shared == nil {
		whole.TB = t
		shared = Start(whole)
		return shared
	}
	zero := int64(0)
	now, all := metav1.DeleteOptions{GracePeriodSeconds: &zero}, metav1.ListOptions{}
	spaces, err := shared.Client.CoreV1().Namespaces().List(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	err = shared.Client.CoreV1().Nodes().DeleteCollection(t.Context(), now, all)
	for i := range spaces.Items {
		name := spaces.Items[i].Name
		err = errors.Join(err, shared.Client.CoreV1().Pods(name).DeleteCollection(t.Context(), now, all),
			shared.Client.RbacV1().RoleBindings(name).DeleteCollection(t.Context(), now, madeHere))
	}
	err = errors.Join(err, shared.Client.RbacV1().ClusterRoleBindings().DeleteCollection(t.Context(), now, madeHere))
	if err != nil {
		t.Fatal(err)
	}
	return shared
}

// madeHere leaves what the API server makes at its start.
var madeHere = metav1.ListOptions{LabelSelector: "!kubernetes.io/bootstrapping"}

// Start starts one, which ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	bin := binaries()
	for _, name := range []string{"etcd", "kube-apiserver"} {
		if _, err := os.Stat(filepath.Join(bin, name)); err != nil {
			t.Skipf("%v: run 'make peer', or say in WHYLET_PEER_BIN where it is", err)
		}
	}
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write(t, in("sa.key"), key(t))
	write(t, in("tokens.csv"), []byte(adminToken+",admin,admin,system:masters\n"))
	etcd, peer, port := freePort(t), freePort(t), freePort(t)
	Spawn(t, in("etcd.log"), filepath.Join(bin, "etcd"), "-data-dir", in("etcd"), "-unsafe-no-fsync",
		"-listen-client-urls", "http://127.0.0.1:"+etcd, "-listen-peer-urls", "http://127.0.0.1:"+peer)
	s := &Server{Log: in("apiserver.log")}
	args := []string{
		"--etcd-servers=http://127.0.0.1:" + etcd, "--bind-address=127.0.0.1", "--secure-port=" + port,
		"--cert-dir=" + in("certs"), "--token-auth-file=" + in("tokens.csv"), "--authorization-mode=RBAC", "--allow-privileged",
		"--service-cluster-ip-range=10.97.0.0/16", "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + in("sa.key"), "--service-account-signing-key-file=" + in("sa.key"),
		"--endpoint-reconciler-type=none", "--advertise-address=192.0.2.1", "--disable-admission-plugins=ServiceAccount",
	}
	s.run = func(t testing.TB) { s.PID, s.end = Spawn(t, s.Log, filepath.Join(bin, "kube-apiserver"), args...) }
	s.Config = &rest.Config{
		Host: "https://127.0.0.1:" + port, BearerToken: adminToken, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	client, err := kubernetes.NewForConfig(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	s.Client = client
	s.Run(t)
	return s
}

// Kill ends the API server as a crash does, until [Server.Run].
func (s *Server) Kill() { s.end() }

// Run runs the API server, again with what its etcd has.
func (s *Server) Run(t testing.TB) {
	t.Helper()
	if whole != nil && s == shared {
		t = whole
	}
	s.run(t)
	ready := func(ctx context.Context) (bool, error) {
		_, err := s.Client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err == nil, nil
	}
	if err := wait.PollUntilContextTimeout(context.Background(), 100*time.Millisecond, 2*time.Minute, true, ready); err != nil {
		log, _ := os.ReadFile(s.Log)
		t.Fatalf("the API server does not come up: %v\n%s", err, log[max(0, len(log)-2000):])
	}
}

// As is a configuration of somebody else.
func (s *Server) As(user string, groups ...string) *rest.Config {
	c := rest.CopyConfig(s.Config)
	c.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	return c
}

// Namespace makes a namespace with a service account of that name in it, if there is none.
func (s *Server) Namespace(t testing.TB, name, account string) {
	t.Helper()
	_, err := s.Client.CoreV1().Namespaces().Create(t.Context(), &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return // by another test
	}
	if err == nil && account != "" {
		_, err = s.Client.CoreV1().ServiceAccounts(name).Create(t.Context(), &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Spawn starts a program, which ends with the test at the latest, and gives its process and
// what ends it at once.
func Spawn(t testing.TB, log, program string, args ...string) (pid int, end func()) {
	t.Helper()
	file, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	ended := make(chan struct{})
	go func() { // a parent's death signal is that of its thread
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	end = func() {
		_ = cmd.Process.Kill()
		<-ended
	}
	t.Cleanup(end)
	return cmd.Process.Pid, end
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

func key(t testing.TB) []byte {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
