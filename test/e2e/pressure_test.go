package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// neighbours are pods that do nothing to deserve harm: one within its request, one
// that asked for nothing.
const neighbours = server + `
---
apiVersion: v1
kind: Pod
metadata: {name: quiet}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    livenessProbe: {exec: {command: ["true"]}, periodSeconds: 1, timeoutSeconds: 20}
    readinessProbe: {exec: {command: ["true"]}, periodSeconds: 1, failureThreshold: 1, timeoutSeconds: 20}
`

// A pod eats memory as fast as it can, on a node without a limit of its own for
// it. It is evicted before the kernel has to kill anybody, its neighbours notice
// nothing, and the API answers all the while.
func TestMemoryPressure(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--node-memory", "700Mi")
	s := newSpace(t, n)
	s.apply(neighbours)
	before := map[string]*v1.Pod{"server": s.waitReady("server"), "quiet": s.waitReady("quiet")}
	worst := time.Duration(0)
	for i := range 3 {
		name := fmt.Sprintf("hungry-%d", i)
		s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  nodeName: %s
  containers:
  - name: c
    image: stress:1
    args: [--vm, "1", --vm-bytes, 2000M, --vm-hang, "0"]
    resources: {requests: {memory: 16Mi}}
`, name, before["quiet"].Spec.NodeName))
		hungry := s.waitPod(name, 30*time.Second, "evicted", func(p *v1.Pod) bool {
			began := time.Now()
			_, err := s.kubectl("get", "pods")
			if err != nil {
				t.Error(err)
			}
			worst = max(worst, time.Since(began))
			return p.Status.Phase == v1.PodFailed
		})
		evictedForMemory(t, hungry)
	}
	t.Logf("the slowest kubectl get pods took %v", worst)
	for name, was := range before {
		unharmed(t, was, s.waitReady(name))
	}
	s.eventually(20*time.Second, "the node says that memory is short", func() error {
		out, err := s.kubectl("get", "nodes", "-o", `jsonpath={.items[0].status.conditions[?(@.type=="MemoryPressure")].status} {.items[0].spec.taints[*].key}`)
		if err == nil && out != "True node.kubernetes.io/memory-pressure" {
			err = fmt.Errorf("it says %q", out)
		}
		return err
	})
	contains(t, s.mustKubectl("get", "events", "-A"), "EvictionThresholdMet", "Attempting to reclaim memory", "NodeHasInsufficientMemory")

	// Who asked for nothing gets nothing now.
	s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: late}
spec:
  nodeName: %s
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
`, before["quiet"].Spec.NodeName))
	late := s.waitPod("late", 20*time.Second, "refused", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	if late.Status.Reason != "Evicted" || late.Status.Message != "Pod was rejected: The node had condition: [MemoryPressure]. " {
		t.Errorf("refused with %s: %q", late.Status.Reason, late.Status.Message)
	}
}

var lowOnMemory = regexp.MustCompile(`^The node was low on resource: memory\. Threshold quantity: 100Mi, available: \S+\. ` +
	`Container c was using \S+, request is 16Mi, has larger consumption of memory\. $`)

func evictedForMemory(t *testing.T, pod *v1.Pod) {
	t.Helper()
	t.Logf("%s: %s: %s", pod.Name, pod.Status.Reason, pod.Status.Message)
	if pod.Status.Reason != "Evicted" || !lowOnMemory.MatchString(pod.Status.Message) {
		t.Errorf("%s ended with %s: %q", pod.Name, pod.Status.Reason, pod.Status.Message)
	}
	if c := condition(pod, v1.DisruptionTarget); c.Status != v1.ConditionTrue || c.Reason != v1.PodReasonTerminationByKubelet {
		t.Errorf("%s: DisruptionTarget is %+v", pod.Name, c)
	}
}

// unharmed fails unless a pod runs on as before and was Ready all the time.
func unharmed(t *testing.T, before, after *v1.Pod) {
	t.Helper()
	a, b := before.Status.ContainerStatuses[0], after.Status.ContainerStatuses[0]
	if a.ContainerID != b.ContainerID || b.RestartCount != 0 {
		t.Errorf("%s was restarted %d times: %+v", after.Name, b.RestartCount, b.LastTerminationState)
	}
	was, is := condition(before, v1.PodReady).LastTransitionTime, condition(after, v1.PodReady).LastTransitionTime
	if !is.Equal(&was) {
		t.Errorf("%s was not Ready at times, until %v", after.Name, is)
	}
}

// Local storage has limits: of a volume, of a pod's layers and logs.
func TestLocalStorageLimits(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: volume}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, "dd if=/dev/zero of=/v/file bs=1M count=8; sleep 1000"]
    volumeMounts: [{name: v, mountPath: /v}]
  volumes: [{name: v, emptyDir: {sizeLimit: 4Mi}}]
---
apiVersion: v1
kind: Pod
metadata: {name: layer}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, "dd if=/dev/zero of=/file bs=1M count=8; sleep 1000"]
    resources: {limits: {ephemeral-storage: 4Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: logs}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, "yes | head -c 3000000; sleep 1000"]
    resources: {limits: {ephemeral-storage: 2Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: modest}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, "dd if=/dev/zero of=/file bs=1M count=2; dd if=/dev/zero of=/v/file bs=1M count=2; sleep 1000"]
    resources: {limits: {ephemeral-storage: 8Mi}}
    volumeMounts: [{name: v, mountPath: /v}]
  volumes: [{name: v, emptyDir: {sizeLimit: 4Mi}}]
`)
	modest := s.waitReady("modest")
	for name, want := range map[string]string{
		"volume": `Usage of EmptyDir volume "v" exceeds the limit "4Mi". `,
		"layer":  "Pod ephemeral local storage usage exceeds the total limit of containers 4Mi. ",
		"logs":   "Pod ephemeral local storage usage exceeds the total limit of containers 2Mi. ",
	} {
		pod := s.waitPod(name, 60*time.Second, "evicted", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
		if pod.Status.Reason != "Evicted" || pod.Status.Message != want {
			t.Errorf("%s ended with %s: %q", name, pod.Status.Reason, pod.Status.Message)
		}
		if c := condition(pod, v1.DisruptionTarget); c.Type != "" {
			t.Errorf("%s went for its own limit, not for the node's sake: %+v", name, c)
		}
	}
	unharmed(t, modest, s.waitReady("modest"))
}

// The node's disk runs short: who has most on it goes, with its volumes, and the
// node is well again.
func TestDiskPressure(t *testing.T) {
	t.Parallel()
	n, _ := smallNode(t, "--eviction-hard", "memory.available<100Mi,nodefs.available<150Mi")
	s := newSpace(t, n)
	s.apply(neighbours)
	before := map[string]*v1.Pod{"server": s.waitReady("server"), "quiet": s.waitReady("quiet")}
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: filler}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, "i=0; while [ $i -lt 100 ]; do dd if=/dev/zero of=/v/$i bs=1M count=20 2>/dev/null; i=$((i+1)); sleep 0.5; done; sleep 1000"]
    volumeMounts: [{name: v, mountPath: /v}]
  volumes: [{name: v, emptyDir: {}}]
`)
	filler := s.waitPod("filler", 2*time.Minute, "evicted", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	if filler.Status.Reason != "Evicted" || !strings.HasPrefix(filler.Status.Message, "The node was low on resource: ephemeral-storage. Threshold quantity: 150Mi, available: ") {
		t.Errorf("it ended with %s: %q", filler.Status.Reason, filler.Status.Message)
	}
	for name, was := range before {
		unharmed(t, was, s.waitReady(name))
	}
	s.eventually(20*time.Second, "the node says that its disk is short", func() error {
		out, err := s.kubectl("get", "nodes", "-o", `jsonpath={.items[0].status.conditions[?(@.type=="DiskPressure")].status}`)
		if err == nil && out != "True" {
			err = fmt.Errorf("it says %q", out)
		}
		return err
	})
}

// A fork bomb meets the limit of its pod; others still start processes. Pods that
// keep to their limits use up the node's together, and one of them goes for it.
func TestForkBomb(t *testing.T) {
	t.Parallel()
	// What is left when one must go is enough for the neighbours' probes.
	n := startNode(t, "--pod-max-pids", "60", "--node-pids", "400", "--eviction-hard", "memory.available<100Mi,pid.available<30%")
	s := newSpace(t, n)
	s.apply(neighbours)
	before := map[string]*v1.Pod{"server": s.waitReady("server"), "quiet": s.waitReady("quiet")}
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: bomb}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, "while :; do sleep 1000 & done"]
    resources: {limits: {cpu: 200m, memory: 64Mi}}
`)
	s.waitPod("bomb", 30*time.Second, "running", func(p *v1.Pod) bool {
		c := status(p, "c")
		return c.State.Running != nil || c.RestartCount > 0
	})
	witness := time.Now().Add(5 * time.Second)
	s.eventually(15*time.Second, "the others live beside it for a while", func() error {
		if _, err := s.exec("quiet", "true"); err != nil {
			return err
		}
		if time.Now().Before(witness) {
			return fmt.Errorf("it has not been long enough")
		}
		return nil
	})
	s.mustKubectl("delete", "pod", "bomb", "--wait=true", "--timeout=180s")
	s.crowds()
	for name, was := range before {
		unharmed(t, was, s.waitReady(name))
	}
}

// crowds lets five pods start 58 processes each, where the node calls 281 too many:
// one of them is evicted.
func (s *space) crowds() {
	s.t.Helper()
	names := []string{"crowd-0", "crowd-1", "crowd-2", "crowd-3", "crowd-4"}
	for _, name := range names {
		s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, "i=0; while [ $i -lt 56 ]; do sleep 1000 & i=$((i+1)); done; wait"]
`, name))
	}
	gone := 0
	s.eventually(5*time.Minute, "a pod goes for want of process ids", func() error {
		gone = 0
		for _, name := range names {
			out, err := s.kubectl("get", "pod", name, "-o", `jsonpath={.status.phase} {.status.reason}: {.status.message}`)
			if err != nil {
				return err
			}
			if strings.HasPrefix(out, "Failed Evicted: The node was low on resource: pids. Threshold quantity: 120, available: ") {
				gone++
			}
		}
		if gone == 0 {
			return fmt.Errorf("none did")
		}
		return nil
	})
	s.eventually(3*time.Minute, "the node says that process ids are short", func() error {
		out, err := s.kubectl("get", "nodes", "-o", `jsonpath={.items[0].status.conditions[?(@.type=="PIDPressure")].status} {.items[0].spec.taints[*].key}`)
		if err == nil && out != "True node.kubernetes.io/pid-pressure" {
			err = fmt.Errorf("it says %q", out)
		}
		return err
	})
	if gone == len(names) {
		s.t.Error("all of them went, where one was enough")
	}
}
