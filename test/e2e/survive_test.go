package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

const server = `
apiVersion: v1
kind: Pod
metadata: {name: server, labels: {app: server}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: nginx
    image: nginx:1
    readinessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 1}
    livenessProbe: {httpGet: {path: /, port: 80}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: server}
spec: {selector: {app: server}, ports: [{port: 80}]}
`

// The agent is killed while pods serve: traffic goes on, containers are taken
// over by the next agent, and nothing counts as a restart.
// inItsNamespace checks that the agent as a whole is where it was started, wherever
// threads of it went.
func inItsNamespace(t *testing.T, n *node) {
	t.Helper()
	own, err := os.Stat("/run/netns/" + n.netns)
	if err != nil {
		t.Fatal(err)
	}
	if agent, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", n.pid(t))); err != nil || !os.SameFile(own, agent) {
		t.Errorf("the agent is in another network namespace than it was started in (%v)", err)
	}
}

func TestKilledAgent(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := newSpace(t, n)
	s.apply(server)
	before := s.waitReady("server")
	ip := before.Status.PodIP

	killAgent(t, n)
	if out, err := n.command(t.Context(), "curl", "-sS", "--max-time", "3", "http://"+ip+"/").CombinedOutput(); err != nil {
		t.Fatalf("no traffic while the agent is dead: %v: %s", err, out)
	}
	if err := n.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	after := s.waitPod("server", 30*time.Second, "Ready again", isReady)
	sameContainer(t, before, after)
	inItsNamespace(t, n)

	// What happens while nobody looks is found out afterwards.
	killAgent(t, n)
	pid := mainProcess(t, n, "nginx")
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := n.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.waitPod("server", 30*time.Second, "restarted once", func(p *v1.Pod) bool {
		c := status(p, "nginx")
		return c.RestartCount == 1 && c.Ready && c.LastTerminationState.Terminated != nil && c.LastTerminationState.Terminated.ExitCode == 137
	})
}

// down keeps what Kubernetes would keep, whoever still follows a log, a watch or a
// shell; up goes on where it was.
func TestDownAndUp(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := newSpace(t, n)
	s.apply(server)
	before := s.waitReady("server")
	s.follow("logs", "server", "-f")
	s.follow("get", "pods", "-w")
	s.follow("exec", "server", "--", "sh", "-c", "echo here; sleep 600")
	if out, err := n.command(t.Context(), bin("whylet"), "down", "--data-dir", n.data()).CombinedOutput(); err != nil {
		t.Fatalf("down: %v: %s", err, out)
	}
	if log, err := os.ReadFile(filepath.Join(n.data(), "logs", "whylet.log")); err != nil || strings.Contains(string(log), "did not stop in time") {
		t.Errorf("it was held up: %v\n%s", err, log)
	}
	if out, err := n.command(t.Context(), bin("whylet"), "status", "--data-dir", n.data()).CombinedOutput(); err == nil {
		t.Errorf("status of a node that is down succeeds: %s", out)
	}
	if err := n.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	sameContainer(t, before, s.waitReady("server"))
	// A second up says that it runs already, and is not an error.
	out, err := n.command(t.Context(), bin("whylet"), "up", "--detach", "--data-dir", n.data(), "--kubeconfig", n.kubeconfig).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "already") {
		t.Errorf("a second up: %v: %s", err, out)
	}
}

// follow starts a kubectl that does not end by itself, and returns once it has
// printed something.
func (s *space) follow(args ...string) {
	s.t.Helper()
	cmd := s.node.command(s.t.Context(), bin("kubectl"), append([]string{"-n", s.name}, args...)...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := out.Read(make([]byte, 1)); err != nil {
		s.t.Fatalf("kubectl %s prints nothing: %v", strings.Join(args, " "), err)
	}
}

// A pod that is deleted while the agent is dead is gone after it came back.
func TestDeletedWhileAgentWasDead(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := newSpace(t, n)
	s.apply(server)
	s.waitReady("server")
	s.mustKubectl("delete", "pod", "server", "--wait=false")
	killAgent(t, n)
	if err := n.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.eventually(30*time.Second, "the pod is gone", func() error {
		out, err := s.kubectl("get", "pods", "-o", "name")
		if err == nil && out != "" {
			err = fmt.Errorf("still there: %s", out)
		}
		return err
	})
}

func sameContainer(t *testing.T, before, after *v1.Pod) {
	t.Helper()
	a, b := status(before, "nginx"), status(after, "nginx")
	if a.ContainerID != b.ContainerID || b.RestartCount != 0 {
		t.Errorf("container was %s, is %s with %d restarts", a.ContainerID, b.ContainerID, b.RestartCount)
	}
}

// killAgent ends the node's process by SIGKILL and waits until it is gone.
func killAgent(t *testing.T, n *node) {
	t.Helper()
	pid := n.pid(t)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill the agent: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for syscall.Kill(pid, 0) == nil {
		state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(state), ") Z ") {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("the agent outlives SIGKILL")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// pid is the node's process.
func (n *node) pid(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(n.data(), "whylet.json"))
	if err != nil {
		t.Fatal(err)
	}
	var instance struct {
		PID int `json:"pid"`
	}
	if err := json.Unmarshal(data, &instance); err != nil || instance.PID <= 1 {
		t.Fatalf("no process in %s: %v", data, err)
	}
	return instance.PID
}

// mainProcess finds a container's main process by its name among the shims'
// children that belong to this node.
func mainProcess(t *testing.T, n *node, name string) int {
	t.Helper()
	found, err := childOfShim(n.data(), name)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func childOfShim(dataDir, name string) (int, error) {
	procs, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return 0, err
	}
	for _, file := range procs {
		comm, err := os.ReadFile(file)
		if err != nil || strings.TrimSpace(string(comm)) != name {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+2:]))
		parent, err := os.ReadFile("/proc/" + fields[1] + "/cmdline")
		if err == nil && strings.Contains(string(parent), "containerd-shim") && strings.Contains(string(parent), dataDir) {
			return pid, nil
		}
	}
	return 0, errors.New("no process " + name + " below a shim of " + dataDir)
}
