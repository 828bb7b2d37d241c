package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/test/peer"
)

const namespace = "bench"

// bench is a stack with what was measured on it, over all rounds.
type bench struct {
	*peer.Stack
	*options
	kernel        kernelLog
	calm, pressed seen
	harm          harm
}

func (b *bench) run(ctx context.Context) error {
	if err := b.kernel.open(); err != nil {
		fmt.Fprintln(os.Stderr, "what the kernel kills is not counted:", err)
	}
	defer b.kernel.close()
	if err := b.Namespace(ctx, namespace); err != nil {
		return err
	}
	for i := range b.rounds {
		began := time.Now()
		if err := b.round(ctx, i); err != nil {
			return fmt.Errorf("round %d: %w", i+1, err)
		}
		fmt.Fprintf(os.Stderr, "%s: round %d of %d took %v\n", b.Kind, i+1, b.rounds, time.Since(began).Round(time.Second))
	}
	return nil
}

// round is one calm part and one under pressure, with neighbours of its own.
func (b *bench) round(ctx context.Context, n int) error {
	if err := b.recovered(ctx); err != nil {
		return err
	}
	folder := filepath.Join(b.Dir, "asked", fmt.Sprint(n))
	for i := range neighbours {
		if err := b.neighbour(ctx, i, folder); err != nil {
			return err
		}
	}
	if err := b.until(ctx, "the neighbours are Ready", func(pods []v1.Pod) bool {
		ready := 0
		for i := range pods {
			if isReady(&pods[i]) {
				ready++
			}
		}
		return ready == neighbours
	}); err != nil {
		return err
	}
	if err := b.watch(ctx, &b.calm, folder, func() error { return nil }, func([]v1.Pod) {}); err != nil {
		return err
	}
	b.kernel.kills() // those from before are none of this round's
	began, gone := time.Now(), false
	if err := b.watch(ctx, &b.pressed, folder, func() error { return b.eat(ctx) }, func(pods []v1.Pod) {
		if !gone && b.allEvicted(pods) {
			gone = true
			b.harm.gone = append(b.harm.gone, time.Since(began))
		}
	}); err != nil {
		return err
	}
	if err := b.count(ctx, began); err != nil {
		return err
	}
	return b.remove(ctx)
}

// recovered waits until the node does not call its memory short any more: it would
// take in no pod that asks for none.
func (b *bench) recovered(ctx context.Context) error {
	return poll(ctx, "the node's memory is not short", func() (bool, error) {
		node, err := b.Client.CoreV1().Nodes().Get(ctx, b.Node, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for _, c := range node.Status.Conditions {
			if c.Type == v1.NodeMemoryPressure {
				return c.Status == v1.ConditionFalse, nil
			}
		}
		return false, nil
	})
}

const neighbourPrefix, eaterPrefix = "neighbour-", "eater-"

// neighbour creates a pod that stays within what it asked for, or, every other one,
// asked for nothing.
func (b *bench) neighbour(ctx context.Context, i int, folder string) error {
	name := fmt.Sprint(neighbourPrefix, i)
	if err := os.MkdirAll(filepath.Join(folder, name), 0o777); err != nil {
		return err
	}
	resources := ""
	if i%2 == 0 {
		resources = "\n  resources: {requests: {memory: 48Mi}}"
	}
	return b.create(ctx, name, fmt.Sprintf(`
volumes: [{name: v, hostPath: {path: %s}}]
containers:
- name: c
  image: eater:1
  args: [-serve, ":8080", -log, /v/asked]
  volumeMounts: [{name: v, mountPath: /v}]
  readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
  livenessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}%s
`, filepath.Join(folder, name), resources))
}

// eat creates the eaters, one right after the other.
func (b *bench) eat(ctx context.Context) error {
	for i := range b.eaters {
		if err := b.create(ctx, fmt.Sprint(eaterPrefix, i), fmt.Sprintf(`
containers:
- name: c
  image: eater:1
  args: [-mib, "%d", -rate, "%d"]
  resources: {requests: {memory: 16Mi}}
`, b.mib, b.rate)); err != nil {
			return err
		}
	}
	return nil
}

// create makes a pod of a spec in YAML on the node, with a grace period of a second.
// The scheduler is not asked: a node that is short of memory is what this is about.
func (b *bench) create(ctx context.Context, name, spec string) error {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	if err := yaml.UnmarshalStrict([]byte(spec), &pod.Spec); err != nil {
		return fmt.Errorf("%w in %s", err, spec)
	}
	second, no := int64(1), false
	pod.Spec.NodeName, pod.Spec.TerminationGracePeriodSeconds, pod.Spec.AutomountServiceAccountToken = b.Node, &second, &no
	_, err := b.Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	return err
}

func (b *bench) remove(ctx context.Context) error {
	if err := b.Client.CoreV1().Pods(namespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return err
	}
	return b.until(ctx, "the pods are gone", func(pods []v1.Pod) bool { return len(pods) == 0 })
}

// until asks for all pods until done agrees.
func (b *bench) until(ctx context.Context, what string, done func([]v1.Pod) bool) error {
	return poll(ctx, what, func() (bool, error) {
		list, err := b.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		return err == nil && done(list.Items), err
	})
}

// poll asks until check agrees. An error is a reason to ask again: it is a node
// without memory that answers.
func poll(ctx context.Context, what string, check func() (bool, error)) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 3*time.Minute, true, func(context.Context) (bool, error) {
		ok, err := check()
		last = err
		return ok, nil
	})
	switch {
	case err == nil:
		return nil
	case last != nil:
		return fmt.Errorf("waiting until %s: %w (%w)", what, err, last)
	}
	return fmt.Errorf("waiting until %s: %w", what, err)
}

func isReady(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

func (b *bench) allEvicted(pods []v1.Pod) bool {
	evicted := 0
	for i := range pods {
		if isEater(&pods[i]) && isEvicted(&pods[i]) {
			evicted++
		}
	}
	return evicted == b.eaters
}

func isEvicted(pod *v1.Pod) bool { return pod.Status.Reason == "Evicted" }

func isEater(pod *v1.Pod) bool { return strings.HasPrefix(pod.Name, eaterPrefix) }
