package critest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"whylet.dev/whylet/cluster/runtime"
	"whylet.dev/whylet/node/cri"
)

// Pod is a pod with a sandbox of its own.
type Pod struct {
	*v1.Pod
	Sandbox cri.SandboxView

	node   *Node
	t      testing.TB
	config *runtimeapi.PodSandboxConfig
}

// Machine is the machine the tests run on.
func Machine() cri.Machine { return cri.DetectMachine(4 << 30) }

// RunPod gives a pod with the given containers its sandbox, which goes at the end
// of the test. change may change the pod before.
func (n *Node) RunPod(t testing.TB, change func(*v1.Pod), containers ...v1.Container) *Pod {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(fmt.Sprintf("uid-%d", time.Now().UnixNano()))},
		Spec:       v1.PodSpec{Containers: containers, SecurityContext: &v1.PodSecurityContext{}},
	}
	if change != nil {
		change(pod)
	}
	p := &Pod{Pod: pod, node: n, t: t}
	var err error
	p.config, err = cri.SandboxConfig(cri.SandboxInput{
		Pod: pod, PodLogsDir: n.Logs, CgroupParent: n.CgroupParent + "/pod" + string(pod.UID),
		ClusterDomain: "cluster.local", Machine: Machine(), Seccomp: runtime.PauseSeccomp(n.Dir),
		DNS: &runtimeapi.DNSConfig{Servers: []string{"10.96.0.10"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if p.Sandbox, err = n.RunSandbox(context.Background(), p.config, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.remove)
	return p
}

func (p *Pod) remove() {
	ctx := context.Background()
	if err := p.node.StopSandbox(ctx, p.Sandbox.ID); err != nil {
		p.t.Error(err)
	}
	if err := p.node.RemoveSandbox(ctx, p.Sandbox.ID); err != nil {
		p.t.Error(err)
	}
}

// SandboxConfig is what the sandbox was started with.
func (p *Pod) SandboxConfig() *runtimeapi.PodSandboxConfig { return p.config }

// Config builds the configuration of one run of a container of the pod, with a
// termination message file where it wants one.
func (p *Pod) Config(name string, attempt int32) *runtimeapi.ContainerConfig {
	p.t.Helper()
	c, _ := cri.FindContainer(p.Pod, name)
	in := cri.ContainerInput{Pod: p.Pod, Container: c, Attempt: attempt, ImageRef: p.imageRef(c), Machine: Machine()}
	if c.TerminationMessagePath != "" {
		path := filepath.Join(p.node.Dir, fmt.Sprintf("%s-%s-%d", p.UID, name, attempt))
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			p.t.Fatal(err)
		}
		in.Mounts = []*runtimeapi.Mount{{HostPath: path, ContainerPath: c.TerminationMessagePath}}
	}
	config, err := cri.ContainerConfig(in)
	if err != nil {
		p.t.Fatal(err)
	}
	return config
}

func (p *Pod) imageRef(c *v1.Container) string {
	r, err := p.node.Images().ImageStatus(context.Background(), &runtimeapi.ImageSpec{Image: c.Image}, false)
	if err != nil || r.GetImage() == nil {
		p.t.Fatalf("image %s: %v", c.Image, err)
	}
	return r.Image.Id
}

// Start creates and starts one run of a container and gives its id.
func (p *Pod) Start(name string, attempt int32) string {
	p.t.Helper()
	ctx := context.Background()
	id, err := p.node.Create(ctx, p.Sandbox.ID, p.Config(name, attempt), p.config)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.node.Client.Start(ctx, id); err != nil {
		p.t.Fatal(err)
	}
	return id
}

// Run starts a container, waits for its end and gives the last view of it.
func (p *Pod) Run(name string, attempt int32) cri.ContainerView {
	p.t.Helper()
	return p.WaitExit(p.Start(name, attempt))
}

// WaitExit waits for the end of a container.
func (p *Pod) WaitExit(id string) cri.ContainerView {
	p.t.Helper()
	var last cri.ContainerView
	Eventually(p.t, "the container ends", func() bool {
		v, err := p.node.Status(context.Background(), id)
		if err != nil {
			p.t.Fatal(err)
		}
		last = v
		return v.State == cri.Exited
	})
	return last
}

// Sh is a container that runs a shell script in [Box].
func Sh(name, script string) v1.Container {
	return v1.Container{Name: name, Image: Box, Command: []string{"sh", "-c", script}}
}

// Eventually waits until ok is true and fails the test after half a minute.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 30 s: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Log gives what a container wrote, without the runtime's stamps.
func Log(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, line := range strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n") {
		if parts := strings.SplitN(line, " ", 4); len(parts) == 4 {
			text.WriteString(parts[3] + "\n")
		}
	}
	return text.String()
}
