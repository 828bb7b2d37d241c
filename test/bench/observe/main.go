// Command observe measures what the observing agent costs a node that a real kubelet
// runs: its processor time and memory beside pods with probes, what it asks of others,
// and whether pods start later with it than without.
//
//	make bench-observe                            100 pods, two probes each every 10 s
//	make bench-observe OBSERVE="-period 1"        every second
//	make bench-observe OBSERVE="-agents bin/whylet-observe,/tmp/before -turns 3"
//	                                              two builds in turns, beside the same pods
//	make bench-observe OBSERVE="-pods 0 -starts 100"    only whether pods start later
//	make bench-observe OBSERVE="-storm 10m"       pods that end and processes that come and go, as fast as they can
//
// The times of starts are made in turns, with and without the agent. On a machine that
// is busy otherwise they say little: the load is printed with them.
//
//	main.go    what is measured, and the pods
//	cost.go    what the agent uses
//	starts.go  how long pods take to start
//	storm.go   what it survives
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
	agent *exec.Cmd
	log   *os.File
}

// namespace is that of all pods here.
const namespace = "bench"

// options are the flags.
type options struct {
	pods, period, starts, turns int
	window, settle, storm       time.Duration
	root, agents                string
}

// programs are the agents that are measured.
func (o options) programs() []string { return strings.Split(o.agents, ",") }

func main() {
	var o options
	flag.IntVar(&o.pods, "pods", 100, "how many pods there are, with two HTTP probes each; 0: only starts are measured")
	flag.IntVar(&o.period, "period", 10, "seconds between two attempts of a probe")
	flag.DurationVar(&o.window, "for", time.Minute, "for how long it is measured")
	flag.DurationVar(&o.settle, "settle", time.Minute, "how long after the last pod is ready, or the agent began, that is")
	flag.IntVar(&o.starts, "starts", 60, "how many pods are started with the agent, and as many without")
	flag.IntVar(&o.turns, "turns", 1, "how often each agent is measured, in turns")
	flag.DurationVar(&o.storm, "storm", 0, "in place of all that: for how long pods end and processes come and go")
	flag.StringVar(&o.root, "root", ".", "where bin/ is")
	flag.StringVar(&o.agents, "agents", "bin/whylet-observe", "the agents, separated by commas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	play := run
	if o.storm > 0 {
		play = storm
	}
	err := play(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "observe:", err)
		os.Exit(1)
	}
}

// open starts the real stack.
func open(ctx context.Context, o options, settings ...string) (*bench, error) {
	bin, err := peer.FindBinaries(o.root)
	if err != nil {
		return nil, err
	}
	stack, err := peer.StartKubelet(ctx, bin, settings...)
	if err != nil {
		return nil, err
	}
	b := &bench{Stack: stack}
	if err := b.Namespace(ctx, namespace); err != nil {
		return nil, errors.Join(err, stack.Stop())
	}
	if b.log, err = os.Create(filepath.Join(stack.Dir, "logs", "agent.log")); err != nil {
		return nil, errors.Join(err, stack.Stop())
	}
	return b, nil
}

func (b *bench) close() error { return errors.Join(b.end(), b.log.Close(), b.Stop()) }

func run(ctx context.Context, o options) (err error) {
	b, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	if err := b.starts(ctx, o); err != nil || o.pods == 0 {
		return err
	}
	fmt.Printf("%d pods, two probes each every %d s; load %s\n", o.pods, o.period, load())
	if err := b.begin(o.programs()[0]); err != nil { // it sees them come
		return err
	}
	for i := range o.pods {
		if _, err := b.create(ctx, fmt.Sprintf("many-%d", i), int32(o.period)); err != nil {
			return err
		}
	}
	if err := b.ready(ctx, o.pods); err != nil {
		return err
	}
	return b.costs(ctx, o)
}

// begin starts the agent, end has it end and shows what it says it asked of others.
func (b *bench) begin(program string) error {
	program, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	cmd := b.Command(context.Background(), program, "agent", "--kubeconfig", b.Kubeconfig, "--node-name", b.Node,
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

// create makes a pod with two probes of that period in seconds, or with none, and gives when.
func (b *bench) create(ctx context.Context, name string, period int32) (time.Time, error) {
	var probe *v1.Probe
	if period > 0 {
		probe = &v1.Probe{
			ProbeHandler:  v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80)}},
			PeriodSeconds: period, TimeoutSeconds: 5, FailureThreshold: 30,
		}
	}
	second, no := int64(1), false
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: v1.PodSpec{TerminationGracePeriodSeconds: &second, AutomountServiceAccountToken: &no, Containers: []v1.Container{{
			Name: "c", Image: "busybox:1", Command: []string{"sh", "-c", "mkdir /w; echo fine >/w/index.html; exec httpd -f -p 80 -h /w"},
			ReadinessProbe: probe, LivenessProbe: probe,
		}}},
	}
	at := time.Now()
	_, err := b.Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	return at, err
}

// ready waits until so many pods are Ready.
func (b *bench) ready(ctx context.Context, n int) error {
	for deadline := time.Now().Add(10 * time.Minute); time.Now().Before(deadline); {
		list, err := b.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
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
