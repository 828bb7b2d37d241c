package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// node is a running Whylet node in a network namespace.
type node struct {
	netns, dir, kubeconfig string
	// env is what its programs have in their environment besides.
	env []string
	// holder is a process in whose root directory it runs, which has no program but whylet;
	// 0: in this machine's.
	holder int
}

// shared is the node that most tests use.
var shared *node

func TestMain(m *testing.M) {
	if root := os.Getenv(rootVariable); root != "" {
		if err := enterRoot(root); err != nil {
			fmt.Fprintln(os.Stderr, "e2e: a root of its own:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Geteuid() != 0 {
		fmt.Println("SKIP: the end-to-end tests run real containers and need root: sudo make test-e2e")
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	n, err := newNode(ctx, "e2e")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e: the node did not start:", err)
		return 1
	}
	shared = n
	code := m.Run()
	if os.Getenv("WHYLET_E2E_KEEP") != "" {
		fmt.Printf("the node is kept: nsenter --net=/run/netns/%s env KUBECONFIG=%s %s get pods -A\n", n.netns, n.kubeconfig, bin("kubectl"))
		return code
	}
	if err := n.purge(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: clean-up:", err)
		return 1
	}
	return code
}

// more skips a test that is not part of make test, unless WHYLET_E2E_MORE is set.
func more(t *testing.T) {
	t.Helper()
	if os.Getenv("WHYLET_E2E_MORE") == "" {
		t.Skip("make test-e2e-more runs it")
	}
}

// bin is the path of a built program.
func bin(name string) string {
	dir := os.Getenv("WHYLET_E2E_BIN")
	if dir == "" {
		dir = filepath.Join("..", "..", "bin")
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		panic(err)
	}
	return path
}

// newSite makes a network namespace and a folder, and starts nothing in them.
func newSite(ctx context.Context, name string) (*node, error) {
	dir, err := os.MkdirTemp("", "whylet-"+name+"-")
	if err != nil {
		return nil, err
	}
	// Pods with users of their own must be able to pass.
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, err
	}
	n := &node{netns: filepath.Base(dir), dir: dir, kubeconfig: filepath.Join(dir, "kubeconfig")}
	return n, n.makeNetNS(ctx)
}

// makeNetNS makes the node's network namespace, with nothing in it but loopback.
func (n *node) makeNetNS(ctx context.Context) error {
	for _, args := range [][]string{{"netns", "add", n.netns}, {"-n", n.netns, "link", "set", "lo", "up"}} {
		if out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
		}
	}
	return nil
}

// newNode starts a node in a namespace of its own and loads the test images.
func newNode(ctx context.Context, name string, flags ...string) (*node, error) {
	n, err := newSite(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := n.up(ctx, flags...); err != nil {
		return nil, errors.Join(err, n.purge())
	}
	if err := n.loadImages(ctx); err != nil {
		return nil, errors.Join(err, n.purge())
	}
	return n, nil
}

func (n *node) loadImages(ctx context.Context) error {
	images, err := filepath.Glob(bin("images/*.tar"))
	if err != nil || len(images) == 0 {
		return fmt.Errorf("no images in %s: run 'make images'", bin("images"))
	}
	args := append([]string{"image", "load", "--data-dir", n.data()}, images...)
	if out, err := n.command(ctx, bin("whylet"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("whylet image load: %w: %s", err, out)
	}
	return nil
}

// bareNode gives a test the place for a node, and takes away what it started there.
func bareNode(t *testing.T) *node {
	t.Helper()
	n, err := newSite(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.purge(); err != nil {
			t.Errorf("clean-up: %v", err)
		}
	})
	return n
}

// whylet runs the command and returns all that it printed, and its exit code.
func (n *node) whylet(t *testing.T, args ...string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := n.command(ctx, bin("whylet"), args...).CombinedOutput()
	if err == nil {
		return string(out), 0
	}
	return string(out), exitCode(err)
}

// startNode gives a test a node of its own.
func startNode(t *testing.T, flags ...string) *node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	n, err := newNode(ctx, "test", flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("node log:\n%s", n.logTail())
		}
		if err := n.purge(); err != nil {
			t.Errorf("clean-up: %v", err)
		}
	})
	return n
}

func (n *node) data() string { return filepath.Join(n.dir, "data") }

// evictForMemory keeps a node from evicting pods for lack of disk: how full the disk of the
// machine is, is not a test's subject.
const evictForMemory = "--eviction-hard=memory.available<100Mi"

// up starts the node and waits until it is Ready. Flags win over evictForMemory.
func (n *node) up(ctx context.Context, flags ...string) error {
	args := append([]string{"up", "--detach", "--data-dir", n.data(), "--kubeconfig", n.kubeconfig, evictForMemory}, flags...)
	if out, err := n.command(ctx, bin("whylet"), args...).CombinedOutput(); err != nil {
		return fmt.Errorf("whylet up: %w\n%s\n%s", err, out, n.logTail())
	}
	return nil
}

// purge takes everything away, and says what was left over.
func (n *node) purge() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var errs []error
	if out, err := n.command(ctx, bin("whylet"), "down", "--purge", "--data-dir", n.data()).CombinedOutput(); err != nil {
		errs = append(errs, fmt.Errorf("whylet down --purge: %w: %s", err, out))
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err == nil && bytes.Contains(mounts, []byte(n.dir)) {
		errs = append(errs, fmt.Errorf("mounts below %s are left over", n.dir))
	}
	if out, err := exec.CommandContext(ctx, "ip", "netns", "del", n.netns).CombinedOutput(); err != nil {
		errs = append(errs, fmt.Errorf("ip netns del: %w: %s", err, out))
	}
	return errors.Join(append(errs, os.RemoveAll(n.dir))...)
}

// command runs a program in the node's network namespace. (`ip netns exec` would
// also hide /sys/fs/cgroup.)
func (n *node) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	all := []string{"--net=/run/netns/" + n.netns}
	if n.holder != 0 {
		all = append(all, fmt.Sprintf("--mount=/proc/%d/ns/mnt", n.holder))
		if program == bin("kubectl") {
			args = append([]string{"kubectl"}, args...)
		}
		program = "/whylet"
	}
	all = append(append(all, program), args...)
	cmd := exec.CommandContext(ctx, "nsenter", all...)
	cmd.Env = append(append(os.Environ(), "KUBECONFIG="+n.kubeconfig), n.env...)
	return cmd
}

func (n *node) logTail() string {
	var all strings.Builder
	files, _ := filepath.Glob(filepath.Join(n.data(), "logs", "*.log"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if len(data) > 4000 {
			data = data[len(data)-4000:]
		}
		fmt.Fprintf(&all, "--- %s\n%s\n", file, data)
	}
	return all.String()
}
