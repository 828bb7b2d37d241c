package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Rules for exit codes at the container: one code starts it again under Never,
// another ends it under Always.
func TestContainerRestartRules(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: rules}
spec:
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
  - name: again
    image: busybox:1
    command: [sh, -c, "if [ -e /keep/ran ]; then exit 0; fi; touch /keep/ran; exit 42"]
    restartPolicy: Never
    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
    volumeMounts: [{name: keep, mountPath: /keep}]
  - name: once
    image: busybox:1
    command: [sh, -c, "exit 3"]
    restartPolicy: Never
    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]
  volumes: [{name: keep, emptyDir: {}}]
`)
	pod := s.waitPod("rules", 40*time.Second, "ended", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	if c := status(pod, "again"); c.RestartCount != 1 || c.State.Terminated == nil || c.State.Terminated.ExitCode != 0 {
		t.Errorf("the one with a rule: %+v", c)
	}
	if c := status(pod, "once"); c.RestartCount != 0 || c.State.Terminated == nil || c.State.Terminated.ExitCode != 3 {
		t.Errorf("the one without: %+v", c)
	}
}

// All containers ready is not enough while a gate is closed.
func TestReadinessGate(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: gated, labels: {app: gated}}
spec:
  terminationGracePeriodSeconds: 1
  readinessGates: [{conditionType: example.org/open}]
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
---
apiVersion: v1
kind: Service
metadata: {name: gated}
spec: {selector: {app: gated}, ports: [{port: 80}]}
`)
	pod := s.waitPod("gated", 30*time.Second, "has ready containers", func(p *v1.Pod) bool {
		return condition(p, v1.ContainersReady).Status == v1.ConditionTrue
	})
	ready := condition(pod, v1.PodReady)
	if ready.Status != v1.ConditionFalse || ready.Reason != "ReadinessGatesNotReady" ||
		ready.Message != `corresponding condition of pod readiness gate "example.org/open" does not exist.` {
		t.Errorf("Ready is %+v", ready)
	}
	addresses := func() string {
		return s.mustKubectl("get", "endpoints", "gated", "-o", "jsonpath={.subsets[*].addresses[*].ip}")
	}
	if out := addresses(); out != "" {
		t.Errorf("the Service has the address %s", out)
	}
	s.mustKubectl("patch", "pod", "gated", "--subresource=status", "-p", `{"status":{"conditions":[{"type":"example.org/open","status":"True"}]}}`)
	pod = s.waitReady("gated")
	s.eventually(20*time.Second, "the Service has the address", func() error {
		if out := addresses(); out != pod.Status.PodIP {
			return fmt.Errorf("it has %q", out)
		}
		return nil
	})
}

// A pod that is active for too long is ended and says so.
func TestActiveDeadline(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: slow}
spec:
  activeDeadlineSeconds: 3
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
`)
	pod := s.waitPod("slow", 30*time.Second, "Failed", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	if pod.Status.Reason != "DeadlineExceeded" || pod.Status.Message != "Pod was active on the node longer than the specified deadline" {
		t.Errorf("reason %q, message %q", pod.Status.Reason, pod.Status.Message)
	}
}

// The last words of a container are in its status: from its file, or from the end
// of its log when it failed and asked for that.
func TestTerminationMessage(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: words}
spec:
  restartPolicy: Never
  containers:
  - {name: file, image: "busybox:1", command: [sh, -c, "echo -n from the file > /dev/termination-log"]}
  - {name: elsewhere, image: "busybox:1", terminationMessagePath: /tmp/words, command: [sh, -c, "echo -n elsewhere > /tmp/words"]}
  - {name: log, image: "busybox:1", terminationMessagePolicy: FallbackToLogsOnError, command: [sh, -c, "echo the last line; exit 1"]}
  - {name: fine, image: "busybox:1", terminationMessagePolicy: FallbackToLogsOnError, command: [sh, -c, "echo not needed"]}
  - {name: long, image: "busybox:1", command: [sh, -c, "head -c 9000 /dev/zero | tr '\\0' x > /dev/termination-log"]}
`)
	pod := s.waitPod("words", 40*time.Second, "ended", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	// All messages of a pod together have 12 KiB (kubelet's status_manager.go), in
	// equal parts; 4 KiB are read of one.
	const most = 12 << 10 / 5
	for name, want := range map[string]string{"file": "from the file", "elsewhere": "elsewhere", "log": "the last line\n", "fine": "", "long": strings.Repeat("x", most)} {
		if end := status(pod, name).State.Terminated; end == nil || end.Message != want {
			t.Errorf("%s: %+v, want the message %.40q", name, end, want)
		}
	}
}
