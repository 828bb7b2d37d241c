package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// space is a Kubernetes namespace of one test on a node.
type space struct {
	t    *testing.T
	node *node
	name string
}

// spaces are how many namespaces of a name were made on a node: a test that runs again (-count)
// does so before the one that it had is gone.
var spaces sync.Map

// newSpace makes a namespace, deletes it at the end, and shows what is in it
// when the test failed.
func newSpace(t *testing.T, n *node) *space {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	if len(name) > 50 {
		name = name[:50]
	}
	s := &space{t: t, node: n, name: strings.Trim(name, "-")}
	made, _ := spaces.LoadOrStore(space{node: n, name: s.name}, new(atomic.Int32))
	if again := made.(*atomic.Int32).Add(1); again > 1 {
		s.name = fmt.Sprintf("%s-%d", s.name, again)
	}
	s.mustKubectl("create", "namespace", s.name)
	s.eventually(time.Minute, "default service account", func() error {
		_, err := s.kubectl("get", "serviceaccount", "default")
		return err
	})
	t.Cleanup(func() {
		if t.Failed() {
			for _, args := range [][]string{{"get", "pods", "-o", "wide"}, {"describe", "pods"}, {"get", "events", "--sort-by=.lastTimestamp"}} {
				out, _ := s.kubectlIn(context.Background(), "", args...)
				t.Logf("kubectl %s:\n%s", strings.Join(args, " "), out)
			}
		}
		if out, err := s.kubectlIn(context.Background(), "", "delete", "namespace", s.name, "--wait=false"); err != nil {
			t.Errorf("delete namespace: %v: %s", err, out)
		}
	})
	return s
}

// kubectl runs the real kubectl in the test's namespace and returns its output.
func (s *space) kubectl(args ...string) (string, error) {
	return s.kubectlIn(s.t.Context(), "", args...)
}

func (s *space) kubectlIn(ctx context.Context, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := s.node.command(ctx, bin("kubectl"), append([]string{"-n", s.name}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, errOut.String())
	}
	return out.String(), nil
}

func (s *space) mustKubectl(args ...string) string {
	s.t.Helper()
	out, err := s.kubectl(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// apply applies a manifest.
func (s *space) apply(manifest string) {
	s.t.Helper()
	if _, err := s.kubectlIn(s.t.Context(), manifest, "apply", "-f", "-"); err != nil {
		s.t.Fatal(err)
	}
}

// eventually waits until check succeeds; the last error says what was missing.
func (s *space) eventually(within time.Duration, what string, check func() error) {
	s.t.Helper()
	deadline := time.Now().Add(within)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: not within %v: %v", what, within, err)
		}
		select {
		case <-tick.C:
		case <-s.t.Context().Done():
			s.t.Fatalf("%s: %v: %v", what, s.t.Context().Err(), err)
		}
	}
}

// pod reads a pod.
func (s *space) pod(name string) (*v1.Pod, error) {
	out, err := s.kubectl("get", "pod", name, "-o", "json")
	if err != nil {
		return nil, err
	}
	pod := &v1.Pod{}
	return pod, json.Unmarshal([]byte(out), pod)
}

// waitPod waits until a pod is as wanted, and returns it.
func (s *space) waitPod(name string, within time.Duration, what string, wanted func(*v1.Pod) bool) *v1.Pod {
	s.t.Helper()
	var pod *v1.Pod
	s.eventually(within, "pod "+name+" "+what, func() error {
		var err error
		if pod, err = s.pod(name); err != nil {
			return err
		}
		if !wanted(pod) {
			status, _ := json.Marshal(pod.Status)
			return fmt.Errorf("its status is %s", status)
		}
		return nil
	})
	return pod
}

func (s *space) waitReady(name string) *v1.Pod {
	s.t.Helper()
	return s.waitPod(name, 2*time.Minute, "Ready", isReady)
}

func isReady(pod *v1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1.PodReady {
			return c.Status == v1.ConditionTrue
		}
	}
	return false
}

// status finds the status of a container.
func status(pod *v1.Pod, name string) v1.ContainerStatus {
	for _, set := range [][]v1.ContainerStatus{pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		for _, c := range set {
			if c.Name == name {
				return c
			}
		}
	}
	return v1.ContainerStatus{}
}

// exec runs a command in a container, through kubectl.
func (s *space) exec(pod string, command ...string) (string, error) {
	return s.kubectl(append([]string{"exec", pod, "--"}, command...)...)
}

// contains fails unless text has every part.
func contains(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}

// exitCode is the exit code behind an error of exec.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}
