package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// The agent of a node freezes, as it does on a machine that swaps itself to death:
// the control plane says that nobody knows, and when the agent is back it knows
// better. Its pods ran all the time, and none is restarted for the time in which
// nobody asked for its health.
func TestFrozenAgent(t *testing.T) {
	if testing.Short() {
		t.Skip("the control plane takes 50 s to miss a node")
	}
	t.Parallel()
	first, second := joined(t, ownServingCert)
	s := newSpace(t, first)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: far}
spec:
  nodeName: second
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 1, failureThreshold: 1}
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1, failureThreshold: 1}
`)
	before := s.waitReady("far")
	pid := second.pid(t)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	s.eventually(2*time.Minute, "the control plane misses the node", func() error {
		out, err := s.kubectl("get", "node", "second", "-o", `jsonpath={range .status.conditions[*]}{.type}={.status} {.reason}: {.message}{"\n"}{end}`)
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
	s.waitPod("far", 20*time.Second, "not Ready, because nobody knows", func(p *v1.Pod) bool { return !isReady(p) })
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.mustKubectl("wait", "node/second", "--for=condition=Ready", "--timeout=40s")
	after := s.waitReady("far")
	a, b := status(before, "c"), status(after, "c")
	if a.ContainerID != b.ContainerID || b.RestartCount != 0 || after.UID != before.UID {
		t.Errorf("it did not go on as it was: %+v", b)
	}
	s.eventually(20*time.Second, "no pressure is left that nobody saw", func() error {
		out, err := s.kubectl("get", "node", "second", "-o", `jsonpath={.status.conditions[?(@.type!="Ready")].status} {.spec.taints[*].key}`)
		if err == nil && (strings.Contains(out, "Unknown") || strings.Contains(out, "True") || strings.Contains(out, "/")) {
			err = fmt.Errorf("statuses and taints are %q", out)
		}
		return err
	})
}
