package peer

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"whylet.dev/whylet/test/runtimes"
)

// Runtime is what runs the containers of the real stack.
type Runtime interface {
	// configure writes its files and gives its command line.
	configure(*real) ([]string, error)
	// load takes archives of images.
	load(ctx context.Context, r *real, archives []string) error
}

// ownContainerd is the containerd of `make peer`.
type ownContainerd struct{}

func (ownContainerd) configure(r *real) ([]string, error) {
	config := filepath.Join(r.Dir, "containerd.toml")
	text := fmt.Sprintf(containerdConfig, r.Dir, pauseName, filepath.Join(r.bin.Whylet, "libexec"), filepath.Join(r.bin.Peer, "containerd-shim-runc-v2"), r.bin.Peer, r.socket())
	return []string{filepath.Join(r.bin.Peer, "containerd"), "--config", config}, os.WriteFile(config, []byte(text), 0o600)
}

func (ownContainerd) load(ctx context.Context, r *real, archives []string) error {
	return r.importImages(ctx, filepath.Join(r.bin.Peer, "ctr"), archives, "--local")
}

const containerdConfig = `
version = 3
root = "%[1]s/containerd/root"
state = "%[1]s/containerd/state"
[grpc]
  address = "%[6]s"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "%[2]s"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["%[5]s/cni"]
  conf_dir = "%[1]s/cni"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  runtime_path = "%[4]s"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  BinaryName = "%[3]s/runc"
`

// DebianContainerd is Debian's containerd, version 1.6, in the folder that
// test/runtimes/fetch filled.
func DebianContainerd(programs string) Runtime { return debianContainerd{programs} }

type debianContainerd struct{ programs string }

func runtimePlace(r *real, programs, sandbox string) runtimes.Place {
	return runtimes.Place{
		Programs: programs, Dir: r.Dir, Plugins: filepath.Join(r.bin.Peer, "cni"), Network: filepath.Join(r.Dir, "cni"), Sandbox: sandbox,
	}
}

func (d debianContainerd) configure(r *real) ([]string, error) {
	return runtimePlace(r, d.programs, pauseName).Containerd()
}

func (d debianContainerd) load(ctx context.Context, r *real, archives []string) error {
	return r.importImages(ctx, filepath.Join(d.programs, "debian/usr/bin/ctr"), archives)
}

// CRIO is the CRI-O that test/runtimes/fetch built into a folder. It pulls its images
// from a registry on the stack's loopback.
func CRIO(programs string) Runtime { return &crio{programs, runtimes.NewMirror()} }

type crio struct {
	programs string
	mirror   runtimes.Mirror
}

func (c *crio) configure(r *real) ([]string, error) {
	listener, err := r.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: c.mirror}
	go func() { _ = server.Serve(listener) }() // it ends with Close
	r.onStop(server.Close)
	return runtimePlace(r, c.programs, "docker.io/library/pause:1").CRIO(listener.Addr().String())
}

func (c *crio) load(_ context.Context, _ *real, archives []string) error {
	return c.mirror.Load(archives...)
}
