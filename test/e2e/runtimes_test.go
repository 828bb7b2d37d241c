package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	v1 "k8s.io/api/core/v1"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubelet/pkg/types"

	"whylet.dev/whylet/why/answer"
)

// Debian's containerd, version 1.6: it has no stream of events, so the node looks.
func TestForeignContainerd(t *testing.T) {
	programs := runtimes(t)
	t.Parallel()
	f := newForeign(t)
	f.write("config.toml", fmt.Sprintf(`
version = 2
root = "%[1]s/root"
state = "%[1]s/state"
[grpc]
  address = "%[1]s/runtime.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "%[1]s/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/shell:1"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "%[2]s/usr/lib/cni"
    conf_dir = "%[1]s/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "%[2]s/usr/sbin/runc"
`, f.dir, filepath.Join(programs, "debian")))
	f.program = []string{filepath.Join(programs, "debian/usr/bin/containerd"), "--config", filepath.Join(f.dir, "config.toml")}
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
	programs := runtimes(t)
	t.Parallel()
	f := newForeign(t)
	mirror := mirrorImages(t, f.n)
	f.write("policy.json", `{"default": [{"type": "insecureAcceptAnything"}]}`)
	registries := f.write("registries.conf", fmt.Sprintf(`
unqualified-search-registries = ["docker.io"]
short-name-mode = "disabled"
[[registry]]
location = "docker.io"
[[registry.mirror]]
location = "%s"
insecure = true
`, mirror))
	runc := f.write("runc", fmt.Sprintf(runcWrapper, filepath.Join(programs, "debian/usr/sbin/runc")))
	if err := os.Chmod(runc, 0o755); err != nil {
		t.Fatal(err)
	}
	f.write("crio.conf", fmt.Sprintf(`
[crio]
root = "%[1]s/root"
runroot = "%[1]s/state"
storage_driver = "overlay"
log_dir = "%[1]s/logs"
version_file = "%[1]s/version"
version_file_persist = "%[1]s/version-kept"
clean_shutdown_file = "%[1]s/clean"
[crio.api]
listen = "%[1]s/runtime.sock"
stream_port = "0"
[crio.runtime]
cgroup_manager = "cgroupfs"
conmon_cgroup = "pod"
enable_pod_events = true
default_runtime = "runc"
namespaces_dir = "%[1]s/namespaces"
pinns_path = "%[2]s/pinns"
container_exits_dir = "%[1]s/exits"
container_attach_socket_dir = "%[1]s/attach"
hooks_dir = []
[crio.runtime.runtimes.runc]
runtime_path = "%[1]s/runc"
runtime_root = "%[1]s/runc-state"
monitor_path = "%[2]s/debian/usr/bin/conmon"
monitor_cgroup = "pod"
[crio.image]
pause_image = "docker.io/library/shell:1"
pause_command = ""
signature_policy = "%[1]s/policy.json"
signature_policy_dir = "%[1]s/policies"
[crio.network]
network_dir = "%[1]s/cni"
plugin_dirs = ["%[2]s/debian/usr/lib/cni"]
[crio.nri]
enable_nri = false
`, f.dir, programs))
	f.program = []string{filepath.Join(programs, "crio"), "--config", filepath.Join(f.dir, "crio.conf"), "--config-dir", "", "--registries-conf", registries}
	f.start()
	f.refused()
	f.up()
	livesWith(t, f)
	f.leaves("") // all of CRI-O's pods have Kubernetes' labels, so there can be no others
}

// runcWrapper lets CRI-O run where nobody may lower an OOM score, for which it has no
// setting as containerd has.
const runcWrapper = `#!/bin/bash
bundle=
for i in $(seq $#); do
  if [ "${!i}" = --bundle ]; then next=$((i + 1)) bundle=${!next}; fi
done
[ -z "$bundle" ] || sed -i 's/"oomScoreAdj": *-[0-9]*/"oomScoreAdj":0/' "$bundle/config.json"
exec %s "$@"
`

// mirrorImages serves the test images on the loopback of the node's namespace, and
// returns host and port.
func mirrorImages(t *testing.T, n *node) string {
	t.Helper()
	store := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	for _, name := range []string{"busybox", "shell", "stress", "nginx"} {
		image, err := tarball.ImageFromPath(bin("images/"+name+".tar"), nil)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, store, "/v2/library/"+name, image)
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
