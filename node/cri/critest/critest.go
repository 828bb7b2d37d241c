// Package critest gives tests below node a real container runtime: containerd
// as Whylet runs it, in a network namespace and a data directory of its own,
// gone without trace when the tests are over.
//
// It is test support only, and the one place below node that knows package
// cluster/runtime.
//
//	func TestMain(m *testing.M) { os.Exit(critest.Main(m)) }
//	func TestX(t *testing.T)    { n := critest.Start(t); … }
package critest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"whylet.dev/whylet/cluster/runtime"
	"whylet.dev/whylet/node/cri"
)

// inNamespace marks the test binary that runs in a network namespace already.
const inNamespace = "WHYLET_CRITEST_IN_NETNS"

// Main is TestMain: the test binary also plays containerd, and runs the tests in
// a network namespace of their own, so that bridges and ports collide with nobody's.
func Main(m *testing.M) int {
	if len(os.Args) > 1 && os.Args[1] == runtime.Subcommand {
		return runtime.Main(os.Args[2:], os.Stderr)
	}
	if os.Geteuid() != 0 {
		return m.Run()
	}
	if os.Getenv(inNamespace) == "" {
		return rerun()
	}
	if err := loopbackUp(); err != nil {
		fmt.Fprintln(os.Stderr, "bringing lo up:", err)
		return 1
	}
	klog.SetLogger(logr.Discard()) // borrowed code logs what it also returns
	code := m.Run()
	if err := stopShared(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
		return 1
	}
	return code
}

func rerun() int {
	cmd := exec.Command(os.Args[0], os.Args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), inNamespace+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, "a network namespace for the tests:", err)
		return 1
	}
	return 0
}

func loopbackUp() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

// Node is a runtime with what a node agent has around it.
type Node struct {
	*cri.Client
	// Dir is the node's folder, Logs that of the pods' logs below it.
	Dir, Logs string
	// CgroupParent is where pods' cgroups go.
	CgroupParent string

	config  runtime.Config
	runtime *runtime.Runtime
}

var shared struct {
	sync.Mutex
	node *Node
}

// Start gives the test binary's runtime, started with the first call, with the
// image [Box] in it. It skips the test where no runtime can run.
func Start(t testing.TB) *Node {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.node == nil {
		n, err := start(t)
		if err != nil {
			t.Fatal(err)
		}
		shared.node = n
	}
	return shared.node
}

func start(t testing.TB) (*Node, error) {
	libexec := need(t)
	// Short, as sockets' paths lie below it.
	dir, err := os.MkdirTemp("/tmp", "wcri")
	if err != nil {
		return nil, err
	}
	root := "/whylet-test-" + runtime.ID(dir)
	n := &Node{
		Dir: dir, Logs: filepath.Join(dir, "pod-logs"), CgroupParent: root + "/kubepods",
		config: runtime.Config{
			DataDir: dir, Bridge: "wcri0", PodCIDR: netip.MustParsePrefix("10.88.0.0/24"),
			CgroupRoot: root, Libexec: libexec,
			Log: slog.New(slog.DiscardHandler),
		},
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.up(ctx); err != nil {
		return nil, errors.Join(err, n.purge())
	}
	if err := n.loadBox(ctx); err != nil {
		return nil, errors.Join(err, n.purge())
	}
	return n, nil
}

func (n *Node) up(ctx context.Context) error {
	r, err := runtime.Start(ctx, n.config)
	if err != nil {
		return err
	}
	n.runtime = r
	if n.Client == nil {
		n.Client, err = cri.Dial(ctx, r.Endpoint(), n.config.Log)
	}
	return err
}

// Interrupt ends containerd, runs while with it down, and starts it again.
// Containers go on running.
func (n *Node) Interrupt(t testing.TB, while func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.runtime.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	while()
	if err := n.up(ctx); err != nil {
		t.Fatal(err)
	}
}

// Endpoint is the runtime's CRI endpoint.
func (n *Node) Endpoint() string { return n.runtime.Endpoint() }

// PID is containerd's process.
func (n *Node) PID() int { return n.runtime.PID() }

func stopShared() error {
	shared.Lock()
	defer shared.Unlock()
	if shared.node == nil {
		return nil
	}
	return shared.node.purge()
}

func (n *Node) purge() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var errs []error
	if n.Client != nil {
		errs = append(errs, n.Close())
	}
	if n.runtime != nil {
		errs = append(errs, n.runtime.Stop(ctx))
	}
	return errors.Join(append(errs, runtime.Purge(ctx, n.config), os.RemoveAll(n.Dir))...)
}

// need gives the folder of helper programs, or skips the test.
func need(t testing.TB) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("containerd needs root")
	}
	libexec := filepath.Join(moduleRoot(t), "bin", "libexec")
	missing, err := runtime.MissingHelpers(libexec)
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) > 0 {
		t.Skipf("%s is missing: run make build first", missing[0])
	}
	if _, err := os.Stat(busybox); err != nil {
		t.Skip("busybox-static is not installed: run make deps first")
	}
	return libexec
}

// moduleRoot is the folder of go.mod above the one that the tests run in.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	for ; err == nil && dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("no go.mod above the folder of the test")
	return ""
}
