package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
)

// The machine is started anew while pods run: they come back with one restart
// more, as with a kubelet; what was finished stays finished; what was written to a
// disk is still there; and everybody is told why.
func TestReboot(t *testing.T) {
	more(t)
	t.Parallel()
	n := startNode(t)
	loaded := time.Now()
	s := newSpace(t, n)
	s.apply(server + `---
apiVersion: v1
kind: Pod
metadata: {name: keeps}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: busybox:1
    command: [sh, -c, "echo run >> /disk/runs; sleep infinity"]
    volumeMounts: [{name: disk, mountPath: /disk}, {name: memory, mountPath: /memory}]
  volumes: [{name: disk, emptyDir: {}}, {name: memory, emptyDir: {medium: Memory}}]
---
apiVersion: v1
kind: Pod
metadata: {name: done}
spec:
  restartPolicy: Never
  containers: [{name: c, image: "busybox:1", command: ["true"]}]
`)
	before := s.waitReady("server")
	keeps := s.waitReady("keeps")
	s.waitPod("done", time.Minute, "Succeeded", func(p *v1.Pod) bool { return p.Status.Phase == v1.PodSucceeded })
	if _, err := s.exec("keeps", "touch", "/memory/file"); err != nil {
		t.Fatal(err)
	}

	// What was loaded in the seconds before a machine ends may have to be once more.
	s.eventually(2*time.Minute, "containerd's images are safe", func() error {
		files, _ := filepath.Glob(filepath.Join(n.data(), "containerd/*.whylet-metadata-copy/meta.db"))
		for _, file := range files {
			if info, err := os.Stat(file); err == nil && info.ModTime().After(loaded) {
				return nil
			}
		}
		return fmt.Errorf("no copy of the database since they were loaded: %v", files)
	})
	n.reboot(t, s.cgroupOf(keeps, "memory"))
	if err := n.up(t.Context()); err != nil {
		t.Fatal(err)
	}

	after := s.waitPod("server", 2*time.Minute, "Ready with one restart", func(p *v1.Pod) bool {
		return isReady(p) && status(p, "nginx").RestartCount == 1
	})
	if a, b := status(before, "nginx"), status(after, "nginx"); a.ContainerID == b.ContainerID || after.UID != before.UID {
		t.Errorf("before the machine started anew it was %+v, after it %+v", a, b)
	}
	s.eventually(time.Minute, "nginx answers at the pod's new address", func() error {
		out, err := n.command(t.Context(), "curl", "-sS", "--max-time", "3", "http://"+after.Status.PodIP+"/").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, out)
		}
		return err
	})
	s.waitPod("keeps", 2*time.Minute, "Ready with one restart", func(p *v1.Pod) bool {
		return isReady(p) && status(p, "c").RestartCount == 1
	})
	if out, err := s.exec("keeps", "sh", "-c", "cat /disk/runs; ls /memory"); err != nil || out != "run\nrun\n" {
		t.Errorf("its volumes hold %q, %v", out, err)
	}
	if p, err := s.pod("done"); err != nil || p.Status.Phase != v1.PodSucceeded || status(p, "c").RestartCount != 0 {
		t.Errorf("a pod that was finished: %+v, %v", p.Status, err)
	}
	s.toldOfReboot()
}

// toldOfReboot looks where people look: the pod's answer, the node's events and
// its boot id.
func (s *space) toldOfReboot() {
	s.t.Helper()
	s.eventually(time.Minute, "why names the restart of the machine", func() error {
		out, err := s.node.command(s.t.Context(), bin("kubectl-why"), "-n", s.name, "server").CombinedOutput()
		if !strings.Contains(string(out), "node-restarted") {
			return fmt.Errorf("it says (%w):\n%s", err, out)
		}
		return nil
	})
	s.eventually(time.Minute, "the node has the event", func() error {
		out, err := s.kubectlIn(s.t.Context(), "", "get", "events", "-n", "default", "--field-selector", "reason=Rebooted", "-o", "jsonpath={.items[*].message}")
		if err == nil && !strings.Contains(out, "has been rebooted, boot id: "+newBoot) {
			err = fmt.Errorf("events: %q", out)
		}
		return err
	})
	if id := s.mustKubectl("get", "nodes", "-o", "jsonpath={.items[0].status.nodeInfo.bootID}"); id != newBoot {
		s.t.Errorf("the Node has the boot id %s", id)
	}
}

// newBoot is the boot id after [node.reboot].
const newBoot = "11111111-2222-4333-8444-555555555555"

// reboot leaves of the node what a reboot of its machine leaves: files on disk.
// cgroup is that of one of its containers.
func (n *node) reboot(t *testing.T, cgroup string) {
	t.Helper()
	root, _, _ := strings.Cut(cgroup, "/kubepods")
	s := &space{t: t, node: n}
	networks := map[string]bool{}
	s.eventually(time.Minute, "all processes of the node end", func() error {
		pids := n.processes(root)
		for _, pid := range pids {
			if id, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid)); err == nil {
				networks[id] = true
			}
			// A process that has just ended is as good as one that was killed.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(pids) > 0 {
			return fmt.Errorf("processes %v", pids)
		}
		return nil
	})
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	delete(networks, own)
	s.eventually(time.Minute, "all mounts of the node are gone", func() error { return n.unmountAll(networks) })
	s.eventually(time.Minute, "all cgroups of the node are gone", func() error { return removeCgroups(root) })
	if err := n.makeNetNS(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.env = append(n.env, "WHYLET_BOOT_ID="+newBoot)
}

// processes are the node's own, those of its runtime, and all in its cgroup.
func (n *node) processes(cgroup string) []int {
	var pids []int
	add := func(text string) {
		if pid, err := strconv.Atoi(text); err == nil && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range procs {
		// The command line of a process that is about to end is empty.
		if raw, err := os.ReadFile(file); err == nil && strings.Contains(string(raw), n.data()) {
			add(filepath.Base(filepath.Dir(file)))
		}
	}
	for _, dir := range cgroupDirs(cgroup) {
		raw, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for pid := range strings.FieldsSeq(string(raw)) {
			add(pid)
		}
	}
	return pids
}

// cgroupDirs are the folders of a cgroup and all below it, in every hierarchy,
// the innermost first.
func cgroupDirs(cgroup string) []string {
	roots, _ := filepath.Glob("/sys/fs/cgroup/*" + cgroup)
	roots = append(roots, "/sys/fs/cgroup"+cgroup)
	var dirs []string
	for _, root := range roots {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				dirs = append(dirs, path)
			}
			return nil
		})
	}
	slices.Reverse(dirs)
	return dirs
}

func removeCgroups(cgroup string) error {
	var errs []error
	for _, dir := range cgroupDirs(cgroup) {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// unmountAll takes away all mounts below the node's folder, and the names that
// keep these network namespaces (net:[inode]).
func (n *node) unmountAll(networks map[string]bool) error {
	raw, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	slices.Reverse(lines)
	seen := map[string]bool{}
	for _, line := range lines {
		fields := strings.Fields(line) // proc_pid_mountinfo(5): the fourth is the root, the fifth where it is.
		network := networks[fields[3]]
		if !network && !strings.HasPrefix(fields[4], n.dir+"/") || seen[fields[4]] {
			continue
		}
		seen[fields[4]] = true
		if err := unix.Unmount(fields[4], unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("unmount %s: %w", fields[4], err)
		}
		if network {
			if err := os.Remove(fields[4]); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	if _, err := os.Stat(filepath.Join("/run/netns", n.netns)); err == nil {
		out, err := exec.Command("ip", "netns", "del", n.netns).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ip netns del: %w: %s", err, out)
		}
	}
	return nil
}
