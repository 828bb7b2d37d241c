package e2e

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// The agent of a node freezes, as it does on a machine that swaps itself to death:
// the control plane says that nobody knows and lets go who does not tolerate that,
// and when the agent is back it knows better. Then it is the control plane that
// freezes, and is killed, and last the agent is killed. Pods run all the time, none
// is restarted for the time in which nobody asked for its health, and each time the
// node says afterwards why it was away.
func TestLostAndFound(t *testing.T) {
	more(t)
	t.Parallel()
	first, second := joined(t, ownServingCert)
	s := newSpace(t, first)
	const pod = `
---
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeName: second
  terminationGracePeriodSeconds: 1
  tolerations: [{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute%s}]
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 1, failureThreshold: 1}
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1, failureThreshold: 1}
`
	s.apply(fmt.Sprintf(pod, "far", "") + fmt.Sprintf(pod, "brief", ", tolerationSeconds: 1"))
	before := s.waitReady("far")
	s.waitReady("brief")

	thaw := freeze(t, second)
	s.missed("second")
	s.waitPod("far", 2*time.Minute, "not Ready, because nobody knows", func(p *v1.Pod) bool { return !isReady(p) && p.Status.Phase == v1.PodRunning })
	s.waitPod("brief", 2*time.Minute, "to be deleted, because it was not to wait", func(p *v1.Pod) bool {
		c := condition(p, v1.DisruptionTarget)
		return p.DeletionTimestamp != nil && c.Status == v1.ConditionTrue && c.Reason == "DeletionByTaintManager"
	})
	s.explains("node/second", "stopped reporting", "Kubelet stopped posting node status", "they run on")
	s.explains("pod/far", "Node second stopped reporting")
	thaw()
	s.explains("node/second", "stopped by a signal (SIGSTOP)", "Nothing was lost")
	s.explains("pod/far", "its node was away for", "stopped by a signal (SIGSTOP)", "Nothing was lost")
	s.asBefore(before)
	s.mustKubectl("wait", "pod/brief", "--for=delete", "--timeout=180s")

	thaw = freeze(t, first)
	s.remembers(second, "the API server did not answer it")
	thaw()
	s.explains("node/second", "the API server did not answer it", "Nothing was lost")
	s.asBefore(before)

	killAgent(t, first)
	killAgent(t, second)
	if err := first.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, code := second.whylet(t, "node", "--detach", "--data-dir", second.data()); code != 0 {
		t.Fatalf("whylet node: exit code %d: %s", code, out)
	}
	s.explains("node/first", "its agent was killed")
	s.explains("node/second", "its agent was killed", "Nothing was lost")
	s.asBefore(before)
}

// freeze stops a node's process, control plane included where it has one, until
// thaw is called.
func freeze(t *testing.T, n *node) (thaw func()) {
	t.Helper()
	pid := n.pid(t)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	thaw = func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
	}
	t.Cleanup(thaw)
	return thaw
}

// missed waits until the control plane says of a node that nobody knows how it is.
func (s *space) missed(name string) {
	s.t.Helper()
	s.eventually(5*time.Minute, "the control plane misses the node", func() error {
		out, err := s.kubectl("get", "node", name, "-o", `jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}`)
		if err != nil {
			return err
		}
		for _, condition := range []string{"Ready", "MemoryPressure", "DiskPressure", "PIDPressure"} {
			if !strings.Contains(out, condition+"=Unknown NodeStatusUnknown: Kubelet stopped posting node status.") {
				return fmt.Errorf("its conditions are\n%s", out)
			}
		}
		return nil
	})
}

// asBefore waits until the pod's node is well, and fails unless the pod went on as
// it was.
func (s *space) asBefore(before *v1.Pod) {
	s.t.Helper()
	s.eventually(3*time.Minute, "no trouble is left that nobody saw", func() error {
		out, err := s.kubectl("get", "node", before.Spec.NodeName, "-o", `jsonpath={.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type!="Ready")].status} {.spec.taints[*].key}`)
		if err == nil && (!strings.HasPrefix(out, "True ") || strings.Contains(out, "Unknown") || strings.Contains(out, "/")) {
			err = fmt.Errorf("Ready, the other statuses and the taints are %q", out)
		}
		return err
	})
	after := s.waitReady(before.Name)
	a, b := status(before, "c"), status(after, "c")
	if a.ContainerID != b.ContainerID || b.RestartCount != 0 || after.UID != before.UID {
		s.t.Errorf("it did not go on as it was: %+v", b)
	}
}

// explains waits until kubectl why says all of it.
func (s *space) explains(subject string, says ...string) {
	s.t.Helper()
	s.eventually(3*time.Minute, "kubectl why "+subject, func() error {
		cmd := s.node.command(s.t.Context(), bin("kubectl-why"), "-n", s.name, subject, "-o", "wide")
		return saysAll(cmd, says)
	})
}

// remembers waits until a node's own memory, with no API server to ask, says all of it.
func (s *space) remembers(n *node, says ...string) {
	s.t.Helper()
	s.eventually(5*time.Minute, "the node's memory", func() error {
		return saysAll(n.command(s.t.Context(), bin("whylet"), "why", "node/second", "--data-dir", n.data()), says)
	})
}

// saysAll runs a command and fails unless it prints all of it, on however many lines.
func saysAll(cmd *exec.Cmd, says []string) error {
	out, err := cmd.CombinedOutput()
	text := strings.Join(strings.Fields(string(out)), " ")
	for _, part := range says {
		if !strings.Contains(text, part) {
			return fmt.Errorf("%q is not in (%v):\n%s", part, err, out)
		}
	}
	return nil
}
