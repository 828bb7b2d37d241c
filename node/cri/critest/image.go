package critest

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"

	"github.com/google/go-containerregistry/pkg/name"
	imagev1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"whylet.dev/whylet/cluster/runtime"
)

const busybox = "/bin/busybox"

// Box is the image that [Start] loads: busybox with all its commands, as root.
const Box = "docker.io/library/box:1"

func (n *Node) loadBox(ctx context.Context) error {
	image, err := BoxImage("")
	if err != nil {
		return err
	}
	return n.Load(ctx, Box, image)
}

// Load puts an image into the runtime under a name.
func (n *Node) Load(ctx context.Context, ref string, image imagev1.Image) error {
	tag, err := name.NewTag(ref)
	if err != nil {
		return err
	}
	file := filepath.Join(n.Dir, "load.tar")
	if err := tarball.WriteToFile(file, tag, image); err != nil {
		return err
	}
	if _, err := runtime.LoadImage(ctx, n.Endpoint(), file, ref); err != nil {
		return err
	}
	return os.Remove(file)
}

// BoxImage makes an image of busybox that runs as the given user ("": root).
func BoxImage(user string) (imagev1.Image, error) {
	layer, err := boxLayer()
	if err != nil {
		return nil, err
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer)), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", goruntime.GOARCH
	config.Config.User = user
	config.Config.Env = []string{"PATH=/bin"}
	return mutate.ConfigFile(image, config)
}

// boxCommands are what tests call by name.
var boxCommands = []string{"sh", "cat", "echo", "sleep", "id", "httpd", "env", "hostname", "touch", "grep", "seq", "true", "false", "kill", "wget", "ps"}

func boxLayer() ([]byte, error) {
	program, err := os.ReadFile(busybox)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	files := []file{
		{tar.Header{Name: "bin/", Mode: 0o755, Typeflag: tar.TypeDir}, nil},
		{tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}, nil},
		{tar.Header{Name: "etc/", Mode: 0o755, Typeflag: tar.TypeDir}, nil},
		{tar.Header{Name: "bin/busybox", Mode: 0o755, Typeflag: tar.TypeReg}, program},
		{tar.Header{Name: "etc/passwd", Mode: 0o644, Typeflag: tar.TypeReg}, []byte("root:x:0:0::/:/bin/sh\nweb:x:1000:1000::/:/bin/sh\n")},
		{tar.Header{Name: "etc/group", Mode: 0o644, Typeflag: tar.TypeReg}, []byte("root:x:0:\nweb:x:1000:\nextra:x:50:web\n")},
	}
	for _, c := range boxCommands {
		files = append(files, file{tar.Header{Name: "bin/" + c, Typeflag: tar.TypeSymlink, Linkname: "busybox"}, nil})
	}
	for _, f := range files {
		f.header.Size = int64(len(f.content))
		if err := w.WriteHeader(&f.header); err != nil {
			return nil, fmt.Errorf("%s: %w", f.header.Name, err)
		}
		if _, err := w.Write(f.content); err != nil {
			return nil, fmt.Errorf("%s: %w", f.header.Name, err)
		}
	}
	return out.Bytes(), w.Close()
}

type file struct {
	header  tar.Header
	content []byte
}
