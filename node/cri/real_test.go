package cri_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/cri/critest"
	"whylet.dev/whylet/sense/containers"
)

func TestRuntimeIsReady(t *testing.T) {
	n := critest.Start(t)
	h, err := n.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !h.RuntimeReady || !h.NetworkReady {
		t.Errorf("not ready: %+v", h)
	}
	if n.Name() != "containerd" || n.Version() == "" {
		t.Errorf("who is it? %q %q", n.Name(), n.Version())
	}
}

func TestDialSaysWhoDoesNotAnswer(t *testing.T) {
	endpoint := "unix://" + filepath.Join(t.TempDir(), "none.sock")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := cri.Dial(ctx, endpoint, nil); err == nil || !strings.Contains(err.Error(), endpoint) {
		t.Errorf("error does not name %s: %v", endpoint, err)
	}
}

// TestContainerLife follows one run of a container from creation to removal.
func TestContainerLife(t *testing.T) {
	n := critest.Start(t)
	c := critest.Sh("main", `trap "exit 3" TERM; echo last words >/dev/termination-log; echo hello; while :; do sleep 0.05; done`)
	c.TerminationMessagePath = "/dev/termination-log"
	p := n.RunPod(t, nil, c)
	if len(p.Sandbox.IPs) != 1 || !strings.HasPrefix(p.Sandbox.IPs[0], "10.88.0.") || !p.Sandbox.Ready {
		t.Errorf("sandbox %+v", p.Sandbox)
	}
	id := p.Start("main", 2)

	v, pid, err := n.Inspect(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if v.ID != id || !strings.HasPrefix(id, "containerd://") || v.State != cri.Running || v.Attempt != 2 || v.Name != "main" {
		t.Errorf("running container %+v", v)
	}
	if v.Pod.UID != p.UID || v.Pod.Name != p.Name || v.StartedAt.IsZero() || !v.FinishedAt.IsZero() {
		t.Errorf("running container %+v", v)
	}
	critest.Eventually(t, "the pid is the container's process", func() bool {
		line, err := os.ReadFile("/proc/" + itoa(pid) + "/cmdline")
		return err == nil && strings.Contains(string(line), "trap")
	})
	want := filepath.Join(n.Logs, "default_"+p.Name+"_"+string(p.UID), "main", "2.log")
	if v.LogPath != want {
		t.Errorf("log at %s, want %s", v.LogPath, want)
	}
	critest.Eventually(t, "it says hello", func() bool { return critest.Log(t, v.LogPath) == "hello\n" })

	began := time.Now()
	if err := n.Stop(t.Context(), id, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("a container that obeys SIGTERM took %v to stop", took)
	}
	v = p.WaitExit(id)
	if v.ExitCode != 3 || v.Reason != "Error" || v.FinishedAt.Before(v.StartedAt) {
		t.Errorf("exited container %+v", v)
	}
	if m := containers.TerminationMessage(v); m != "last words\n" {
		t.Errorf("termination message %q", m)
	}
	if err := n.Remove(t.Context(), v, false); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Status(t.Context(), id); !containers.IsNotFound(err) {
		t.Errorf("status of a removed container: %v", err)
	}
	if _, err := os.Stat(v.LogPath); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its log is still there: %v", err)
	}
	if err := n.Remove(t.Context(), v, false); err != nil {
		t.Errorf("removing it again: %v", err)
	}
}

func TestStopKillsWhatDoesNotObey(t *testing.T) {
	n := critest.Start(t)
	p := n.RunPod(t, nil, critest.Sh("main", `trap "" TERM; echo deaf; while :; do sleep 0.05; done`))
	id := p.Start("main", 0)
	running, err := n.Status(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	critest.Eventually(t, "it ignores SIGTERM", func() bool { return strings.Contains(critest.Log(t, running.LogPath), "deaf") })
	began := time.Now()
	if err := n.Stop(t.Context(), id, 0); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < cri.MinimumGrace || took > cri.MinimumGrace+5*time.Second {
		t.Errorf("stop without grace took %v", took)
	}
	if v := p.WaitExit(id); v.ExitCode != 137 {
		t.Errorf("exit code %d", v.ExitCode)
	}
}

func TestFailuresHaveKubernetesReasons(t *testing.T) {
	n := critest.Start(t)
	noCommand := critest.Sh("main", "")
	noCommand.Command = []string{"/no/such/program"}
	p := n.RunPod(t, nil, noCommand)
	config := p.Config("main", 0)
	id, err := n.Create(t.Context(), p.Sandbox.ID, config, p.SandboxConfig())
	if err != nil {
		t.Fatal(err)
	}
	err = n.Client.Start(t.Context(), id)
	var f *cri.Failure
	if !errors.As(err, &f) || f.Reason != cri.ReasonStart || !strings.Contains(f.Message(), "/no/such/program") {
		t.Fatalf("start of a missing program: %v", err)
	}
	if strings.Contains(f.Message(), "rpc error") {
		t.Errorf("the transport shows in %q", f.Message())
	}
	v := p.WaitExit(id)
	if v.ExitCode != 128 || v.Reason != "StartError" {
		t.Errorf("left behind: %+v", v)
	}

	config = p.Config("main", 1)
	config.Image.Image = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	if _, err = n.Create(t.Context(), p.Sandbox.ID, config, p.SandboxConfig()); !errors.As(err, &f) || f.Reason != cri.ReasonCreate {
		t.Errorf("creation from a missing image: %v", err)
	}
}

func TestMessageFallsBackToLogs(t *testing.T) {
	n := critest.Start(t)
	c := critest.Sh("main", `seq 1 100; exit 1`)
	c.TerminationMessagePath, c.TerminationMessagePolicy = "/dev/termination-log", v1.TerminationMessageFallbackToLogsOnError
	p := n.RunPod(t, nil, c)
	lines := strings.Split(strings.TrimSpace(containers.TerminationMessage(p.Run("main", 0))), "\n")
	if len(lines) != 80 || lines[0] != "21" || lines[79] != "100" {
		t.Errorf("%d lines, %s to %s", len(lines), lines[0], lines[len(lines)-1])
	}
}

// TestSecurityReachesTheProcess reads from inside what the process was given.
func TestSecurityReachesTheProcess(t *testing.T) {
	n := critest.Start(t)
	yes, no := true, false
	uid, gid, fs := int64(1234), int64(2345), int64(3456)
	c := critest.Sh("main", `id -u; id -g; id -G; grep -E "^(NoNewPrivs|CapEff|Seccomp):" /proc/self/status; touch /x 2>&1; hostname; echo "$GREETING"`)
	c.Env = []v1.EnvVar{{Name: "GREETING", Value: "good day"}}
	c.SecurityContext = &v1.SecurityContext{
		RunAsUser: &uid, RunAsGroup: &gid, ReadOnlyRootFilesystem: &yes, AllowPrivilegeEscalation: &no,
		Capabilities:   &v1.Capabilities{Drop: []v1.Capability{"ALL"}},
		SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault},
	}
	p := n.RunPod(t, func(pod *v1.Pod) {
		pod.Spec.Hostname = "myhost"
		pod.Spec.SecurityContext.FSGroup = &fs
		pod.Spec.SecurityContext.SupplementalGroups = []int64{4567}
	}, c)
	env, err := cri.Environment(cri.EnvInput{Pod: withLinks(p.Pod), Container: &p.Spec.Containers[0]})
	if err != nil {
		t.Fatal(err)
	}
	config := p.Config("main", 0)
	for _, e := range env {
		config.Envs = append(config.Envs, keyValue(e))
	}
	id, err := n.Create(t.Context(), p.Sandbox.ID, config, p.SandboxConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Client.Start(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	v := p.WaitExit(id)
	got := critest.Log(t, v.LogPath)
	for _, want := range []string{
		"1234\n2345\n", "3456", "4567", "NoNewPrivs:\t1", "CapEff:\t0000000000000000", "Seccomp:\t2",
		"Read-only file system", "\nmyhost\n", "good day",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if v.User == nil || v.User.Linux.UID != uid || v.User.Linux.GID != gid {
		t.Errorf("user in the view: %+v", v.User)
	}
}

func TestResizeInPlace(t *testing.T) {
	n := critest.Start(t)
	c := critest.Sh("main", "sleep 100")
	c.Resources = v1.ResourceRequirements{
		Limits:   v1.ResourceList{v1.ResourceMemory: resource.MustParse("64Mi"), v1.ResourceCPU: resource.MustParse("500m")},
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("250m")},
	}
	p := n.RunPod(t, nil, c)
	id := p.Start("main", 0)
	v, err := n.Status(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	wantQuantity(t, v.Resources.Limits[v1.ResourceMemory], "64Mi")
	wantQuantity(t, v.Resources.Limits[v1.ResourceCPU], "500m")
	wantQuantity(t, v.Resources.Requests[v1.ResourceCPU], "250m")

	resized := c.DeepCopy()
	resized.Resources.Limits[v1.ResourceMemory] = resource.MustParse("96Mi")
	resized.Resources.Limits[v1.ResourceCPU] = resource.MustParse("1")
	if err := n.Resize(t.Context(), id, cri.ContainerResources(p.Pod, resized, critest.Machine())); err != nil {
		t.Fatal(err)
	}
	v, err = n.Status(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	wantQuantity(t, v.Resources.Limits[v1.ResourceMemory], "96Mi")
	wantQuantity(t, v.Resources.Limits[v1.ResourceCPU], "1")
	stats, err := n.ContainerStats(t.Context(), id)
	if err != nil || stats.GetMemory().GetWorkingSetBytes().GetValue() == 0 {
		t.Errorf("usage %v, %v", stats, err)
	}
}

func TestExec(t *testing.T) {
	n := critest.Start(t)
	p := n.RunPod(t, nil, critest.Sh("main", "sleep 100"))
	id := p.Start("main", 0)
	sh := func(script string, timeout time.Duration, limit int) (cri.ExecResult, error) {
		return n.Exec(t.Context(), id, []string{"sh", "-c", script}, timeout, limit)
	}
	r, err := sh("echo out; echo err >&2; exit 7", time.Minute, 100)
	if err != nil || string(r.Stdout) != "out\n" || string(r.Stderr) != "err\n" || r.ExitCode != 7 || r.TimedOut {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = sh("seq 1 10000", time.Minute, 10)
	if err != nil || len(r.Stdout) != 10 || r.ExitCode != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = sh("sleep 50", 200*time.Millisecond, 10)
	if err != nil || !r.TimedOut || !strings.Contains(r.Message, "timed out after 1s") {
		t.Errorf("%+v, %v", r, err)
	}
	for what, script := range map[string]string{
		"child":   "sleep 4711; true",
		"session": "setsid sleep 4712 & sleep 4713; true",
	} {
		if r, err = sh(script, time.Second, 10); err != nil || !r.TimedOut {
			t.Errorf("%s: %+v, %v", what, r, err)
		}
	}
	// With the command goes what it started, unless that has left its group.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		r, err = sh("ps -o args", time.Minute, 10000)
		if err == nil && !strings.Contains(string(r.Stdout), "sleep 4711") && !strings.Contains(string(r.Stdout), "sleep 4713") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %q, %v", r.Stdout, err)
		}
	}
	// Package probe knows a missing program by these words.
	for program, words := range map[string]string{
		"/none": `exec: "/none": stat /none: no such file or directory`,
		"none":  `exec: "none": executable file not found in $PATH`,
	} {
		if _, err = n.Exec(t.Context(), id, []string{program}, 0, 10); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s, which is not there: %v", program, err)
		}
	}
}

func TestCollect(t *testing.T) {
	n := critest.Start(t)
	p := n.RunPod(t, nil, critest.Sh("main", "true"))
	var runs []cri.ContainerView
	for attempt := range int32(3) {
		runs = append(runs, p.Run("main", attempt))
	}
	mine := func(uid types.UID) bool { return uid != p.UID }
	all := func(types.UID) bool { return true }
	removed, err := n.Collect(t.Context(), n.Logs, all)
	if err != nil {
		t.Fatal(err)
	}
	if len(removed.Containers) != 2 || len(removed.Sandboxes) != 0 {
		t.Errorf("of a pod that lives, removed %+v", removed)
	}
	if _, err := n.Status(t.Context(), runs[2].ID); err != nil {
		t.Errorf("the newest dead container should stay: %v", err)
	}
	if err := n.StopSandbox(t.Context(), p.Sandbox.ID); err != nil {
		t.Fatal(err)
	}
	// The container goes in the first pass, and with it the reason to keep the sandbox.
	for range 2 {
		if _, err := n.Collect(t.Context(), n.Logs, mine); err != nil {
			t.Fatal(err)
		}
	}
	s, err := n.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range s.Sandboxes {
		if v.Pod.UID == p.UID {
			t.Errorf("a sandbox is left: %+v", v)
		}
	}
	if _, err := os.Stat(containers.PodLogDir(n.Logs, p.Pod)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its logs are left: %v", err)
	}
}
