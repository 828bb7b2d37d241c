package e2e

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// The second seed: a container that restarts for ever does not disturb its
// sibling, but it keeps the whole pod out of its Service.

const unreadySibling = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 2
      containers:
      - name: nginx
        image: nginx:1
        ports: [{containerPort: 80}]
        resources: {requests: {memory: 20Mi}, limits: {memory: 20Mi}}
      - name: worker
        image: stress:1
        args: ["--vm", "1", "--vm-bytes", "8M", "--vm-hang", "1"]
        resources: {requests: {memory: 10Mi}, limits: {memory: 24Mi}}
        readinessProbe: {tcpSocket: {port: 8080}, initialDelaySeconds: 2, periodSeconds: 2}
        livenessProbe: {tcpSocket: {port: 8080}, initialDelaySeconds: 1, periodSeconds: 1, failureThreshold: 2}
`

func TestSiblingNeverReady(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(unreadySibling)
	pods := s.podsOf("app=web", 2)

	// Running 1/2 and CrashLoopBackOff 1/2 take turns, as `kubectl get pod` prints them.
	seen := map[string]bool{}
	s.eventually(90*time.Second, "both STATUS values", func() error {
		out, err := s.kubectl("get", "pods", "-l", "app=web", "--no-headers")
		if err != nil {
			return err
		}
		for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
			if fields := strings.Fields(line); len(fields) > 2 {
				seen[fields[2]+" "+fields[1]] = true
			}
		}
		if !seen["Running 1/2"] || !seen["CrashLoopBackOff 1/2"] {
			return fmt.Errorf("seen so far: %v", seen)
		}
		return nil
	})
	for _, name := range pods {
		pod := s.waitPod(name, 60*time.Second, "restarted twice", func(p *v1.Pod) bool { return status(p, "worker").RestartCount >= 2 })
		checkUnreadyPod(t, pod)
		out, err := s.exec(name, "wget", "-qO-", "http://127.0.0.1/")
		if err != nil || !strings.Contains(out, "Welcome to nginx") {
			t.Errorf("nginx of %s does not serve: %v %q", name, err, out)
		}
	}
	checkUnreadyEvents(s, pods[0])
}

func checkUnreadyPod(t *testing.T, pod *v1.Pod) {
	t.Helper()
	if n := status(pod, "nginx"); n.RestartCount != 0 || !n.Ready {
		t.Errorf("nginx: %d restarts, ready %v; want 0, true", n.RestartCount, n.Ready)
	}
	ready := condition(pod, v1.ContainersReady)
	if ready.Status != v1.ConditionFalse || ready.Reason != "ContainersNotReady" || ready.Message != "containers with unready status: [worker]" {
		t.Errorf("ContainersReady is %+v", ready)
	}
	if pod.Status.Phase != v1.PodRunning || pod.Status.QOSClass != v1.PodQOSBurstable || pod.Status.HostIP == "" ||
		pod.Status.PodIP == "" || pod.Status.StartTime == nil {
		t.Errorf("incomplete status: %+v", pod.Status)
	}
}

func checkUnreadyEvents(s *space, pod string) {
	s.t.Helper()
	unhealthy := regexp.MustCompile(`Unhealthy +\S+ \(x\d+ over \S+\) .*Liveness probe failed: dial tcp [0-9.]+:8080: connect: connection refused`)
	s.eventually(60*time.Second, "the events of a failing sibling", func() error {
		out, err := s.kubectl("describe", "pod", pod)
		if err != nil {
			return err
		}
		for _, part := range []string{
			"Successfully assigned", `Container image "nginx:1" already present on machine`, "Container created", "Container started",
			"Container worker failed liveness probe, will be restarted", "Back-off restarting failed container worker in pod " + pod,
		} {
			if !strings.Contains(out, part) {
				return fmt.Errorf("%q is not in:\n%s", part, out)
			}
		}
		if !unhealthy.MatchString(out) {
			return fmt.Errorf("no counted Unhealthy event in:\n%s", out)
		}
		return nil
	})
}

func TestOOMKilledSibling(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: oom}
spec:
  terminationGracePeriodSeconds: 2
  containers:
  - name: nginx
    image: nginx:1
  - name: hungry
    image: busybox:1
    command: ["dd", "if=/dev/zero", "of=/dev/null", "bs=64M", "count=1"]
    resources: {requests: {memory: 10Mi}, limits: {memory: 15Mi}}
`)
	pod := s.waitPod("oom", 60*time.Second, "OOMKilled twice and backing off", func(p *v1.Pod) bool {
		c := status(p, "hungry")
		return c.RestartCount >= 1 && c.State.Waiting != nil && c.State.Waiting.Reason == "CrashLoopBackOff" &&
			c.LastTerminationState.Terminated != nil
	})
	last := status(pod, "hungry")
	if term := last.LastTerminationState.Terminated; term.Reason != "OOMKilled" || term.ExitCode != 137 {
		t.Errorf("last state is %+v, want OOMKilled with 137", term)
	}
	message := regexp.MustCompile(`^back-off (10|20|40)s restarting failed container=hungry pod=oom_` + s.name + `\([0-9a-f-]+\)$`)
	if !message.MatchString(last.State.Waiting.Message) {
		t.Errorf("waiting message is %q", last.State.Waiting.Message)
	}
	if n := status(pod, "nginx"); n.RestartCount != 0 || !n.Ready {
		t.Errorf("nginx: %d restarts, ready %v; want 0, true", n.RestartCount, n.Ready)
	}
}

// The intervals between starts double from 10 s; the first restart is immediate.
func TestBackOffDoubles(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: crash}
spec:
  containers:
  - {name: c, image: "busybox:1", command: ["false"]}
`)
	var messages []string
	s.eventually(75*time.Second, "three back-offs", func() error {
		pod, err := s.pod("crash")
		if err != nil {
			return err
		}
		if w := status(pod, "c").State.Waiting; w != nil && w.Reason == "CrashLoopBackOff" {
			delay := strings.Fields(w.Message)[1]
			if len(messages) == 0 || messages[len(messages)-1] != delay {
				messages = append(messages, delay)
			}
		}
		if len(messages) < 3 {
			return fmt.Errorf("seen %v", messages)
		}
		return nil
	})
	if got := strings.Join(messages, " "); got != "10s 20s 40s" {
		t.Errorf("back-offs were %s, want 10s 20s 40s", got)
	}
}

func TestReadinessDecidesWhoServes(t *testing.T) {
	t.Parallel()
	s := newSpace(t, shared)
	s.apply(twoServices)
	s.waitReady("client")
	s.eventually(60*time.Second, "the healthy Service has two addresses", func() error {
		out, err := s.kubectl("get", "endpoints", "healthy", "-o", "jsonpath={.subsets[*].addresses[*].ip}")
		if err == nil && len(strings.Fields(out)) != 2 {
			err = fmt.Errorf("addresses: %q", out)
		}
		return err
	})
	s.eventually(60*time.Second, "the sick pod crashes", func() error {
		for _, name := range s.podsOf("app=sick", 1) {
			pod, err := s.pod(name)
			if err != nil || status(pod, "hungry").RestartCount < 2 {
				return fmt.Errorf("not yet: %v", err)
			}
		}
		return nil
	})
	s.eventually(30*time.Second, "the sick Service has no address while it backs off", func() error {
		out, err := s.kubectl("get", "endpoints", "sick", "-o", "jsonpath={.subsets[*].addresses[*].ip}")
		if err == nil && out != "" {
			err = fmt.Errorf("addresses: %q", out)
		}
		return err
	})
	s.eventually(20*time.Second, "the healthy Service answers through DNS", func() error {
		out, err := s.exec("client", "curl", "-sS", "--max-time", "3", "http://healthy/")
		if err == nil && !strings.Contains(out, "Welcome to nginx") {
			err = fmt.Errorf("it said %q", out)
		}
		return err
	})
	if out, err := s.exec("client", "dig", "+short", "+search", "sick"); err != nil || strings.TrimSpace(out) == "" {
		t.Errorf("the sick Service does not resolve: %v %q", err, out)
	}
	if out, err := s.exec("client", "curl", "-sS", "--max-time", "3", "http://sick/"); err == nil {
		t.Errorf("the sick Service answered: %q", out)
	}
	for _, app := range []string{"healthy", "sick"} {
		s.forwarded("deployment/"+app, 80, func(port string) {
			out, err := s.node.command(t.Context(), "curl", "-sS", "--max-time", "5", "http://127.0.0.1:"+port+"/").CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Welcome to nginx") {
				t.Errorf("port-forward to %s: %v %s", app, err, out)
			}
		})
	}
}

const twoServices = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: healthy}
spec:
  replicas: 2
  selector: {matchLabels: {app: healthy}}
  template:
    metadata: {labels: {app: healthy}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: nginx, image: "nginx:1", ports: [{containerPort: 80}]}
      - {name: idle, image: "busybox:1", command: [sleep, infinity]}
---
apiVersion: v1
kind: Service
metadata: {name: healthy}
spec: {selector: {app: healthy}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: sick}
spec:
  selector: {matchLabels: {app: sick}}
  template:
    metadata: {labels: {app: sick}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: nginx, image: "nginx:1", ports: [{containerPort: 80}]}
      - name: hungry
        image: stress:1
        args: ["--vm", "1", "--vm-bytes", "64M", "--vm-hang", "1"]
        resources: {requests: {memory: 10Mi}, limits: {memory: 15Mi}}
---
apiVersion: v1
kind: Service
metadata: {name: sick}
spec: {selector: {app: sick}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: "shell:1"}
`

// podsOf waits until a selector matches n pods and returns their names.
func (s *space) podsOf(selector string, n int) []string {
	s.t.Helper()
	var names []string
	s.eventually(30*time.Second, fmt.Sprintf("%d pods of %s", n, selector), func() error {
		out, err := s.kubectl("get", "pods", "-l", selector, "-o", "jsonpath={.items[*].metadata.name}")
		if names = strings.Fields(out); err == nil && len(names) != n {
			err = fmt.Errorf("there are %d", len(names))
		}
		return err
	})
	return names
}

func condition(pod *v1.Pod, kind v1.PodConditionType) v1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return v1.PodCondition{}
}

// forwarded runs use while kubectl port-forward runs.
func (s *space) forwarded(target string, port int, use func(local string)) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	cmd := s.node.command(ctx, bin("kubectl"), "-n", s.name, "port-forward", target, fmt.Sprintf(":%d", port))
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	defer func() {
		cancel()
		var exit *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
			s.t.Errorf("port-forward: %v", err)
		}
	}()
	buffer := make([]byte, 512)
	n, err := out.Read(buffer)
	if err != nil {
		s.t.Fatalf("port-forward %s: %v", target, err)
	}
	match := regexp.MustCompile(`127\.0\.0\.1:(\d+)`).FindSubmatch(buffer[:n])
	if match == nil {
		s.t.Fatalf("port-forward %s said %q", target, buffer[:n])
	}
	use(string(match[1]))
}
