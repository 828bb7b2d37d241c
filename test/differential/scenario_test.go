package differential

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/test/differential/record"
)

// scenario is one pod's life.
type scenario struct {
	name string
	// spec is the pod's spec as YAML. Where it does not say otherwise, the grace
	// period is three seconds: enough for a shell to hear of it on a busy machine.
	spec string
	// steps are done in their order, each once its milestone is reached.
	steps []step
	// until is the milestone after which the recording ends.
	until milestone
	// exact lets the recording end with the milestone itself: for what goes on by
	// itself, at moments that depend on when somebody looks.
	exact bool
	// within bounds the whole scenario, 60 s by default.
	within time.Duration
	// differs are the differences that are meant, beside those in everywhere.
	differs []expected
}

// step is something done to the pod from outside.
type step struct {
	when milestone
	do   func(context.Context, side, *v1.Pod) error
}

// lasting is how long the recording goes on after the last milestone: a second
// for kubelet's poll of the runtime, and some for its other loops.
const lasting = 1800 * time.Millisecond

var tables = [][]scenario{probeScenarios, restartMatrix(), initScenarios, deletionScenarios, hookScenarios, setupScenarios}

func TestScenarios(t *testing.T) {
	names := map[string]bool{}
	for _, table := range tables {
		for _, s := range table {
			if names[s.name] {
				t.Fatalf("there are two scenarios named %s", s.name)
			}
			names[s.name] = true
			t.Run(s.name, func(t *testing.T) {
				if testing.Short() && !inShort(s.name) {
					t.Skip("left out by -short")
				}
				t.Parallel()
				s.run(t)
			})
		}
	}
}

// inShort picks the scenarios that continuous integration runs: those on which
// restarts, readiness and ends turn, where a mistake costs most.
func inShort(name string) bool {
	return slices.ContainsFunc([]string{"probe-live-", "probe-ready-flaps", "restart-onfailure-", "sidecar-", "delete-"},
		func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// run lets both sides live the scenario at the same time, and compares.
func (s scenario) run(t *testing.T) {
	within := s.within
	if within == 0 {
		within = time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var lines [2][]record.Line
	var errs [2]error
	var group sync.WaitGroup
	for i, on := range []side{real, ours} {
		group.Go(func() { lines[i], errs[i] = s.live(ctx, on) })
	}
	group.Wait()
	for i, on := range []side{real, ours} {
		text := render(lines[i])
		if errs[i] != nil {
			t.Errorf("on %s: %v\n%s", on.Kind, errs[i], text)
		} else {
			t.Logf("on %s:\n%s", on.Kind, text)
		}
	}
	if !t.Failed() {
		s.judge(t, record.Compare(lines[0], lines[1]))
	}
}

// live makes the pod on one side, takes it through the steps and reduces what
// was recorded. The lines are those until an error, too.
func (s scenario) live(ctx context.Context, on side) (lines []record.Line, err error) {
	pod, err := s.pod()
	if err != nil {
		return nil, err
	}
	pods := on.Client.CoreV1().Pods(namespace)
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	defer func() {
		now := int64(0)
		cleanUp := context.WithoutCancel(ctx)
		if gone := pods.Delete(cleanUp, s.name, metav1.DeleteOptions{GracePeriodSeconds: &now}); gone != nil && !on.pods.Of(s.name).Deleted && err == nil {
			err = fmt.Errorf("delete the pod: %w", gone)
		}
	}()
	history, err := s.follow(ctx, on)
	events, eventsErr := on.Client.CoreV1().Events(namespace).List(context.WithoutCancel(ctx), metav1.ListOptions{FieldSelector: "involvedObject.name=" + s.name})
	if eventsErr != nil {
		return nil, eventsErr
	}
	return record.Reduce(history, events.Items), err
}

// follow does the steps and waits for the end, and a little longer.
func (s scenario) follow(ctx context.Context, on side) (record.History, error) {
	for i, step := range s.steps {
		reached, err := on.pods.Wait(ctx, s.name, step.when)
		if err != nil {
			return reached, fmt.Errorf("waiting for step %d: %w", i+1, err)
		}
		if err := step.do(ctx, on, reached.Latest()); err != nil {
			return reached, fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	reached, err := on.pods.Wait(ctx, s.name, s.until)
	if err != nil {
		return reached, fmt.Errorf("waiting for the end: %w", err)
	}
	select {
	case <-time.After(lasting):
	case <-ctx.Done():
		return reached, ctx.Err()
	}
	if s.exact {
		return reached, nil
	}
	return on.pods.Of(s.name), nil
}

func (s scenario) pod() (*v1.Pod, error) {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: s.name, Namespace: namespace}}
	if err := yaml.UnmarshalStrict([]byte(s.spec), &pod.Spec); err != nil {
		return nil, fmt.Errorf("%w in\n%s", err, s.spec)
	}
	if pod.Spec.TerminationGracePeriodSeconds == nil {
		three := int64(3)
		pod.Spec.TerminationGracePeriodSeconds = &three
	}
	// A token is one more volume for every pod, and none of them asks the API.
	no := false
	pod.Spec.AutomountServiceAccountToken = &no
	return pod, nil
}

func render(lines []record.Line) string {
	var text strings.Builder
	for _, line := range lines {
		if line.Value != "" {
			fmt.Fprintf(&text, "  %s: %s\n", line.Key, line.Value)
		}
	}
	return text.String()
}
