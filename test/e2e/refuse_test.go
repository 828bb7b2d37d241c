package e2e

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"whylet.dev/whylet/test/pty"
)

// What cannot work is refused at once, with what is wrong, what mends it, and an
// exit code of its own; and nothing is left of the attempt.
func TestRefusals(t *testing.T) {
	t.Parallel()
	n := bareNode(t)
	foreign := filepath.Join(n.dir, "foreign")
	if err := os.MkdirAll(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(foreign, "letter.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	joinless := filepath.Join(n.dir, "joinless")
	for _, c := range []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"unknown flag", []string{"up", "--dtach"}, 2, []string{"unknown flag: --dtach", "whylet up --help"}},
		{"unknown command", []string{"upp"}, 2, []string{`unknown command "upp"`}},
		{"an argument too many", []string{"up", "now"}, 2, []string{"now"}},
		{"bad name", []string{"up", "--node-name", "A_B", "--data-dir", n.data()}, 2, []string{`--node-name "A_B"`}},
		{"bad range", []string{"up", "--pod-cidr", "10.42.0.1/16", "--data-dir", n.data()}, 2, []string{`--pod-cidr "10.42.0.1/16"`}},
		{"bad size", []string{"up", "--node-memory", "2G1", "--data-dir", n.data()}, 2, []string{`--node-memory "2G1"`}},
		{"overlapping ranges", []string{"up", "--service-cidr", "10.42.0.0/17", "--data-dir", n.data()}, 2, []string{"10.42.0.0/17"}},
		{"foreign directory", []string{"up", "--data-dir", foreign}, 1, []string{foreign, "not Whylet's"}},
		{"foreign directory, detached", []string{"up", "--detach", "--data-dir", foreign}, 1, []string{foreign, "not Whylet's"}},
		{"node without kubeconfig", []string{"node", "--data-dir", joinless}, 2, []string{"--kubeconfig is needed"}},
		{"runtime that is not there", []string{"up", "--runtime-endpoint", "unix:///run/no.sock", "--data-dir", n.data()}, 4, []string{"does not answer at unix:///run/no.sock", "start that runtime"}},
		{"status of nothing", []string{"status", "--data-dir", n.data()}, 3, nil},
		{"demo without a node", []string{"demo", "--data-dir", n.data()}, 3, []string{"whylet up"}},
		{"load without a node", []string{"image", "load", "--data-dir", n.data(), "x.tar"}, 3, []string{"whylet up"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			out, code := n.whylet(t, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d:\n%s", code, c.code, out)
			}
			contains(t, out, c.says...)
		})
	}
	files, err := os.ReadDir(foreign)
	if err != nil || len(files) != 1 {
		t.Errorf("the foreign directory holds %v, %v", files, err)
	}
}

// Whoever is not root is told so before anything is touched.
func TestNotRoot(t *testing.T) {
	t.Parallel()
	n := bareNode(t)
	// Somebody else has to be able to reach the binary.
	dir, err := os.MkdirTemp("/tmp", "whylet-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "whylet")
	if out, err := exec.CommandContext(t.Context(), "cp", bin("whylet"), program).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	cmd := n.command(t.Context(), "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", program, "up", "--data-dir", filepath.Join(dir, "none"))
	out, err := cmd.CombinedOutput()
	if exitCode(err) != 4 {
		t.Errorf("exit code: %v, want 4", err)
	}
	contains(t, string(out), "root", "sudo whylet up")
	if _, err := os.Stat(filepath.Join(dir, "none")); err == nil {
		t.Error("a directory was made")
	}
}

// A port that somebody has is named, and who has it.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	n := bareNode(t)
	listener := n.listen(t, "127.0.0.1:6443")
	defer listener.Close()
	for _, detach := range []string{"--detach=false", "--detach"} {
		out, code := n.whylet(t, "up", detach, "--data-dir", n.data())
		if code != 4 {
			t.Errorf("exit code %d, want 4:\n%s", code, out)
		}
		contains(t, out, "port 127.0.0.1:6443", "address already in use", "by process", "--api-port")
	}
}

// In the foreground Ctrl-C stops the node in order; its containers go on.
func TestForeground(t *testing.T) {
	t.Parallel()
	n := bareNode(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	out := func() string {
		raw, err := os.ReadFile(file.Name())
		if err != nil {
			t.Error(err)
		}
		return string(raw)
	}
	cmd := n.command(ctx, bin("whylet"), "up", "--data-dir", n.data(), "--kubeconfig", n.kubeconfig, evictForMemory)
	cmd.Stdout, cmd.Stderr = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s := &space{t: t, node: n, name: "default"}
	s.eventually(time.Minute, "up says that it is Ready", func() error {
		if said := out(); !strings.Contains(said, "Press Ctrl-C") {
			return fmt.Errorf("it says %s", said)
		}
		return nil
	})
	if nodes := s.mustKubectl("get", "nodes", "--no-headers"); !strings.Contains(nodes, " Ready ") {
		t.Errorf("kubectl says %q", nodes)
	}
	// A terminal sends the signal to all processes of the group.
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("after Ctrl-C: %v\n%s", err, out())
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("it does not end after Ctrl-C:\n%s", out())
	}
	contains(t, out(), "is Ready after", "export KUBECONFIG=", "Press Ctrl-C")
	if _, err := os.Stat(filepath.Join(n.data(), "whylet.json")); err != nil {
		t.Error("the state is gone:", err)
	}
}

// On a terminal up goes on with a view of the pods, and of the answer that needs a person
// first, until somebody types Ctrl-C; down then tells what it does.
func TestForegroundOnTerminal(t *testing.T) {
	t.Parallel()
	n := bareNode(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	terminal := pty.Open(t, 100)
	cmd := n.command(ctx, bin("whylet"), "up", "--data-dir", n.data(), "--kubeconfig", n.kubeconfig, evictForMemory)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal.Program, terminal.Program, terminal.Program
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &space{t: t, node: n, name: "default"}
	shows := func(words string) {
		t.Helper()
		s.eventually(time.Minute, words, func() error {
			if shown := terminal.Shown(); !strings.Contains(shown, words) {
				return fmt.Errorf("it shows %q", shown)
			}
			return nil
		})
	}
	shows("0 pods, all Ready")
	s.eventually(time.Minute, "a pod without an image", func() error {
		_, err := s.kubectl("run", "never", "--image=no.invalid/x:1", "--image-pull-policy=Never") // refused until there is a service account
		return err
	})
	shows("worst: default/never · NotStarting · image-policy-never")
	if err := terminal.Type("\x03"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v\n%s", err, terminal.Shown())
	}
	shows("stopping")
	out, code := n.whylet(t, "down", "--data-dir", n.data())
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	contains(t, out, "ending the container runtime", "Containers keep running")
}

// Purge leaves nothing: no process, mount, namespace, interface, nftables table,
// cgroup or file.
func TestPurgeLeavesNothing(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := &space{t: t, node: n, name: "default"} // It is purged before a test's own would be deleted.
	s.eventually(time.Minute, "default service account", func() error {
		_, err := s.kubectl("get", "serviceaccount", "default")
		return err
	})
	s.apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: nginx, image: "nginx:1", resources: {limits: {memory: 40Mi}}, volumeMounts: [{name: m, mountPath: /m}]}
      volumes: [{name: m, emptyDir: {medium: Memory}}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: port}
spec:
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity], ports: [{containerPort: 80, hostPort: 18081}]}]
`)
	s.mustKubectl("rollout", "status", "deployment/web", "--timeout=40s")
	pod := s.waitReady("port")
	cgroup := s.cgroupOf(pod, "memory")
	if len(n.traces(t, cgroup)) < 6 {
		t.Errorf("a running node left only these traces, so the test looks in the wrong places: %v", n.traces(t, cgroup))
	}
	if out, code := n.whylet(t, "down", "--purge", "--data-dir", n.data()); code != 0 {
		t.Fatalf("down --purge: exit code %d: %s", code, out)
	}
	if left := n.traces(t, cgroup); len(left) > 0 {
		t.Errorf("left over:\n%s", strings.Join(left, "\n"))
	}
	// Once more, and where there never was anything, it is no error.
	if out, code := n.whylet(t, "down", "--purge", "--data-dir", n.data()); code != 0 {
		t.Errorf("a second purge: exit code %d: %s", code, out)
	}
}

// traces lists what a node has on the machine and in its network namespace.
// cgroup is that of one of its containers.
func (n *node) traces(t *testing.T, cgroup string) []string {
	t.Helper()
	var found []string
	add := func(kind, what string) { found = append(found, kind+" "+strings.TrimSpace(what)) }
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range procs {
		raw, err := os.ReadFile(file)
		if args := strings.ReplaceAll(string(raw), "\x00", " "); err == nil && strings.Contains(args, n.data()) {
			add("process", args)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, n.data()) {
			add("mount", line)
		}
	}
	for _, args := range [][]string{{"ip", "-o", "link"}, {"nft", "list", "tables"}} {
		out, err := n.command(t.Context(), args[0], args[1:]...).Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		for line := range strings.Lines(string(out)) {
			if !strings.Contains(line, "lo: <") {
				add(args[0], line)
			}
		}
	}
	root, _, _ := strings.Cut(cgroup, "/kubepods")
	groups, _ := filepath.Glob("/sys/fs/cgroup/*" + root)
	if _, err := os.Stat("/sys/fs/cgroup" + root); err == nil {
		groups = append(groups, "/sys/fs/cgroup"+root)
	}
	for _, g := range groups {
		add("cgroup", g)
	}
	_ = filepath.WalkDir(n.data(), func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			add("file", path)
			return fs.SkipAll
		}
		return nil
	})
	return found
}
