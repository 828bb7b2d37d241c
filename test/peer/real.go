package peer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// nodeAddress is the address of the real stack's first node, on a bridge of its network
// namespace; those that join it have the next ones.
const nodeAddress = "198.18.7.1"

// apiService and dnsService are what pods know the API server and the name server by, where
// something programs Services ([Stack.ServeServices]).
const apiService, dnsService = "10.97.0.1", "10.97.0.10"

// real is the real stack while it starts.
type real struct {
	*Stack
	bin  Binaries
	init int // the first process of its process namespace, as this process sees it
	root string
	// runtime is the command line of what runs the containers.
	runtime []string
	// settings are lines of kubelet's configuration beside its own.
	settings  []string
	place     place
	authority authority
	// joined is the stack that this node has joined, nil for the first, which counts those
	// that join.
	joined *real
	joins  int
	// running holds the programs that were started and have not ended.
	running sync.WaitGroup
}

// StartKubelet starts the real stack and loads the test images into it. settings
// are lines that are added to kubelet's configuration, such as Smaller makes.
func StartKubelet(ctx context.Context, bin Binaries, settings ...string) (*Stack, error) {
	s, err := newStack(ctx, "kubelet")
	if err != nil {
		return nil, err
	}
	if bin.Runtime == nil {
		bin.Runtime = ownContainerd{}
	}
	r := &real{Stack: s, bin: bin, root: filepath.Base(s.Dir), settings: settings, place: placeOf(0)}
	s.Node, s.real = "peer", r
	for _, step := range []func(context.Context) error{r.makeRoom, r.writeFiles, r.startAll, r.loadImages} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, errors.New(s.Logs()), s.Stop())
		}
	}
	return s, nil
}

// makeRoom makes the cgroup root, the node's address and the namespaces.
func (r *real) makeRoom(ctx context.Context) error {
	r.onStop(func() error { return removeCgroups(r.root) })
	if err := makeCgroups(r.root); err != nil {
		return err
	}
	r.onStop(func() error { return removeCgroups(r.own()) })
	if err := makeCgroups(r.own()); err != nil {
		return err
	}
	if err := r.wire(ctx); err != nil {
		return err
	}
	return r.startInit()
}

// ownPlaces are folders that the stack's programs use wherever their
// configuration points; in its mount namespace they are its own.
var ownPlaces = []string{"/var/lib/cni", "/var/lib/kubelet", "/var/log", "/run/containerd", "/run/netns"}

// startInit starts the first process of a process and a mount namespace: it
// lays the stack's own folders over the machine's, and then only reaps.
func (r *real) startInit() error {
	script := []string{"set -e"}
	for _, place := range ownPlaces {
		own := filepath.Join(r.Dir, "own", strings.ReplaceAll(place, "/", "_"))
		for _, dir := range []string{own, place} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		script = append(script, "mount --bind "+own+" "+place)
	}
	ready := filepath.Join(r.Dir, "init-ready")
	script = append(script, "touch "+ready, "exec "+filepath.Join(r.bin.Whylet, "libexec", "pause"))
	cmd := exec.Command("nsenter", "--net="+r.Netns,
		"unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "sh", "-c", strings.Join(script, "\n"))
	if err := r.launch("init", cmd); err != nil {
		return err
	}
	r.onStop(func() error { return r.endInit(cmd) })
	return waitFor(10*time.Second, "the namespaces", func() error {
		if _, err := os.Stat(ready); err != nil {
			return err
		}
		children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", cmd.Process.Pid, cmd.Process.Pid))
		if err != nil {
			return err
		}
		r.init, err = strconv.Atoi(strings.TrimSpace(string(children)))
		return err
	})
}

// endInit kills the namespace's first process, and with it all the others.
func (r *real) endInit(unshare *exec.Cmd) error {
	if err := unshare.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	r.running.Wait()
	return waitFor(30*time.Second, "the end of the real stack's processes", func() error {
		left, err := r.Processes()
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d are left, one is %s", len(left), left[0].Name)
		}
		return err
	})
}

// start runs one of the stack's programs in its namespaces.
func (r *real) start(name string, args ...string) error {
	return r.launch(name, r.command(name, args...))
}

func (r *real) command(name string, args ...string) *exec.Cmd {
	path := filepath.Join(r.bin.Peer, name)
	if name == "kubelet" {
		path = cmp.Or(r.bin.Kubelet, path)
	}
	cmd := r.program(path, args...)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(r.bin.Whylet, "libexec")+":"+os.Getenv("PATH"))
	return cmd
}

// program prepares any program to run in the stack's namespaces.
func (r *real) program(path string, args ...string) *exec.Cmd {
	enter := []string{"--target", strconv.Itoa(r.init), "--net", "--mount", "--pid", path}
	return exec.Command("nsenter", append(enter, args...)...)
}

// own is the cgroup of kubelet itself, as systemd gives each service one.
func (r *real) own() string { return r.root + "-kubelet" }

// intoOwn has a program begin in kubelet's own version 2 cgroup. done is to be called
// once it was started.
func (r *real) intoOwn(cmd *exec.Cmd) (done func() error, err error) {
	trees, err := hierarchies()
	if err != nil {
		return nil, err
	}
	for _, tree := range trees {
		if _, err := os.Stat(filepath.Join(tree, "cgroup.controllers")); err != nil {
			continue
		}
		dir, err := os.Open(filepath.Join(tree, r.own()))
		if err != nil {
			return nil, err
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
		return dir.Close, nil
	}
	return func() error { return nil }, nil
}

// launch starts a process with its output in the stack's logs and reaps it.
func (r *real) launch(name string, cmd *exec.Cmd) error {
	// One that is started again goes on in its log.
	file, err := os.OpenFile(filepath.Join(r.Dir, "logs", name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	cmd.Stdout, cmd.Stderr = file, file
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	r.running.Go(func() {
		// Every end is that of the namespace; an earlier one shows as a stack that
		// does not become Ready, with the program's log.
		_ = cmd.Wait()
	})
	return nil
}

// startAll starts the programs in the order of their needs.
func (r *real) startAll(ctx context.Context) error {
	began := time.Now()
	in := func(file string) string { return filepath.Join(r.Dir, file) }
	if err := errors.Join(
		r.start("etcd", "-data-dir", in("etcd"), "-unsafe-no-fsync"),
		r.startRuntime(),
		r.start("kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--secure-port=6443",
			"--tls-cert-file="+in("apiserver.crt"), "--tls-private-key-file="+in("apiserver.key"), "--client-ca-file="+in("ca.crt"), "--token-auth-file="+in("tokens.csv"), "--authorization-mode=Node,RBAC", "--allow-privileged",
			"--service-cluster-ip-range=10.97.0.0/16", "--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file="+in("sa.key"), "--service-account-signing-key-file="+in("sa.key"),
			"--kubelet-client-certificate="+in("kubelet-client.crt"), "--kubelet-client-key="+in("kubelet-client.key"),
			"--advertise-address="+nodeAddress, "--kubelet-preferred-address-types=InternalIP"),
		r.connect(),
	); err != nil {
		return err
	}
	if err := r.waitAPI(ctx); err != nil {
		return err
	}
	if err := errors.Join(r.start("kube-scheduler", "--kubeconfig="+r.Kubeconfig, "--leader-elect=false"), r.startKubelet(), r.waitHealthy(ctx)); err != nil {
		return err
	}
	if err := errors.Join(
		r.start("kube-controller-manager", "--kubeconfig="+r.Kubeconfig, "--leader-elect=false",
			"--service-account-private-key-file="+in("sa.key"), "--use-service-account-credentials=false",
			"--root-ca-file="+in("ca.crt")),
		r.waitReady(ctx),
	); err != nil {
		return err
	}
	r.ToReady = time.Since(began)
	return nil
}

// socket is where the container runtime listens.
func (r *real) socket() string { return filepath.Join(r.Dir, "runtime.sock") }

func (r *real) startRuntime() error {
	cmd := r.program(r.runtime[0], r.runtime[1:]...)
	// It finds its own programs beside itself first.
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(r.runtime[0])+":"+filepath.Join(r.bin.Whylet, "libexec")+":"+os.Getenv("PATH"))
	return r.launch("runtime", cmd)
}

// waitRuntime waits until the container runtime takes connections.
func (r *real) waitRuntime() error {
	return waitFor(20*time.Second, "the container runtime", func() error {
		conn, err := net.Dial("unix", r.socket())
		if err == nil {
			err = conn.Close()
		}
		return err
	})
}

func (r *real) startKubelet() error {
	in := func(file string) string { return filepath.Join(r.Dir, file) }
	cmd := r.command("kubelet", "--config="+in("kubelet.yaml"), "--kubeconfig="+r.Kubeconfig, "--root-dir="+in("kubelet"),
		"--cert-dir="+in("kubelet-certs"), "--hostname-override="+r.Node, "--node-ip="+r.place.address)
	done, err := r.intoOwn(cmd)
	if err != nil {
		return err
	}
	return errors.Join(r.launch("kubelet", cmd), done())
}

func (r *real) waitAPI(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := r.Client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceDefault, metav1.GetOptions{})
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the API server of the real stack does not answer: %w", err)
	}
	return nil
}

// waitHealthy waits until the API server calls itself healthy: kube-controller-manager ends where
// that takes ten seconds longer, as on a busy machine it may.
func (r *real) waitHealthy(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		last = r.Client.Discovery().RESTClient().Get().AbsPath("/healthz").Do(ctx).Error()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("the API server of the real stack is not healthy: %w: %w", err, last)
	}
	return nil
}

// loadImages waits for the container runtime and loads the test images.
func (r *real) loadImages(ctx context.Context) error {
	images, err := imageArchives(r.bin)
	if err != nil {
		return err
	}
	pause := filepath.Join(r.Dir, "pause.tar")
	if err := writePauseImage(filepath.Join(r.bin.Whylet, "libexec", "pause"), pause); err != nil {
		return err
	}
	if err := r.waitRuntime(); err != nil {
		return err
	}
	return r.bin.Runtime.load(ctx, r, append(images, pause))
}

// importImages loads archives into a containerd by its own client.
func (r *real) importImages(ctx context.Context, client string, archives []string, flags ...string) error {
	for _, image := range archives {
		args := []string{"--target", strconv.Itoa(r.init), "--mount", client, "--address", r.socket(), "--namespace", "k8s.io", "images", "import"}
		if err := run(ctx, "nsenter", append(append(args, flags...), image)...); err != nil {
			return err
		}
	}
	return nil
}

// waitFor asks until check agrees; the last error says what was missing.
func waitFor(within time.Duration, what string, check func() error) error {
	deadline := time.Now().Add(within)
	for {
		err := check()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %v: %w", what, within, err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
