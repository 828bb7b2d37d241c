package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// containerd is killed: the node says so, starts it again, and the pods never
// notice.
func TestKilledRuntime(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := newSpace(t, n)
	s.apply(server)
	before := s.waitReady("server")
	pid := n.containerd(t)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if out, err := n.command(t.Context(), "curl", "-sS", "--max-time", "3", "http://"+before.Status.PodIP+"/").CombinedOutput(); err != nil {
		t.Errorf("no traffic without containerd: %v: %s", err, out)
	}
	s.apply(strings.ReplaceAll(server, "name: server", "name: second"))
	s.waitReady("second")
	sameContainer(t, before, s.waitReady("server"))
	s.eventually(time.Minute, "the node's events tell of it", func() error {
		out, err := s.kubectl("describe", "node", before.Spec.NodeName)
		if err == nil && (!strings.Contains(out, "ContainerRuntimeDown") || !strings.Contains(out, "containerd answers again after")) {
			err = fmt.Errorf("they are %s", out)
		}
		return err
	})
	s.eventually(30*time.Second, "the node is Ready", func() error {
		out, code := n.whylet(t, "status", "--data-dir", n.data())
		if code != 0 {
			return fmt.Errorf("status: exit code %d: %s", code, out)
		}
		return nil
	})
}

// containerd is the process of the node's own runtime.
func (n *node) containerd(t *testing.T) int {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		args := strings.Split(string(raw), "\x00")
		if err != nil || len(args) < 2 || args[1] != "containerd" || !strings.Contains(string(raw), n.data()) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Fatal("containerd does not run")
	return 0
}

// The disk fills up: pods and the API go on, the node says what it cannot do, and
// when there is room again all is as before. Then the database itself needs room
// and has none, which ends the control plane: pods serve on, whylet status says
// what is waited for, and with room all goes on by itself.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	// A full disk is what this is about; pods would be evicted for it.
	n, disk := smallNode(t, "--eviction-hard", "memory.available<100Mi")
	s := newSpace(t, n)
	s.apply(server)
	before := s.waitReady("server")
	fill := fillDisk(t, disk)
	n.serves(t, before)
	// A new fact cannot be written, and that is said.
	s.apply(strings.ReplaceAll(server, "name: server", "name: second"))
	s.eventually(40*time.Second, "the node says what is wrong", func() error {
		out, err := s.kubectl("get", "nodes", "-o", `jsonpath={range .items[0].status.conditions[?(@.status=="True")]}{.type}: {.message}{"\n"}{end}`)
		if err == nil && !strings.Contains(out, "no space left on device") {
			err = fmt.Errorf("its conditions are %s", out)
		}
		return err
	})
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	s.waitPod("second", 90*time.Second, "Ready", isReady)
	sameContainer(t, before, s.waitReady("server"))
	s.eventually(60*time.Second, "the node is well again", func() error {
		out, err := s.kubectl("get", "nodes", "-o", "jsonpath={.items[0].status.conditions[*].message}")
		if err == nil && strings.Contains(out, "no space left on device") {
			err = fmt.Errorf("its conditions say %s", out)
		}
		return err
	})

	fill = fillDisk(t, disk)
	s.endDatabase()
	n.serves(t, before)
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	s.eventually(3*time.Minute, "the node is Ready again, by itself", func() error {
		out, code := n.whylet(t, "status", "--data-dir", n.data())
		if code != 0 {
			return fmt.Errorf("status: exit code %d: %s", code, out)
		}
		return nil
	})
	sameContainer(t, before, s.waitReady("server"))
	s.waitReady("second")
	s.eventually(time.Minute, "the node remembers why", func() error {
		raw, err := n.command(t.Context(), bin("kubectl-why"), "node/"+before.Spec.NodeName).CombinedOutput()
		out := strings.Join(strings.Fields(string(raw)), " ") // lines are broken anywhere
		if err == nil && (!strings.Contains(out, "its control plane had ended: the disk of "+n.data()+" was full") || !strings.Contains(out, "no space left on device")) {
			err = fmt.Errorf("it says %s", out)
		}
		return err
	})
}

// serves fails unless nginx in the pod answers.
func (n *node) serves(t *testing.T, pod *v1.Pod) {
	t.Helper()
	if out, err := n.command(t.Context(), "curl", "-sS", "--max-time", "20", "http://"+pod.Status.PodIP+"/").CombinedOutput(); err != nil {
		t.Errorf("no traffic on a full disk: %v: %s", err, out)
	}
}

// endDatabase writes on a full disk until the database has used up what it had
// kept for that.
func (s *space) endDatabase() {
	s.t.Helper()
	secret := filepath.Join(s.t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("0123456789abcdef", 60_000)), 0o600); err != nil {
		s.t.Fatal(err)
	}
	written := 0
	s.eventually(5*time.Minute, "the node waits for room", func() error {
		status, _ := s.node.whylet(s.t, "status", "--data-dir", s.node.data())
		if strings.Contains(status, "waiting for room on the disk") {
			s.t.Logf("after %d secrets:\n%s", written, status)
			return nil
		}
		written++
		_, err := s.kubectl("create", "secret", "generic", fmt.Sprintf("big-%d", written), "--from-file=f="+secret)
		return fmt.Errorf("it took %d secrets (%w); status: %s", written, err, status)
	})
}

// smallNode starts a node whose data is on a disk of its own, a small one, and says
// where that is.
func smallNode(t *testing.T, flags ...string) (n *node, disk string) {
	t.Helper()
	disk = smallDisk(t)
	n = bareNode(t)
	if err := os.Remove(n.dir); err != nil {
		t.Fatal(err)
	}
	n.dir = filepath.Join(disk, "node")
	n.kubeconfig = filepath.Join(n.dir, "kubeconfig")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := n.up(ctx, flags...); err != nil {
		t.Fatal(err)
	}
	if err := n.loadImages(ctx); err != nil {
		t.Fatal(err)
	}
	return n, disk
}

// smallDisk makes a file system of 1.2 GB and says where it is mounted.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "whylet-disk-")
	if err != nil {
		t.Fatal(err)
	}
	image, mount := filepath.Join(dir, "image"), filepath.Join(dir, "disk")
	t.Cleanup(func() {
		if err := syscall.Unmount(mount, 0); err != nil {
			t.Errorf("unmount %s: %v", mount, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	for _, args := range [][]string{
		{"truncate", "-s", "1200M", image},
		{"mkfs.ext4", "-q", image},
		{"mkdir", mount},
		{"mount", "-o", "loop", image, mount},
	} {
		if out, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
	}
	return mount
}

// fillDisk leaves not a block of that file system, and returns the file to remove.
func fillDisk(t *testing.T, disk string) string {
	t.Helper()
	file := filepath.Join(disk, "fill")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 1<<20)
	for size := len(block); size >= 512; {
		if _, err := f.Write(block[:size]); err != nil {
			size /= 2
		}
	}
	if err := f.Sync(); err != nil {
		t.Logf("the last blocks: %v", err)
	}
	return file
}

// A second node joins the first one's API server, renews its certificates, and
// goes on alone while the server cannot be reached.
func TestSecondNodeLosesItsAPI(t *testing.T) {
	t.Parallel()
	first, second := joined(t, "--node-api-port", "10260")
	s := newSpace(t, first)
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: far}
spec:
  nodeName: second
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: "busybox:1", command: [sh, -c, "echo hello; until [ -e /stop ]; do sleep 0.1; done; exit 5"]}
`)
	pod := s.waitReady("far")
	if pod.Status.HostIP != "10.99.0.2" {
		t.Errorf("it runs at %s", pod.Status.HostIP)
	}
	s.approveServing(second)
	if out := s.mustKubectl("logs", "far"); out != "hello\n" {
		t.Errorf("its log is %q", out)
	}
	s.renews(first, second)

	link(t, first, "down")
	// The container ends while nobody can be asked, and is started again.
	pid := filepath.Join("/proc", fmt.Sprint(second.shellIn(t)), "root", "stop")
	if err := os.WriteFile(pid, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.eventually(30*time.Second, "it runs again", func() error {
		_, err := os.Stat(filepath.Join("/proc", fmt.Sprint(second.shellIn(t)), "root", "stop"))
		if err == nil {
			return fmt.Errorf("it is still the first one")
		}
		return nil
	})
	s.eventually(90*time.Second, "the first node misses it", func() error {
		out, err := s.kubectl("get", "node", "second", "--no-headers")
		if err == nil && !strings.Contains(out, "NotReady") {
			err = fmt.Errorf("kubectl says %q", out)
		}
		return err
	})

	link(t, first, "up")
	s.mustKubectl("wait", "node/second", "--for=condition=Ready", "--timeout=50s")
	after := s.waitPod("far", 40*time.Second, "tells what happened meanwhile", func(p *v1.Pod) bool {
		c := status(p, "c")
		return isReady(p) && c.RestartCount == 1 && c.LastTerminationState.Terminated != nil && c.LastTerminationState.Terminated.ExitCode == 5
	})
	if after.UID != pod.UID {
		t.Error("it is another pod")
	}
}

// approveServing approves the serving certificate that a joined node asks for. The
// API server trusts no other, so nobody can read its pods' logs before.
func (s *space) approveServing(n *node) {
	s.t.Helper()
	if _, err := s.kubectl("logs", "far"); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		s.t.Errorf("logs of a node whose certificate nobody approved: %v", err)
	}
	if out, _ := n.whylet(s.t, "status", "--data-dir", n.data()); !strings.Contains(out, "kubectl certificate approve") {
		s.t.Errorf("status does not say what is missing:\n%s", out)
	}
	s.eventually(2*time.Minute, "logs with the approved certificate", func() error {
		if err := s.approvePending(); err != nil {
			return err
		}
		_, err := s.kubectl("logs", "far")
		return err
	})
	if out, code := n.whylet(s.t, "status", "--data-dir", n.data()); code != 0 || strings.Contains(out, "kubectl certificate approve") {
		s.t.Errorf("status, exit code %d:\n%s", code, out)
	}
}

// ownServingCert has joined bring the second node its serving certificate.
const ownServingCert = "--serving-cert"

// joined starts a node with a control plane, and a second one that joins it over a
// cable: link takes that down and up.
func joined(t *testing.T, flags ...string) (first, second *node) {
	t.Helper()
	first, second = bareNode(t), bareNode(t)
	connect(t, first, second)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := first.up(ctx, "--api-address", "10.99.0.1", "--node-name", "first"); err != nil {
		t.Fatal(err)
	}
	join := admit(t, first, "second")
	if slices.Contains(flags, ownServingCert) {
		flags = []string{ownServingCert, filepath.Join(join, "serving.crt"), "--serving-key", filepath.Join(join, "serving.key")}
	}
	out, code := second.whylet(t, append([]string{
		"node", "--detach", "--kubeconfig", filepath.Join(join, "node.conf"),
		"--node-name", "second", "--pod-cidr", "10.44.0.0/16", "--data-dir", second.data(), evictForMemory,
	}, flags...)...)
	if code != 0 {
		t.Fatalf("whylet node: exit code %d: %s\n%s", code, out, second.logTail())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("log of the second node:\n%s", second.logTail())
		}
	})
	if err := second.loadImages(ctx); err != nil {
		t.Fatal(err)
	}
	return first, second
}

// shellIn is the main process of the node's only busybox shell.
func (n *node) shellIn(t *testing.T) int {
	t.Helper()
	var pid int
	deadline := time.Now().Add(20 * time.Second)
	for {
		var err error
		if pid, err = childOfShim(n.data(), "sh"); err == nil {
			return pid
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// connect joins two network namespaces by a cable: 10.99.0.1 and 10.99.0.2.
func connect(t *testing.T, a, b *node) {
	t.Helper()
	for _, args := range []string{
		"-n " + a.netns + " link add cable type veth peer name cable netns " + b.netns,
		"-n " + a.netns + " address add 10.99.0.1/24 dev cable",
		"-n " + b.netns + " address add 10.99.0.2/24 dev cable",
		"-n " + a.netns + " link set cable up",
		"-n " + b.netns + " link set cable up",
		"-n " + a.netns + " route add default via 10.99.0.2",
		"-n " + b.netns + " route add default via 10.99.0.1",
	} {
		if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
}

// link plugs the cable in or pulls it. A pulled cable takes the routes along.
func link(t *testing.T, n *node, state string) {
	t.Helper()
	commands := []string{"-n " + n.netns + " link set cable " + state}
	if state == "up" {
		commands = append(commands, "-n "+n.netns+" route add default via 10.99.0.2")
	}
	for _, args := range commands {
		if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(args)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", args, err, out)
		}
	}
}

// admit makes a node's credentials as docs/operations.md shows it, and returns the
// folder with node.conf, serving.crt and serving.key.
func admit(t *testing.T, n *node, name string) string {
	t.Helper()
	dir := t.TempDir()
	const script = `set -eu
cd "$DIR"
ask() { # FILE SIGNER USAGE
kubectl create -f - <<END
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: $NAME-$1}
spec: {signerName: kubernetes.io/$2, request: $(base64 -w0 $1.csr), usages: [digital signature, $3]}
END
}
take() { # FILE
kubectl certificate approve $NAME-$1
kubectl wait csr/$NAME-$1 --for=jsonpath='{.status.certificate}' --timeout=30s
kubectl get csr $NAME-$1 -o jsonpath='{.status.certificate}' | base64 -d > $1.crt
}
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/O=system:nodes/CN=system:node:$NAME" \
  -keyout client.key -out client.csr 2>/dev/null
ask client kube-apiserver-client-kubelet "client auth"
take client
kubectl config view --raw --minify --flatten -o jsonpath='{.clusters[0].cluster.certificate-authority-data}' | base64 -d > ca.crt
SERVER=$(kubectl config view --minify -o jsonpath='{.clusters[0].cluster.server}')
ADMIN=$KUBECONFIG
export KUBECONFIG=$DIR/node.conf
kubectl config set-cluster c --server="$SERVER" --certificate-authority=ca.crt --embed-certs
kubectl config set-credentials n --client-certificate=client.crt --client-key=client.key --embed-certs
kubectl config set-context c --cluster=c --user=n
kubectl config use-context c
# The certificate that the node serves with: it asks for it itself.
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/O=system:nodes/CN=system:node:$NAME" \
  -addext "subjectAltName=DNS:$NAME,IP:$IP" -keyout serving.key -out serving.csr 2>/dev/null
ask serving kubelet-serving "server auth"
export KUBECONFIG=$ADMIN
take serving
`
	cmd := n.command(t.Context(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+n.kubeconfig, "DIR="+dir, "NAME="+name, "IP=10.99.0.2",
		"PATH="+filepath.Dir(bin("kubectl"))+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("credentials for %s: %v: %s", name, err, out)
	}
	return dir
}
