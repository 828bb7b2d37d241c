package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A released whylet is all that a machine needs: in a root with nothing but that one
// file, without a shell, nft or mount, a node starts, pods get their volumes, Services and
// host ports their rules, and nothing is left. It is told of a proxy that does not answer:
// whatever of the node went through it would fail.
func TestNothingButTheBinary(t *testing.T) {
	t.Parallel()
	n := rootedNode(t)
	out, code := n.whylet(t, "doctor", "--data-dir", n.data())
	if code != 0 {
		t.Errorf("whylet doctor: exit code %d", code)
	}
	contains(t, out, "program nft: within whylet", "whylet up writes /etc/hosts")
	if err := n.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, code := n.whylet(t, "image", "load", "--data-dir", n.data(), "/busybox.tar"); code != 0 {
		t.Fatal(out)
	}
	s := newSpace(t, n)
	s.apply(`
apiVersion: v1
kind: ConfigMap
metadata: {name: words}
data: {word: spoken}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 8080, targetPort: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [httpd, -f, -h, /words]
    ports: [{containerPort: 80, hostPort: 18082}]
    readinessProbe: {httpGet: {port: 80, path: /word}, periodSeconds: 1}
    volumeMounts: [{name: words, mountPath: /words}, {name: memory, mountPath: /memory}, {name: disk, mountPath: /disk}]
  volumes:
  - {name: words, configMap: {name: words}}
  - {name: memory, emptyDir: {medium: Memory}}
  - {name: disk, persistentVolumeClaim: {claimName: disk, readOnly: true}}
---
apiVersion: v1
kind: Pod
metadata: {name: host}
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: "busybox:1", command: [sleep, infinity]}]
`)
	web := s.waitReady("web")
	s.waitReady("host")
	if out, err := s.exec("web", "sh", "-c", "touch /memory/file && echo kept"); err != nil || out != "kept\n" {
		t.Errorf("a volume in memory: %q, %v", out, err)
	}
	if _, err := s.exec("web", "touch", "/disk/file"); err == nil {
		t.Error("a claim that was mounted read-only is written to")
	}
	service := strings.TrimSpace(s.mustKubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}"))
	for address, from := range map[string]string{web.Status.HostIP + ":18082": "host", service + ":8080": "web", "web." + s.name + ":8080": "web"} {
		s.eventually(30*time.Second, address+" answers", func() error {
			out, err := s.exec(from, "wget", "-qO-", "http://"+address+"/word")
			if err == nil && out != "spoken" {
				err = fmt.Errorf("it says %q", out)
			}
			return err
		})
	}
	if out, code := n.whylet(t, "why", "pod/web", "-n", s.name); code != 0 {
		t.Errorf("whylet why: exit code %d\n%s", code, out)
	}
}

// rootedNode gives a test the place for a node in a root directory of its own, which holds
// a released whylet, an image, and what every container has: proc, sys, dev and run.
func rootedNode(t *testing.T) *node {
	t.Helper()
	site, err := newSite(t.Context(), "root")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(site.dir, "root")
	t.Cleanup(func() { _ = os.RemoveAll(site.dir) })
	for _, dir := range []string{"proc", "sys", "dev", "run"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	image, err := os.ReadFile(bin("images/busybox.tar"))
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "busybox.tar"), image, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	bundle := exec.CommandContext(t.Context(), "go", "run", "whylet.dev/whylet/deploy/bundle", "-out", filepath.Join(root, "whylet"), bin("whylet"), bin("libexec"))
	if out, err := bundle.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := &node{netns: site.netns, dir: "/of-" + filepath.Base(site.dir), kubeconfig: "/kubeconfig", env: []string{"PATH=/nothing", "HTTP_PROXY=http://192.0.2.1:3128", "HTTPS_PROXY=http://192.0.2.1:3128"}}
	n.holder = holdRoot(t, site, root)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("node log:\n%s", (&node{dir: root + n.dir}).logTail())
		}
		if err := n.purge(); err != nil {
			t.Errorf("clean-up: %v", err)
		}
	})
	return n
}

// rootVariable in its environment makes the test's binary the holder of a root: a process
// whose root directory is this one, and which waits until nobody holds its standard input.
const rootVariable = "WHYLET_E2E_ROOT"

// holdRoot starts a holder and gives its process.
func holdRoot(t *testing.T, site *node, root string) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := site.command(context.WithoutCancel(t.Context()), self)
	cmd.Env = append(cmd.Env, rootVariable+"="+root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	timer := time.AfterFunc(time.Minute, func() { _ = in.Close() })
	defer timer.Stop()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("a root of its own: %v %s", err, line)
	}
	return cmd.Process.Pid
}

// enterRoot is the holder: it makes dir the root of its mount namespace.
func enterRoot(dir string) error {
	runtime.LockOSThread()
	old := filepath.Join(dir, "old")
	if err := os.Mkdir(old, 0o700); err != nil {
		return err
	}
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		{"", "/", "", unix.MS_REC | unix.MS_PRIVATE},
		{dir, dir, "", unix.MS_BIND},
		{"proc", dir + "/proc", "proc", 0},
		{"sysfs", dir + "/sys", "sysfs", 0},
		{"/sys/fs/cgroup", dir + "/sys/fs/cgroup", "", unix.MS_BIND | unix.MS_REC},
		{"/dev", dir + "/dev", "", unix.MS_BIND | unix.MS_REC},
		{"tmpfs", dir + "/run", "tmpfs", 0},
	} {
		if err := unix.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.target, err)
		}
	}
	err := errors.Join(unix.PivotRoot(dir, old), unix.Chdir("/"), unix.Unmount("/old", unix.MNT_DETACH), os.Remove("/old"))
	if err != nil {
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}
