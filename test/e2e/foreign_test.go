package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	internalapi "k8s.io/cri-api/pkg/apis"
	remote "k8s.io/cri-client/pkg"

	"whylet.dev/whylet/test/runtimes"
)

// foreign is a container runtime that is not the node's own. It runs in the
// node's network namespace and has all its files in a folder of its own.
type foreign struct {
	t       *testing.T
	n       *node
	dir     string
	program []string // its command line
	process *exec.Cmd
}

// foreignRuntimes is where make test-runtimes puts the runtimes; without it their tests
// are left out.
func foreignRuntimes(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("WHYLET_E2E_RUNTIMES")
	if dir == "" {
		t.Skip("make test-runtimes runs it")
	}
	return dir
}

// newForeign makes a place for a runtime, with a network for its pods, and one for
// the node beside it.
func newForeign(t *testing.T) *foreign {
	t.Helper()
	dir, err := os.MkdirTemp("", "foreign-")
	if err != nil {
		t.Fatal(err)
	}
	f := &foreign{t: t, dir: dir}
	if f.n, err = newSite(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.remove)
	f.write("cni/10-theirs.conflist", fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "theirs", "plugins": [
  {"type": "bridge", "bridge": "theirs0", "isGateway": true, "ipam": {"type": "host-local",
   "dataDir": "%s/addresses", "ranges": [[{"subnet": "10.87.0.0/16"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}`, dir))
	return f
}

// place is where the runtime's own files go; its sandboxes are made of the shell's image.
func (f *foreign) place(programs string) runtimes.Place {
	return runtimes.Place{
		Programs: programs, Dir: f.dir, Plugins: filepath.Join(programs, "debian/usr/lib/cni"), Network: filepath.Join(f.dir, "cni"),
		Sandbox: "docker.io/library/shell:1",
	}
}

func (f *foreign) write(name, content string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		f.t.Fatal(err)
	}
	return path
}

func (f *foreign) socket() string   { return filepath.Join(f.dir, "runtime.sock") }
func (f *foreign) endpoint() string { return "unix://" + f.socket() }

// flags are those of a node on the runtime.
func (f *foreign) flags() []string {
	return []string{"--runtime-endpoint", f.endpoint(), "--pod-cidr", "10.87.0.0/16"}
}

// up starts the node on the runtime.
func (f *foreign) up() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	if err := f.n.up(ctx, f.flags()...); err != nil {
		f.t.Fatal(err)
	}
}

// start runs the runtime and waits until it answers.
func (f *foreign) start() {
	f.t.Helper()
	output, err := os.OpenFile(filepath.Join(f.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		f.t.Fatal(err)
	}
	defer output.Close()
	f.process = f.n.command(context.Background(), f.program[0], f.program[1:]...)
	f.process.Stdout, f.process.Stderr = output, output
	if err := f.process.Start(); err != nil {
		f.t.Fatal(err)
	}
	deadline := time.Now().Add(patience)
	for {
		err := f.connect(f.t.Context(), func(service internalapi.RuntimeService) error {
			_, err := service.ListPodSandbox(f.t.Context(), nil)
			return err
		})
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("the runtime does not answer: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// stop ends the runtime. Its containers run on.
func (f *foreign) stop() {
	if f.process == nil {
		return
	}
	_ = f.process.Process.Signal(syscall.SIGTERM)
	_ = f.process.Wait()
	f.process = nil
}

// connect makes a connection to the runtime, for use.
func (f *foreign) connect(ctx context.Context, use func(internalapi.RuntimeService) error) error {
	if _, err := os.Stat(f.socket()); err != nil {
		return err
	}
	service, err := remote.NewRemoteRuntimeServiceBuilder().WithEndpoint(f.endpoint()).WithConnectionTimeout(time.Minute).WithTracerProvider(nil).Build(ctx)
	if err != nil {
		return err
	}
	return errors.Join(use(service), service.Close(ctx))
}

// ask is connect for what has to succeed.
func (f *foreign) ask(use func(internalapi.RuntimeService) error) {
	f.t.Helper()
	if err := f.connect(f.t.Context(), use); err != nil {
		f.t.Fatal(err)
	}
}

// remove ends the node, all pods in the runtime and the runtime, and removes what
// is left of them.
func (f *foreign) remove() {
	if f.t.Failed() {
		output, _ := os.ReadFile(filepath.Join(f.dir, "log"))
		f.t.Logf("node log:\n%s\nlog of the runtime:\n%s", f.n.logTail(), output[max(0, len(output)-6000):])
	}
	errs := []error{f.n.purge(), f.empty()}
	f.stop()
	errs = append(errs, f.sweep(), os.RemoveAll(f.dir))
	if err := errors.Join(errs...); err != nil {
		f.t.Errorf("clean-up: %v", err)
	}
}

// empty removes all pods from the runtime.
func (f *foreign) empty() error {
	if f.process == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return f.connect(ctx, func(service internalapi.RuntimeService) error {
		sandboxes, err := service.ListPodSandbox(ctx, nil)
		for _, sandbox := range sandboxes {
			err = errors.Join(err, service.StopPodSandbox(ctx, sandbox.Id), service.RemovePodSandbox(ctx, sandbox.Id))
		}
		return err
	})
}

// sweep ends what a runtime left running that was killed (shims, monitors), by
// the folder in its command line, and takes away its mounts and cgroups.
func (f *foreign) sweep() error {
	var errs []error
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(f.dir)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			errs = append(errs, syscall.Kill(pid, syscall.SIGKILL))
		}
	}
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		return err
	}
	lines := strings.Split(string(mounts), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if fields := strings.Fields(lines[i]); len(fields) > 1 && strings.HasPrefix(fields[1], f.dir+"/") {
			errs = append(errs, unix.Unmount(fields[1], unix.MNT_DETACH))
		}
	}
	cgroups, _ := filepath.Glob("/sys/fs/cgroup/*/" + filepath.Base(f.dir))
	for _, dir := range cgroups {
		errs = append(errs, removeCgroup(dir))
	}
	return errors.Join(errs...)
}

// removeCgroup removes a cgroup and those below it.
func removeCgroup(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeCgroup(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, unix.Rmdir(dir))
}
