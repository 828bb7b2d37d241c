package differential

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
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

// late is how long an event may be on its way after a pod's life was recorded.
// Both nodes post theirs one after the other, behind those of all other pods, and
// neither promises when: on a machine with slow disks that is seconds.
const late = 20 * time.Second

// run lets both sides live the scenario at the same time, and compares until
// they agree or every event has had its time.
func (s scenario) run(t *testing.T) {
	within := s.within
	if within == 0 {
		within = time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	var histories [2]record.History
	var errs [2]error
	var group sync.WaitGroup
	sides := []side{real, ours}
	for i, on := range sides {
		defer s.remove(t, on)
		group.Go(func() { histories[i], errs[i] = s.live(ctx, on) })
	}
	group.Wait()
	var lines [2][]record.Line
	var wrong []string
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, late, true, func(context.Context) (bool, error) {
		for i, on := range sides {
			events, err := s.events(t.Context(), on)
			if err != nil {
				return false, err
			}
			lines[i] = record.Reduce(histories[i], events)
		}
		wrong = s.wrong(record.Compare(lines[0], lines[1]))
		return len(wrong) == 0 || errors.Join(errs[:]...) != nil, nil
	})
	if err != nil && !wait.Interrupted(err) {
		t.Errorf("list the events: %v", err)
	}
	for i, on := range sides {
		t.Logf("on %s:\n%s", on.Kind, render(lines[i]))
	}
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	for _, text := range wrong {
		t.Error(text)
	}
}

// live makes the pod on one side and takes it through the steps. The history is
// that until an error, too.
func (s scenario) live(ctx context.Context, on side) (history record.History, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("on %s: %w", on.Kind, err)
		}
	}()
	pod, err := s.pod()
	if err != nil {
		return history, err
	}
	if _, err := on.Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return history, err
	}
	return s.follow(ctx, on)
}

func (s scenario) events(ctx context.Context, on side) ([]v1.Event, error) {
	events, err := on.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=" + s.name})
	if err != nil {
		return nil, err
	}
	return events.Items, nil
}

// remove takes the pod away at once, where the scenario has not.
func (s scenario) remove(t *testing.T, on side) {
	now := int64(0)
	err := on.Client.CoreV1().Pods(namespace).Delete(context.WithoutCancel(t.Context()), s.name, metav1.DeleteOptions{GracePeriodSeconds: &now})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Errorf("delete the pod on %s: %v", on.Kind, err)
	}
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
