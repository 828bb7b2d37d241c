package runtime

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// pauseImage is the sandbox image: the pause program of libexec and nothing
// else. It is made here because pods have to start where no registry can be
// reached. Its tag is the program's hash, so a new build brings a new image.
type pauseImage struct {
	name    string
	program []byte
}

func newPauseImage(libexec string) (pauseImage, error) {
	program, err := os.ReadFile(filepath.Join(libexec, "pause"))
	if err != nil {
		return pauseImage{}, fmt.Errorf("reading the pause program: %w", err)
	}
	sum := sha256.Sum256(program)
	return pauseImage{name: fmt.Sprintf("whylet.local/pause:%x", sum[:6]), program: program}, nil
}

// ensure loads the image into the containerd at socket unless it is there.
func (p pauseImage) ensure(ctx context.Context, socket string) error {
	client, err := containerdClient(ctx, socket)
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := client.ImageService().Get(ctx, p.name); err == nil {
		return nil
	}
	archive, err := p.archive()
	if err != nil {
		return fmt.Errorf("making the sandbox image: %w", err)
	}
	if _, err := importArchive(ctx, client, archive, ""); err != nil {
		return fmt.Errorf("loading the sandbox image %s: %w", p.name, err)
	}
	return nil
}

// archive is the image as a docker archive.
func (p pauseImage) archive() (io.Reader, error) {
	var layerTar bytes.Buffer
	w := tar.NewWriter(&layerTar)
	if err := w.WriteHeader(&tar.Header{Name: "pause", Mode: 0o755, Size: int64(len(p.program)), Typeflag: tar.TypeReg}); err != nil {
		return nil, err
	}
	if _, err := w.Write(p.program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(layerTar.Bytes())), nil
	})
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", goruntime.GOARCH
	file.Config = v1.Config{Entrypoint: []string{"/pause"}, User: "65535:65535"}
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return nil, err
	}
	ref, err := name.NewTag(p.name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := tarball.Write(ref, image, &out); err != nil {
		return nil, err
	}
	return &out, nil
}
