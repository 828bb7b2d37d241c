package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// The limits of a manifest are in the kernel, in the cgroup of each class, pod
// and container; a resize changes them without a restart.
func TestLimitsAndResize(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: guaranteed}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: "busybox:1", command: [sleep, infinity], resources: {limits: {cpu: 200m, memory: 48Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: burstable}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: "busybox:1", command: [sleep, infinity], resources: {requests: {cpu: 100m, memory: 16Mi}, limits: {cpu: 300m, memory: 64Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: besteffort}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
`)
	for name, class := range map[string]string{"guaranteed": "", "burstable": "burstable", "besteffort": "besteffort"} {
		pod := s.waitReady(name)
		parent := "/kubepods/" + class
		if class == "" {
			parent = "/kubepods"
		}
		if got := s.cgroupOf(pod, "memory"); !strings.HasSuffix(filepath.Dir(got), filepath.Join(parent, "pod"+string(pod.UID))) {
			t.Errorf("%s runs in %s", name, got)
		}
		if !strings.EqualFold(string(pod.Status.QOSClass), name) {
			t.Errorf("%s has the class %s", name, pod.Status.QOSClass)
		}
	}
	pod := s.waitReady("burstable")
	s.bounded(pod, 64<<20, 300, 100)
	s.bounded(s.waitReady("guaranteed"), 48<<20, 200, 200)

	s.mustKubectl("patch", "pod", "burstable", "--subresource", "resize", "-p",
		`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"150m"},"limits":{"cpu":"400m","memory":"96Mi"}}}]}}`)
	resized := s.waitPod("burstable", 30*time.Second, "is resized", func(p *v1.Pod) bool {
		r := status(p, "c").Resources
		return r != nil && r.Limits.Memory().Value() == 96<<20 && r.Limits.Cpu().MilliValue() == 400 && condition(p, v1.PodResizeInProgress).Type == ""
	})
	s.bounded(resized, 96<<20, 400, 150)
	a, b := status(pod, "c"), status(resized, "c")
	if a.ContainerID != b.ContainerID || b.RestartCount != 0 {
		t.Errorf("the resize replaced the container: %s, %s, %d restarts", a.ContainerID, b.ContainerID, b.RestartCount)
	}

	// What the node can never give is refused where it is asked for.
	_, err := s.kubectl("patch", "pod", "burstable", "--subresource", "resize", "-p",
		`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1000"},"limits":{"cpu":"1000"}}}]}}`)
	if err == nil || !strings.Contains(err.Error(), "node didn't have enough allocatable resources: cpu") {
		t.Errorf("a resize beyond the node: %v", err)
	}
}

// A resize of the pod as a whole reaches the container that has no limits of its
// own, and is told in kubelet's events.
func TestResizeOfPod(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: whole}
spec:
  terminationGracePeriodSeconds: 1
  resources: {requests: {cpu: 100m, memory: 16Mi}, limits: {cpu: 300m, memory: 64Mi}}
  containers:
  - {name: c, image: "busybox:1", command: [sleep, infinity]}
`)
	pod := s.waitReady("whole")
	s.bounded(pod, 64<<20, 300, 300)
	s.mustKubectl("patch", "pod", "whole", "--subresource", "resize", "-p", `{"spec":{"resources":{"limits":{"cpu":"400m","memory":"96Mi"}}}}`)
	resized := s.waitPod("whole", patience, "is resized", func(p *v1.Pod) bool {
		r := p.Status.Resources
		return r != nil && r.Limits.Memory().Value() == 96<<20 && condition(p, v1.PodResizeInProgress).Type == "" && p.Status.ObservedGeneration == p.Generation
	})
	s.bounded(resized, 96<<20, 400, 400)
	if a, b := status(pod, "c"), status(resized, "c"); a.ContainerID != b.ContainerID {
		t.Errorf("the resize replaced the container: %s, %s", a.ContainerID, b.ContainerID)
	}
	s.events("whole", "ResizeStarted", "ResizeCompleted")
}

// A container whose resize policy says so is restarted for it.
func TestResizeWithRestart(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sleep, infinity]
    resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}]
    resources: {requests: {memory: 16Mi}, limits: {memory: 32Mi}}
`)
	s.waitReady("p")
	s.mustKubectl("patch", "pod", "p", "--subresource", "resize", "-p", `{"spec":{"containers":[{"name":"c","resources":{"limits":{"memory":"40Mi"}}}]}}`)
	pod := s.waitPod("p", 30*time.Second, "is restarted with its new size", func(p *v1.Pod) bool {
		c := status(p, "c")
		return c.RestartCount == 1 && c.Ready && c.Resources != nil && c.Resources.Limits.Memory().Value() == 40<<20
	})
	if got := s.cgroupValue(pod, "memory", "memory.limit_in_bytes", "memory.max"); got != 40<<20 {
		t.Errorf("the kernel's limit is %d", got)
	}
}

// bounded compares a container's cgroup with its limits: memory in bytes, CPU
// limit and request in thousandths of a core.
func (s *space) bounded(pod *v1.Pod, memory, limit, request int64) {
	s.t.Helper()
	if got := s.cgroupValue(pod, "memory", "memory.limit_in_bytes", "memory.max"); got != memory {
		s.t.Errorf("%s: memory limit %d, want %d", pod.Name, got, memory)
	}
	if got := s.cgroupValue(pod, "cpu", "cpu.cfs_quota_us", "cpu.max"); got != limit*100 {
		s.t.Errorf("%s: CPU quota %d, want %d", pod.Name, got, limit*100)
	}
	if onV2() {
		return // cpu.weight is a curve of the shares, which differs between versions of runc.
	}
	if got := s.cgroupValue(pod, "cpu", "cpu.shares", ""); got != request*1024/1000 {
		s.t.Errorf("%s: CPU shares %d, want %d", pod.Name, got, request*1024/1000)
	}
}

func onV2() bool {
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	return err == nil
}

// cgroupOf is the cgroup of the pod's container "c", below the mount of its hierarchy.
func (s *space) cgroupOf(pod *v1.Pod, controller string) string {
	s.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", s.containerPID(pod, "c")))
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if onV2() && parts[0] == "0" {
			return parts[2]
		}
		for name := range strings.SplitSeq(parts[1], ",") {
			if name == controller {
				return parts[2]
			}
		}
	}
	s.t.Fatalf("no %s cgroup in %s", controller, raw)
	return ""
}

// cgroupValue reads the first number of a file in that cgroup: v1's or v2's.
func (s *space) cgroupValue(pod *v1.Pod, controller, v1File, v2File string) int64 {
	s.t.Helper()
	path := filepath.Join("/sys/fs/cgroup", controller, s.cgroupOf(pod, controller), v1File)
	if onV2() {
		path = filepath.Join("/sys/fs/cgroup", s.cgroupOf(pod, controller), v2File)
	}
	return readNumber(s.t, path)
}

func readNumber(t *testing.T, path string) int64 {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.Fields(string(raw))[0], 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return n
}

// containerPID is the first process of a pod's container, by the id that the
// runtime gave it: the shim writes it into its bundle.
func (s *space) containerPID(pod *v1.Pod, name string) int {
	s.t.Helper()
	_, id, _ := strings.Cut(status(pod, name).ContainerID, "://")
	found, err := filepath.Glob(filepath.Join(s.node.data(), "run/containerd/io.containerd.runtime.v2.task/*", id, "init.pid"))
	if err != nil || len(found) != 1 {
		out, _ := filepath.Glob(filepath.Join(s.node.data(), "run/containerd/*/*"))
		s.t.Fatalf("no bundle of %s %q: %v, %v", name, id, out, err)
	}
	return int(readNumber(s.t, found[0]))
}

// All pods together are bounded by what the node has to give.
func TestAllocatable(t *testing.T) {
	t.Parallel()
	n := startNode(t, "--node-memory", "1Gi", "--system-reserved", "cpu=100m,memory=64Mi", "--kube-reserved", "cpu=50m,memory=32Mi",
		"--eviction-hard", "memory.available<50Mi", "--eviction-soft", "memory.available<60Mi", "--eviction-soft-grace-period", "memory.available=5m")
	s := newSpace(t, n)
	var node v1.Node
	name := strings.TrimSpace(s.mustKubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}"))
	if err := json.Unmarshal([]byte(s.mustKubectl("get", "node", name, "-o", "json")), &node); err != nil {
		t.Fatal(err)
	}
	if got := node.Status.Capacity.Memory().Value(); got != 1<<30 {
		t.Errorf("capacity is %d", got)
	}
	if got, want := node.Status.Allocatable.Memory().Value(), int64(1<<30-(64+32+50)<<20); got != want {
		t.Errorf("allocatable is %d bytes, want %d: without what is reserved and the hard threshold", got, want)
	}
	if got := node.Status.Capacity.Cpu().MilliValue() - node.Status.Allocatable.Cpu().MilliValue(); got != 150 {
		t.Errorf("%d thousandths of a CPU are kept back, want 150", got)
	}
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: large}
spec:
  containers: [{name: c, image: "busybox:1", resources: {requests: {memory: 2Gi}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: small}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
`)
	s.waitPod("large", 30*time.Second, "does not fit", func(p *v1.Pod) bool {
		return strings.Contains(condition(p, v1.PodScheduled).Message, "Insufficient memory")
	})
	pod := s.waitReady("small")
	kubepods := filepath.Join("/sys/fs/cgroup/memory", strings.SplitAfter(s.cgroupOf(pod, "memory"), "/kubepods")[0], "memory.limit_in_bytes")
	if onV2() {
		kubepods = filepath.Join("/sys/fs/cgroup", strings.SplitAfter(s.cgroupOf(pod, "memory"), "/kubepods")[0], "memory.max")
	}
	if got, want := readNumber(t, kubepods), int64(1<<30-(64+32)<<20); got != want {
		t.Errorf("a cgroup bounds all pods by %d bytes, want %d: what is allocatable, and the hard threshold", got, want)
	}
}
