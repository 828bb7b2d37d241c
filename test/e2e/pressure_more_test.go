package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Three pods eat memory as fast as they can, at once, on a node without a limit of
// its own for them. All are evicted, their neighbours notice nothing, and the API
// answers all the while.
func TestManyEaters(t *testing.T) {
	more(t)
	t.Parallel()
	n := startNode(t, "--node-memory", "700Mi")
	s := newSpace(t, n)
	s.apply(neighbours + `
---
apiVersion: v1
kind: Pod
metadata: {name: may}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    resources: {requests: {memory: 16Mi}, limits: {memory: 1080Mi}}
`)
	before := map[string]*v1.Pod{"server": s.waitReady("server"), "quiet": s.waitReady("quiet"), "may": s.waitReady("may")}
	node := "node/" + before["may"].Spec.NodeName
	s.explains(node, "node-overcommitted", "Of the 600Mi that pods may have", "their limits add up to 1080Mi (180 %)", "2 pods have no limit at all",
		"so push out others", "if memory ran short now, pods would go in this order: 1.", "a memory request of what it uses")
	worst := time.Duration(0)
	for i := range 3 {
		s.apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: hungry-%d}
spec:
  nodeName: %s
  containers:
  - name: c
    image: stress:1
    args: [--vm, "1", --vm-bytes, 2000M, --vm-hang, "0"]
    resources: {requests: {memory: 16Mi}}
`, i, before["quiet"].Spec.NodeName))
	}
	for i := range 3 {
		hungry := s.waitPod(fmt.Sprintf("hungry-%d", i), 5*time.Minute, "evicted", func(p *v1.Pod) bool {
			began := time.Now()
			_, err := s.kubectl("get", "pods")
			if err != nil {
				t.Error(err)
			}
			worst = max(worst, time.Since(began))
			return p.Status.Phase == v1.PodFailed
		})
		evictedForMemory(t, hungry)
		s.explains("pod/"+hungry.Name, "evicted-memory", "the order of eviction was: 1. ")
	}
	s.explains(node, "it is under MemoryPressure", "evicted pod "+s.name+"/hungry-0, which was first of")
	t.Logf("the slowest kubectl get pods took %v", worst)
	for name, was := range before {
		unharmed(t, was, s.waitReady(name))
	}
}

// The node's disk runs short of files, which a soft threshold gives some time: who has
// most of them goes, and the node is well again.
func TestSoftThreshold(t *testing.T) {
	more(t)
	t.Parallel()
	n, _ := smallNode(t, "--eviction-hard", "memory.available<100Mi,nodefs.available<150Mi", "--eviction-pressure-transition-period", "5s",
		"--eviction-soft", "nodefs.inodesFree<60%", "--eviction-soft-grace-period", "nodefs.inodesFree=2s", "--eviction-max-pod-grace-period", "60")
	s := newSpace(t, n)
	s.apply(neighbours)
	before := map[string]*v1.Pod{"server": s.waitReady("server"), "quiet": s.waitReady("quiet")}
	s.fillsWithFiles()
	for name, was := range before {
		unharmed(t, was, s.waitReady(name))
	}
	contains(t, s.mustKubectl("get", "events", "-A"), "NodeHasDiskPressure", "NodeHasNoDiskPressure", "Attempting to reclaim inodes")
}

// fillsWithFiles runs a pod that makes more files than the soft threshold leaves,
// 40,000 of the 76,800 that the disk can have. It goes, and has the time to do so
// that a hard threshold would not give it.
func (s *space) fillsWithFiles() {
	s.t.Helper()
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: files}
spec:
  terminationGracePeriodSeconds: 50
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, "trap 'sleep 3; exit 7' TERM; i=0; while [ $i -lt 40000 ]; do : > /v/$i; i=$((i+1)); done; while :; do sleep 0.2; done"]
    volumeMounts: [{name: v, mountPath: /v}]
  volumes: [{name: v, emptyDir: {}}]
`)
	files := s.waitPod("files", 4*time.Minute, "evicted", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	if files.Status.Reason != "Evicted" || !strings.HasPrefix(files.Status.Message, "The node was low on resource: inodes. Threshold quantity: 45Ki, available: ") {
		s.t.Errorf("it ended with %s: %q", files.Status.Reason, files.Status.Message)
	}
	if c := status(files, "c"); c.State.Terminated == nil || c.State.Terminated.ExitCode != 7 {
		s.t.Errorf("it had no time to end: %+v", c.State)
	}
	s.diskIsWell()
}

// diskIsWell waits until the node takes pods again.
func (s *space) diskIsWell() {
	s.t.Helper()
	s.eventually(2*time.Minute, "the node's disk is well again", func() error {
		out, err := s.kubectl("get", "nodes", "-o", `jsonpath={.items[0].status.conditions[?(@.type=="DiskPressure")].status} {.items[0].spec.taints[*].key}`)
		if err == nil && out != "False " {
			err = fmt.Errorf("it says %q", out)
		}
		return err
	})
}
