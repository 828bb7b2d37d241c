package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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
	startAs(t, n, "k3s-server")
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
}

// startAs runs a process of that name in the node's network until the test's end.
func startAs(t *testing.T, n *node, name string) {
	t.Helper()
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(n.dir, name)
	if err := os.WriteFile(file, program, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute)
	cmd := n.command(ctx, file, "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
}
