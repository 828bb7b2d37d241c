package peer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Binaries says where the built programs are.
type Binaries struct {
	// Whylet is the folder of `make build` and `make images`: whylet, libexec, images.
	Whylet string
	// Peer is the folder of `make peer`: kubelet, kube-apiserver and so on.
	Peer string
	// Kubelet is the real stack's kubelet; by default Peer's. Another version than the control plane's
	// runs beside it as far as Kubernetes' version skew policy goes.
	Kubelet string
	// Images is the folder of the image archives that are loaded; by default Whylet/images.
	Images string
	// Runtime is what runs the real stack's containers; by default Peer's containerd.
	Runtime Runtime
}

// FindBinaries reads WHYLET_E2E_BIN and WHYLET_PEER_BIN, by default bin and
// bin/peer below root, the module's folder, and WHYLET_KUBELET, a kubelet to run in place of the peer's.
func FindBinaries(root string) (Binaries, error) {
	find := func(variable, fallback, need, target string) (string, error) {
		dir := os.Getenv(variable)
		if dir == "" {
			dir = filepath.Join(root, fallback)
		}
		dir, err := filepath.Abs(dir)
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(filepath.Join(dir, need)); err != nil {
			return "", fmt.Errorf("%w: run '%s', or say in %s where it is", err, target, variable)
		}
		return dir, nil
	}
	ours, err := find("WHYLET_E2E_BIN", "bin", "whylet", "make build images")
	if err != nil {
		return Binaries{}, err
	}
	real, err := find("WHYLET_PEER_BIN", filepath.Join("bin", "peer"), "kubelet", "make peer")
	return Binaries{Whylet: ours, Peer: real, Kubelet: os.Getenv("WHYLET_KUBELET")}, err
}

// Stack is a running cluster of one node.
type Stack struct {
	// Kind is "kubelet" for the real stack and "whylet" for ours.
	Kind string
	// Node is the name of its one node.
	Node string
	// Dir holds all of its state; Stop removes it.
	Dir string
	// Netns is the path of its network namespace.
	Netns string
	// Kubeconfig works inside of the namespace, as a cluster administrator.
	Kubeconfig string
	// Config and Client work from this process: they dial inside the namespace.
	Config *rest.Config
	Client kubernetes.Interface
	// ToReady is the time from the first process to the node's Ready condition.
	ToReady time.Duration

	closers []func() error
	real    *real  // nil for ours
	program string // the whylet that runs ours, and its command and flags
	flags   []string
}

// newStack makes the folder and the network namespace.
func newStack(ctx context.Context, kind string) (*Stack, error) {
	dir, err := os.MkdirTemp("", "peer-"+kind+"-")
	if err != nil {
		return nil, err
	}
	name := filepath.Base(dir)
	s := &Stack{Kind: kind, Dir: dir, Netns: "/run/netns/" + name, Kubeconfig: filepath.Join(dir, "kubeconfig")}
	s.onStop(func() error { return os.RemoveAll(dir) })
	// Who is root in a user namespace of its own must find its root file system.
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o755); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	if err := run(ctx, "ip", "netns", "add", name); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	s.onStop(func() error { return run(context.Background(), "ip", "netns", "del", name) })
	if err := run(ctx, "ip", "-n", name, "link", "set", "lo", "up"); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// onStop adds a part of the clean-up; the parts run in reverse order.
func (s *Stack) onStop(f func() error) { s.closers = append(s.closers, f) }

// Stop ends the stack and takes away everything that it made. It goes on after
// errors and returns all of them. A second call does nothing.
func (s *Stack) Stop() error {
	var errs []error
	for _, f := range slices.Backward(s.closers) {
		errs = append(errs, f())
	}
	s.closers = nil
	if left, err := os.ReadFile("/proc/mounts"); err == nil && strings.Contains(string(left), s.Dir+"/") {
		errs = append(errs, fmt.Errorf("mounts below %s are left over", s.Dir))
	}
	return errors.Join(errs...)
}

// connect makes the client from the kubeconfig.
func (s *Stack) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	if err != nil {
		return err
	}
	config.Dial = dialer{netns: s.Netns}.dial
	config.QPS, config.Burst = 500, 1000
	s.Config = config
	s.Client, err = kubernetes.NewForConfig(config)
	return err
}

// waitReady waits until the node is Ready, and sets its name where it has none.
func (s *Stack) waitReady(ctx context.Context) error {
	var last error
	own := metav1.ListOptions{} // all that a node may read is itself
	if s.Node != "" {
		own.FieldSelector = "metadata.name=" + s.Node
	}
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		nodes, err := s.Client.CoreV1().Nodes().List(ctx, own)
		if err != nil || len(nodes.Items) == 0 {
			last = err
			return false, nil
		}
		s.Node = nodes.Items[0].Name
		for _, c := range nodes.Items[0].Status.Conditions {
			if c.Type == v1.NodeReady {
				last = errors.New(c.Message)
				return c.Status == v1.ConditionTrue, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("the node of %s is not Ready: %w: %w", s.Kind, err, last)
	}
	return nil
}

// Namespace makes a namespace and waits for its default service account,
// without which no pod is let in.
func (s *Stack) Namespace(ctx context.Context, name string) error {
	namespace := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.Client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := s.Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
}

// Command prepares a program that runs in the stack's network namespace. (`ip
// netns exec` would also hide /sys/fs/cgroup.)
func (s *Stack) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + s.Netns, program}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig)
	return cmd
}

// Inside prepares a program that runs in all of the real stack's namespaces, as its
// own programs do: there it sees kubelet's files, and the pids that the runtime tells.
func (s *Stack) Inside(ctx context.Context, program string, args ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(s.real.init), "--net", "--mount", "--pid", program}
	cmd := exec.CommandContext(ctx, "nsenter", append(enter, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.Kubeconfig)
	return cmd
}

// RuntimeEndpoint is where the real stack's container runtime listens.
func (s *Stack) RuntimeEndpoint() string { return "unix://" + s.real.socket() }

// Load loads archives of images into the real stack.
func (s *Stack) Load(ctx context.Context, archives ...string) error {
	return s.real.bin.Runtime.load(ctx, s.real, archives)
}

// RestartKubelet kills the real kubelet as a crash would, starts it again, and waits
// until it says that it is healthy.
func (s *Stack) RestartKubelet(ctx context.Context) error {
	if err := errors.Join(s.kill("kubelet"), s.real.startKubelet()); err != nil {
		return err
	}
	return waitFor(time.Minute, "kubelet", func() error {
		conn, err := dialer{netns: s.Netns}.dial(ctx, "tcp", "127.0.0.1:10248") // its healthz port
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}

// RestartRuntime kills the container runtime as a crash would, starts it again, and waits until
// it takes connections. Containers go on meanwhile.
func (s *Stack) RestartRuntime() error {
	if err := errors.Join(s.kill(filepath.Base(s.real.runtime[0])), s.real.startRuntime()); err != nil {
		return err
	}
	return s.real.waitRuntime()
}

// kill ends a program of the stack's.
func (s *Stack) kill(name string) error {
	all, err := s.Processes()
	if err != nil {
		return err
	}
	for _, p := range all {
		if p.Name == name {
			if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
				return fmt.Errorf("kill %s: %w", name, err)
			}
		}
	}
	return nil
}

// Logs is the end of each of the stack's log files.
func (s *Stack) Logs() string {
	var all strings.Builder
	for _, pattern := range []string{"logs/*.log", "data/logs/*.log"} {
		files, _ := filepath.Glob(filepath.Join(s.Dir, pattern))
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			fmt.Fprintf(&all, "--- %s\n%s\n", file, data[max(0, len(data)-4000):])
		}
	}
	return all.String()
}

func run(ctx context.Context, program string, args ...string) error {
	if out, err := exec.CommandContext(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, out)
	}
	return nil
}
