package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// What goes wrong in the first minutes, brought about for real: the doctor names it, and
// the mend is for the case at hand.
func TestDoctorNamesTheMend(t *testing.T) {
	t.Parallel()
	n := bareNode(t)
	small := filepath.Join(n.dir, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=20m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(small, 0) })
	startAs(t, n, "k3s-server", "sleep", "600")
	data := []string{bin("whylet"), "doctor", "--data-dir"}
	for _, c := range []struct {
		name    string
		command []string
		env     string
		missing bool
		says    []string
	}{
		{"full disk", append(data, filepath.Join(small, "data")), "", true, []string{"disk space", "20 MiB", "choose another --data-dir"}},
		{"another Kubernetes", append(data, n.data()), "", false, []string{"another Kubernetes: k3s-server", "ip netns add"}},
		{"proxy", append(data, n.data()), "HTTPS_PROXY=http://192.0.2.1:3128", false, []string{"proxy: HTTPS_PROXY is used for images"}},
		{"proxy that is none", append(data, n.data()), "HTTPS_PROXY=::", false, []string{"no address of a proxy", "export HTTPS_PROXY=http://HOST:PORT"}},
		{"container with few rights", append([]string{"setpriv", "--bounding-set", "-sys_admin"}, append(data, n.data())...), "", true, []string{"CAP_SYS_ADMIN", "root"}},
		{"container without cgroups", slices.Concat(withoutCgroups, data, []string{n.data()}), "", true, []string{"no cgroups can be seen", "mount -t cgroup2", "run it with --privileged"}},
		{"ip netns exec", append([]string{"ip", "netns", "exec", n.netns}, append(data, n.data())...), "", true, []string{"ip netns exec hides", "nsenter --net=/run/netns/" + n.netns}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := n.command(t.Context(), c.command[0], c.command[1:]...)
			if c.env != "" {
				cmd.Env = append(cmd.Env, c.env)
			}
			out, err := cmd.CombinedOutput()
			if code := exitCode(err); (err != nil) != c.missing || err != nil && code != 4 {
				t.Errorf("exit code %d: %v\n%s", code, err, out)
			}
			contains(t, string(out), c.says...)
		})
	}
	t.Run("port of another Kubernetes", func(t *testing.T) {
		startAs(t, n, "kubelet", "nc", "-l", "-p", "6443")
		s := &space{t: t, node: n}
		s.eventually(10*time.Second, "the doctor names who has the port", func() error {
			out, code := n.whylet(t, "doctor", "--data-dir", n.data())
			if code != 4 || !strings.Contains(out, "address already in use by process") {
				return fmt.Errorf("exit code %d: %s", code, out)
			}
			contains(t, out, "(kubelet)", "stop that Kubernetes", "nsenter --net=/run/netns/w whylet up")
			return nil
		})
	})
}

// withoutCgroups begins a command that sees none, as the first process of a container.
var withoutCgroups = []string{"unshare", "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", `umount -R -l /sys/fs/cgroup && exec "$@"`, "sh"}

// startAs runs busybox under that name in the node's network until the test's end.
func startAs(t *testing.T, n *node, name string, args ...string) {
	t.Helper()
	program, err := os.ReadFile("/bin/busybox")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(n.dir, name)
	if err := os.WriteFile(file, program, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute)
	// The kernel names a process by its file, busybox goes by what it is told that it is.
	cmd := n.command(ctx, "bash", append([]string{"-c", `exec -a busybox "$0" "$@"`, file}, args...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
}
