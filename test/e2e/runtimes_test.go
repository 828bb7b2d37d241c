package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubelet/pkg/types"

	"whylet.dev/whylet/test/runtimes"
	"whylet.dev/whylet/why/answer"
)

// Debian's containerd, version 1.6: it has no stream of events, so the node looks.
func TestForeignContainerd(t *testing.T) {
	programs := foreignRuntimes(t)
	t.Parallel()
	f := newForeign(t)
	var err error
	if f.program, err = f.place(programs).Containerd(); err != nil {
		t.Fatal(err)
	}
	f.start()
	ctr := filepath.Join(programs, "debian/usr/bin/ctr")
	sandbox := f.n.command(t.Context(), ctr, "--address", f.socket(), "--namespace", "k8s.io", "images", "import", bin("images/shell.tar"))
	if out, err := sandbox.CombinedOutput(); err != nil {
		t.Fatalf("import the sandbox image: %v: %s", err, out)
	}
	theirs := f.runTheirs(nil)
	f.refused()
	f.up()
	if err := f.n.loadImages(t.Context()); err != nil {
		t.Fatal(err)
	}
	livesWith(t, f)
	f.leaves(theirs)
}

// CRI-O with its stream of events switched on. CRI has no call to load an image, so
// CRI-O pulls them from a registry that stands in for docker.io.
func TestForeignCRIO(t *testing.T) {
	programs := foreignRuntimes(t)
	t.Parallel()
	f := newForeign(t)
	mirror := mirrorImages(t, f.n)
	var err error
	if f.program, err = f.place(programs).CRIO(mirror); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.refused()
	f.up()
	livesWith(t, f)
	f.leaves("") // all of CRI-O's pods have Kubernetes' labels, so there can be no others
}

// mirrorImages serves the test images on the loopback of the node's namespace, and
// returns host and port.
func mirrorImages(t *testing.T, n *node) string {
	t.Helper()
	store := runtimes.NewMirror()
	if err := store.Load(bin("images/busybox.tar"), bin("images/shell.tar"), bin("images/stress.tar"), bin("images/nginx.tar")); err != nil {
		t.Fatal(err)
	}
	listener := n.listen(t, "127.0.0.1:0")
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: store}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

const foreignPods = `
apiVersion: v1
kind: Pod
metadata: {name: sick}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: busybox:1
    command: [sh, -c, "touch /tmp/well; echo began; trap 'echo told to end; exit 0' TERM; while :; do sleep 1; done"]
    readinessProbe: {exec: {command: [test, -e, /tmp/well]}, periodSeconds: 1}
    livenessProbe: {exec: {command: [test, -e, /tmp/well]}, periodSeconds: 1, failureThreshold: 2}
---
apiVersion: v1
kind: Pod
metadata: {name: hungry}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: app
    image: stress:1
    args: [--vm, "1", --vm-bytes, 15M]
    resources: {limits: {memory: 15Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: exits}
spec:
  restartPolicy: Never
  containers:
  - name: app
    image: busybox:1
    command: [sh, -c, "echo last words > /dev/termination-log; exit 3"]
---
` + server

// livesWith is a node's life with a runtime that is not its own.
func livesWith(t *testing.T, f *foreign) {
	s := &space{t: t, node: f.n, name: "default"}
	s.eventually(patience, "default service account", func() error {
		_, err := s.kubectl("get", "serviceaccount", "default")
		return err
	})
	s.apply(foreignPods)

	// A liveness kill, told by the probe, the container's logs and the answer.
	s.ready("sick")
	if out, err := s.exec("sick", "sh", "-c", "rm /tmp/well; echo done"); err != nil || out != "done\n" {
		t.Errorf("exec: %v %q", err, out)
	}
	s.waitPod("sick", patience, "restarted and Ready", func(p *v1.Pod) bool {
		return status(p, "app").RestartCount == 1 && isReady(p)
	})
	contains(t, s.mustKubectl("logs", "sick"), "began")
	contains(t, s.mustKubectl("logs", "sick", "--previous"), "began", "told to end")
	s.why("sick", answer.AppUnhealthy, "liveness")

	// What the kernel and the container itself say of an end.
	s.why("hungry", answer.MemoryLimitChild)
	ended := s.waitPod("exits", patience, "failed", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodFailed })
	if end := status(ended, "app").State.Terminated; end == nil || end.ExitCode != 3 || end.Message != "last words\n" {
		t.Errorf("the end of the one that exits: %+v", end)
	}

	// Numbers and streams.
	before := s.ready("server")
	s.eventually(patience, "usage", func() error {
		out, err := s.kubectl("top", "pod", "server")
		if err == nil {
			contains(t, out, "server")
		}
		return err
	})
	if out, err := f.n.command(t.Context(), "curl", "-sS", "--max-time", "60", "http://"+before.Status.PodIP+"/").CombinedOutput(); err != nil {
		t.Errorf("no way to the server: %v: %s", err, out)
	}

	f.interrupt(s, before)
}

// interrupt kills the agent, and stops the runtime, in turn: nothing is restarted.
func (f *foreign) interrupt(s *space, before *v1.Pod) {
	f.t.Helper()
	killAgent(f.t, f.n)
	f.up()
	sameContainer(f.t, before, s.ready("server"))
	f.stop()
	s.eventually(patience, "the node says that its runtime is away", func() error {
		out, err := s.kubectl("get", "node", "-o", `jsonpath={.items[0].status.conditions[?(@.type=="Ready")].status}`)
		if err == nil && out == "True" {
			err = fmt.Errorf("it is Ready")
		}
		return err
	})
	f.meanwhile(s)
	s.mustKubectl("wait", "node", "--all", "--for=condition=Ready", "--timeout=50s")
	sameContainer(f.t, before, s.ready("server"))
}

// meanwhile starts the agent anew while the runtime is away, which it says, and then
// the runtime.
func (f *foreign) meanwhile(s *space) {
	f.t.Helper()
	killAgent(f.t, f.n)
	ctx, cancel := context.WithTimeout(f.t.Context(), 2*patience)
	defer cancel()
	up := make(chan error, 1)
	go func() { up <- f.n.up(ctx, f.flags()...) }()
	s.eventually(patience, "the new agent says that its runtime is away", func() error {
		out, err := s.kubectl("get", "node", "-o", `jsonpath={.items[0].status.conditions[?(@.type=="Ready")].message}`)
		if err == nil && !strings.Contains(out, "container runtime is down: container runtime at") {
			err = errors.New(out)
		}
		return err
	})
	f.start()
	if err := <-up; err != nil {
		f.t.Fatal(err)
	}
}

// leaves purges the node: the runtime then has what others run in it and no more.
func (f *foreign) leaves(theirs string) {
	f.t.Helper()
	if out, code := f.n.whylet(f.t, "down", "--purge", "--data-dir", f.n.data()); code != 0 {
		f.t.Fatalf("down --purge: %s", out)
	}
	var sandboxes []*runtimeapi.PodSandbox
	f.ask(func(service internalapi.RuntimeService) (err error) {
		sandboxes, err = service.ListPodSandbox(f.t.Context(), nil)
		return err
	})
	if theirs == "" && len(sandboxes) == 0 {
		return
	}
	if len(sandboxes) != 1 || sandboxes[0].Id != theirs || sandboxes[0].State != runtimeapi.PodSandboxState_SANDBOX_READY {
		f.t.Errorf("the runtime has %v, and should have %s of others, ready", sandboxes, theirs)
	}
	if err := syscall.Kill(f.process.Process.Pid, 0); err != nil {
		f.t.Errorf("the runtime: %v", err)
	}
	if _, err := os.Stat(f.n.data()); !os.IsNotExist(err) {
		f.t.Errorf("%s is left over: %v", f.n.data(), err)
	}
}

// runTheirs runs somebody else's pod in the runtime: with labels, one of another
// Kubernetes node.
func (f *foreign) runTheirs(labels map[string]string) (id string) {
	f.t.Helper()
	f.ask(func(service internalapi.RuntimeService) (err error) {
		id, err = service.RunPodSandbox(f.t.Context(), &runtimeapi.PodSandboxConfig{
			Metadata:     &runtimeapi.PodSandboxMetadata{Name: "theirs", Namespace: "others", Uid: "u1", Attempt: uint32(len(labels))},
			LogDirectory: filepath.Join(f.dir, "pod-logs"),
			Labels:       labels,
			Linux: &runtimeapi.LinuxPodSandboxConfig{
				CgroupParent: "/" + filepath.Base(f.dir),
				// As Kubernetes' pods have it: CRI-O then needs no process for the sandbox,
				// and waits for none to end.
				SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
					NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER},
				},
			},
		}, "")
		return err
	})
	return id
}

// refused: while the runtime has pods of another node, this one does not start.
func (f *foreign) refused() {
	f.t.Helper()
	id := f.runTheirs(map[string]string{types.KubernetesPodUIDLabel: "u1"})
	out, code := f.n.whylet(f.t, "up", "--data-dir", f.n.data(), "--runtime-endpoint", f.endpoint())
	if code != 4 {
		f.t.Errorf("up beside another node's pods: exit code %d: %s", code, out)
	}
	contains(f.t, out, "others/theirs", "another node")
	f.ask(func(service internalapi.RuntimeService) error {
		return errors.Join(service.StopPodSandbox(f.t.Context(), id), service.RemovePodSandbox(f.t.Context(), id))
	})
}
