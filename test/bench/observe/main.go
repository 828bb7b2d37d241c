// Command observe measures what the observing agent costs a node that a real kubelet
// runs: its processor time and memory beside pods with probes, what it asks of others,
// and whether pods start later with it than without.
//
//	make bench-observe                            100 pods, two probes each every 10 s
//	make bench-observe OBSERVE="-period 1"        every second
//	make bench-observe OBSERVE="-storm 10m"       pods that end and processes that come and go, as fast as they can
//
// The times of starts are made in turns, with and without the agent. On a machine that
// is busy otherwise they say little: the load is printed with them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"whylet.dev/whylet/test/peer"
)

type bench struct {
	*peer.Stack
	program string
	agent   *exec.Cmd
	log     *os.File
}

func main() {
	pods := flag.Int("pods", 100, "how many pods there are, with two HTTP probes each")
	period := flag.Int("period", 10, "seconds between two attempts of a probe")
	window := flag.Duration("for", time.Minute, "for how long it is measured")
	starts := flag.Int("starts", 20, "how many pods are started with the agent, and as many without")
	stormFor := flag.Duration("storm", 0, "in place of all that: for how long pods end and processes come and go")
	root := flag.String("root", ".", "where bin/ is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := error(nil)
	if *stormFor > 0 {
		err = storm(ctx, *root, *stormFor)
	} else {
		err = run(ctx, *root, *pods, int32(*period), *window, *starts)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "observe:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root string, pods int, period int32, window time.Duration, starts int) (err error) {
	bin, err := peer.FindBinaries(root)
	if err != nil {
		return err
	}
	stack, err := peer.StartKubelet(ctx, bin)
	if err != nil {
		return err
	}
	b := &bench{Stack: stack, program: filepath.Join(bin.Whylet, "whylet-observe")}
	defer func() { err = errors.Join(err, b.end(), stack.Stop()) }()
	if b.log, err = os.Create(filepath.Join(stack.Dir, "logs", "agent.log")); err != nil {
		return err
	}
	defer b.log.Close()
	fmt.Printf("%d pods, two probes each every %d s; load %s\n", pods, period, load())
	if err := b.starts(ctx, starts); err != nil {
		return err
	}
	if err := b.begin(); err != nil {
		return err
	}
	for i := range pods {
		if _, err := b.create(ctx, fmt.Sprintf("many-%d", i), period); err != nil {
			return err
		}
	}
	if err := b.ready(ctx, pods); err != nil {
		return err
	}
	if err := b.measure(ctx, window); err != nil {
		return err
	}
	return b.end()
}

// begin starts the agent, end has it end and shows what it says it asked of others.
func (b *bench) begin() error {
	cmd := b.Command(context.Background(), b.program, "agent", "--kubeconfig", b.Kubeconfig, "--node-name", b.Node,
		"--runtime-endpoint", b.RuntimeEndpoint(), "--data-dir", filepath.Join(b.Dir, "observe"))
	cmd.Stdout, cmd.Stderr = b.log, b.log
	b.agent = cmd
	return cmd.Start()
}

func (b *bench) end() error {
	if b.agent == nil {
		return nil
	}
	defer func() { b.agent = nil }()
	if err := b.agent.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return b.agent.Wait()
}

// create makes a pod, and gives when.
func (b *bench) create(ctx context.Context, name string, period int32) (time.Time, error) {
	probe := &v1.Probe{
		ProbeHandler:  v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80)}},
		PeriodSeconds: period, TimeoutSeconds: 5, FailureThreshold: 30,
	}
	second, no := int64(1), false
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
		Spec: v1.PodSpec{TerminationGracePeriodSeconds: &second, AutomountServiceAccountToken: &no, Containers: []v1.Container{{
			Name: "c", Image: "busybox:1", Command: []string{"sh", "-c", "mkdir /w; echo fine >/w/index.html; exec httpd -f -p 80 -h /w"},
			ReadinessProbe: probe, LivenessProbe: probe,
		}}},
	}
	at := time.Now()
	_, err := b.Client.CoreV1().Pods(metav1.NamespaceDefault).Create(ctx, pod, metav1.CreateOptions{})
	return at, err
}

// ready waits until so many pods are Ready.
func (b *bench) ready(ctx context.Context, n int) error {
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); {
		list, err := b.Client.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		if got := len(slices.DeleteFunc(list.Items, func(p v1.Pod) bool { return !isReady(&p) })); got >= n {
			return nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
	return fmt.Errorf("%d pods were not ready in time", n)
}

func isReady(pod *v1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c v1.PodCondition) bool {
		return c.Type == v1.PodReady && c.Status == v1.ConditionTrue
	})
}

// starts times pods from their creation to Ready by what the API says, in turns with the
// agent and without: five each.
func (b *bench) starts(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	const turn = 5
	took := map[bool][]time.Duration{}
	for i := 0; len(took[true]) < n || len(took[false]) < n; i++ {
		with := i/turn%2 == 1
		if i%turn == 0 {
			if err := b.end(); err != nil {
				return err
			}
			if with {
				if err := b.begin(); err != nil {
					return err
				}
				if err := pause(ctx, 2*time.Second); err != nil {
					return err
				}
			}
		}
		one, err := b.start(ctx, fmt.Sprintf("start-%d", i))
		if err != nil {
			return err
		}
		if i > 0 { // the first brings what is made once, such as the bridge
			took[with] = append(took[with], one)
		}
	}
	for _, with := range []bool{false, true} {
		slices.Sort(took[with])
		at := func(q float64) time.Duration {
			return took[with][int(q*float64(len(took[with])-1))].Round(time.Millisecond)
		}
		fmt.Printf("pod created to Ready, with the agent %v: p50 %v, p99 %v of %d; load %s\n", with, at(0.5), at(0.99), len(took[with]), load())
	}
	return b.end()
}

func (b *bench) start(ctx context.Context, name string) (time.Duration, error) {
	began, err := b.create(ctx, name, 10)
	if err != nil {
		return 0, err
	}
	pods := b.Client.CoreV1().Pods(metav1.NamespaceDefault)
	for deadline := began.Add(3 * time.Minute); ; {
		pod, err := pods.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return 0, err
		}
		if isReady(pod) {
			took := time.Since(began)
			return took, pods.Delete(ctx, name, metav1.DeleteOptions{})
		}
		if time.Now().After(deadline) {
			return 0, fmt.Errorf("pod %s was not ready in time", name)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return 0, err
		}
	}
}

// measure prints what the agent uses over a window, and kubelet and the runtime beside it.
func (b *bench) measure(ctx context.Context, window time.Duration) error {
	if err := pause(ctx, 15*time.Second); err != nil {
		return err
	}
	before, err := b.use()
	if err != nil {
		return err
	}
	if err := pause(ctx, window); err != nil {
		return err
	}
	after, err := b.use()
	if err != nil {
		return err
	}
	for _, name := range []string{"whylet-observe", "kubelet", "containerd"} {
		fmt.Printf("%s: %.1f millicores, %d MiB resident\n", name, 1000*(after[name].CPU-before[name].CPU).Seconds()/window.Seconds(), after[name].RSS>>20)
	}
	if err := b.end(); err != nil {
		return err
	}
	log, err := os.ReadFile(b.log.Name())
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "asked so far") {
			fmt.Print(line)
		}
	}
	return err
}

func (b *bench) use() (map[string]peer.Process, error) {
	all, err := b.Processes()
	named := map[string]peer.Process{}
	for _, p := range all {
		named[p.Name] = p
	}
	return named, err
}

// load is the machine's load average of the last minute.
func load() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known"
	}
	first, _, _ := strings.Cut(string(raw), " ")
	return first
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
