package runtime

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	busybox   = "/bin/busybox"
	testImage = "docker.io/library/box:1"
)

// needRuntime skips the test where containerd cannot run.
func needRuntime(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("containerd needs root")
	}
	missing, err := MissingHelpers(testConfig("/tmp").Libexec)
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) > 0 {
		t.Skipf("%s is missing: run make build first", missing[0])
	}
	if _, err := os.Stat(busybox); err != nil {
		t.Skip("busybox-static is not installed: run make deps first")
	}
}

// dataDir is a data directory with a short path, purged at the end of the test
// whatever happened in it.
func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "wrt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			log, _ := os.ReadFile(filepath.Join(dir, "logs", "containerd.log"))
			t.Logf("containerd's log:\n%s", log)
		}
		if err := Purge(context.Background(), testConfig(dir)); err != nil {
			t.Errorf("purge: %v", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// eventually waits until ok is true, and fails the test after two minutes.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within two minutes: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// boxImage is an image with busybox and its shell.
func boxImage(t testing.TB) v1.Image {
	t.Helper()
	program, err := os.ReadFile(busybox)
	if err != nil {
		t.Fatal(err)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	entries := []tar.Header{
		{Name: "bin/", Mode: 0o755, Typeflag: tar.TypeDir},
		{Name: "bin/busybox", Mode: 0o755, Typeflag: tar.TypeReg, Size: int64(len(program))},
		{Name: "bin/sh", Typeflag: tar.TypeSymlink, Linkname: "busybox"},
		{Name: "www/", Mode: 0o755, Typeflag: tar.TypeDir},
		{Name: "www/index.html", Mode: 0o644, Typeflag: tar.TypeReg, Size: 2},
	}
	for _, h := range entries {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		switch h.Name {
		case "bin/busybox":
			_, err = w.Write(program)
		case "www/index.html":
			_, err = w.Write([]byte("ok"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", goruntime.GOARCH
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// boxArchive writes the image as a docker archive, gzipped when the name says so.
func boxArchive(t testing.TB, file string) string {
	t.Helper()
	ref, err := name.NewTag(testImage)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), file)
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out io.WriteCloser = f
	if filepath.Ext(file) == ".gz" {
		out = gzip.NewWriter(f)
		defer out.Close()
	}
	if err := tarball.Write(ref, boxImage(t), out); err != nil {
		t.Fatal(err)
	}
	return path
}

// pod is a sandbox with one container in it.
type pod struct {
	sandbox, container, ip string
}

// services are the CRI clients of a test.
type services struct {
	runtime cri.RuntimeServiceClient
	image   cri.ImageServiceClient
}

func connect(t testing.TB, endpoint string) services {
	t.Helper()
	conn, err := dial(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return services{cri.NewRuntimeServiceClient(conn), cri.NewImageServiceClient(conn)}
}

// runPod is startPod for the goroutine of the test.
func runPod(t testing.TB, s services, c Config, podName string, ports []*cri.PortMapping, command ...string) pod {
	t.Helper()
	p, err := startPod(t.Context(), s, c, podName, ports, command...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// startPod starts a pod whose container runs the command, below the test's cgroup root.
func startPod(ctx context.Context, s services, c Config, podName string, ports []*cri.PortMapping, command ...string) (pod, error) {
	sandboxConfig := &cri.PodSandboxConfig{
		Metadata:     &cri.PodSandboxMetadata{Name: podName, Namespace: "test", Uid: podName},
		Hostname:     podName,
		LogDirectory: filepath.Join(c.DataDir, "podlogs", podName),
		PortMappings: ports,
		Linux: &cri.LinuxPodSandboxConfig{
			CgroupParent: c.CgroupRoot + "/" + podName,
			SecurityContext: &cri.LinuxSandboxSecurityContext{
				Seccomp: &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Localhost, LocalhostRef: PauseSeccomp(c.DataDir)},
			},
		},
	}
	sandbox, err := s.runtime.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: sandboxConfig})
	if err != nil {
		return pod{}, fmt.Errorf("sandbox: %w", err)
	}
	status, err := s.runtime.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: sandbox.PodSandboxId})
	if err != nil {
		return pod{}, fmt.Errorf("sandbox status: %w", err)
	}
	created, err := s.runtime.CreateContainer(ctx, &cri.CreateContainerRequest{
		PodSandboxId: sandbox.PodSandboxId,
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "box"},
			Image:    &cri.ImageSpec{Image: testImage},
			Command:  command,
			LogPath:  podName + ".log",
			Linux:    &cri.LinuxContainerConfig{},
		},
		SandboxConfig: sandboxConfig,
	})
	if err != nil {
		return pod{}, fmt.Errorf("create: %w", err)
	}
	if _, err := s.runtime.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: created.ContainerId}); err != nil {
		return pod{}, fmt.Errorf("start: %w", err)
	}
	return pod{sandbox: sandbox.PodSandboxId, container: created.ContainerId, ip: status.Status.Network.GetIp()}, nil
}

// containerState asks CRI for the container's state; -1: CRI does not answer.
func containerState(ctx context.Context, s services, id string) (cri.ContainerState, int32) {
	status, err := s.runtime.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		return -1, 0
	}
	return status.Status.State, status.Status.ExitCode
}
