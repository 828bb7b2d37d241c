package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// installer runs install.sh of the tree in a machine of folders.
type installer struct {
	root, prefix, path string
}

func newInstaller(t *testing.T) *installer {
	t.Helper()
	root := t.TempDir()
	i := &installer{root: root, prefix: filepath.Join(root, "usr/local"), path: os.Getenv("PATH")}
	i.write(t, "usr/local/bin/.keep", "")
	return i
}

func (i *installer) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(i.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func (i *installer) run(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	script, err := filepath.Abs("../../install.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{script}, args...)...)
	cmd.Env = append(os.Environ(), append(env, "WHYLET_ROOT="+i.root, "PREFIX="+i.prefix, "PATH="+i.path)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (i *installer) has(name string) bool {
	_, err := os.Stat(filepath.Join(i.root, name))
	return err == nil
}

// release is a folder with a release's files for this machine.
func (i *installer) release(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(i.root, "release")
	for _, program := range []string{"whylet", "kubectl-why"} {
		i.write(t, "release/"+program, "#!/bin/sh\n")
	}
	archive := "whylet_1.2.3_linux_" + runtime.GOARCH + ".tar.gz"
	if out, err := exec.CommandContext(t.Context(), "tar", "-C", dir, "-czf", filepath.Join(dir, archive), "whylet", "kubectl-why").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(filepath.Join(dir, archive))
	if err != nil {
		t.Fatal(err)
	}
	i.write(t, "release/SHA256SUMS", fmt.Sprintf("%x  %s\n", sha256.Sum256(content), archive))
	return dir
}

// TestInstallUnsigned: without a key nothing is installed unless somebody says so.
func TestInstallUnsigned(t *testing.T) {
	i := newInstaller(t)
	dir := i.release(t)
	out, err := i.run(t, nil, "--offline", dir, "--no-start")
	if err == nil || !strings.Contains(out, "--unsigned") || i.has("usr/local/bin/whylet") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = i.run(t, nil, "--offline", dir, "--no-start", "--unsigned")
	if err != nil || !i.has("usr/local/bin/whylet") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestInstallFetches: what is fetched comes by TLS of today, also after a redirect.
func TestInstallFetches(t *testing.T) {
	i := newInstaller(t)
	i.write(t, "bin/curl", "#!/bin/sh\necho \"curl $*\" >&2\nexit 22\n")
	i.path = filepath.Join(i.root, "bin") + ":" + i.path
	out, err := i.run(t, []string{"WHYLET_URL=https://releases.example"}, "--version", "v1.2.3", "--no-start")
	if err == nil || !strings.Contains(out, "curl --proto =https --tlsv1.2 ") || !strings.Contains(out, "https://releases.example/v1.2.3/SHA256SUMS") {
		t.Errorf("%v: %s", err, out)
	}
	out, err = i.run(t, []string{"WHYLET_URL=http://releases.example"}, "--version", "v1.2.3", "--no-start")
	if err == nil || strings.Contains(out, "curl ") || !strings.Contains(out, "https:// only") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestUninstallKnowsAllNodes: the programs stay while any other node needs them.
func TestUninstallKnowsAllNodes(t *testing.T) {
	const unit = "[Service]\nExecStart=/usr/local/bin/whylet %s\n"
	for name, c := range map[string]struct {
		files map[string]string
		args  []string
		// left is what the refusal names; empty: it is removed, and whylet was told ran.
		left, ran string
	}{
		"nothing else":          {nil, nil, "", "down --purge --data-dir ROOT/var/lib/whylet\n"},
		"its own service":       {map[string]string{"run/systemd/system/x": "", "etc/systemd/system/whylet.service": fmt.Sprintf(unit, "up --data-dir ROOT/var/lib/whylet")}, nil, "", "service remove --name whylet\ndown --purge --data-dir ROOT/var/lib/whylet\n"},
		"another service":       {map[string]string{"etc/systemd/system/edge.service": fmt.Sprintf(unit, `node --data-dir "/srv/edge" --node-name e`)}, nil, "/srv/edge\n", ""},
		"somebody else's":       {map[string]string{"etc/systemd/system/k3s.service": "[Service]\nExecStart=/usr/local/bin/k3s server --data-dir /srv/k3s\n"}, nil, "", "down --purge --data-dir ROOT/var/lib/whylet\n"},
		"a process":             {map[string]string{"proc/7/cmdline": "/opt/whylet\x00up\x00--node-name=a\x00--data-dir=/srv/two\x00"}, nil, "/srv/two\n", ""},
		"containers alone":      {map[string]string{"proc/8/cmdline": "/x/containerd-shim-runc-v2\x00-namespace\x00k8s.io\x00-address\x00/srv/three/run/containerd.sock\x00"}, nil, "/srv/three\n", ""},
		"another's containers":  {map[string]string{"proc/8/cmdline": "/usr/bin/containerd-shim-runc-v2\x00-address\x00/run/containerd/containerd.sock\x00"}, nil, "", "down --purge --data-dir ROOT/var/lib/whylet\n"},
		"a folder of sockets":   {map[string]string{"run/whylet-0badcafe/x": ""}, nil, "/run/whylet-0badcafe\n", ""},
		"asked for by its name": {map[string]string{"run/systemd/system/x": "", "srv/edge/whylet.json": "", "etc/systemd/system/edge.service": fmt.Sprintf(unit, "node --data-dir ROOT/srv/edge")}, []string{"--data-dir", "ROOT/srv/edge", "--name", "edge"}, "", "service remove --name edge\ndown --purge --data-dir ROOT/srv/edge\n"},
	} {
		t.Run(name, func(t *testing.T) {
			i := newInstaller(t)
			in := func(s string) string { return strings.ReplaceAll(s, "ROOT", i.root) }
			i.write(t, "usr/local/bin/whylet", "#!/bin/sh\necho \"$*\" >>"+i.root+"/ran\n")
			i.write(t, "var/lib/whylet/whylet.json", "{}")
			for name, text := range c.files {
				i.write(t, name, in(text))
			}
			var args []string
			for _, a := range c.args {
				args = append(args, in(a))
			}
			out, err := i.run(t, nil, append([]string{"uninstall"}, args...)...)
			ran, _ := os.ReadFile(filepath.Join(i.root, "ran"))
			if string(ran) != in(c.ran) {
				t.Errorf("it ran %q, want %q", ran, in(c.ran))
			}
			if (err == nil) != (c.left == "") || c.left != "" && !strings.Contains(out, c.left) || i.has("usr/local/bin/whylet") != (c.left != "") {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
