package oci

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// nameAnnotations are where containerd and skopeo look for the name of what an archive
// holds.
var nameAnnotations = []string{"io.containerd.image.name", "org.opencontainers.image.ref.name"}

// Write makes one image of those for each architecture, and writes it to file, whole or
// not at all.
func Write(file, tag string, specs ...Spec) error {
	ref, err := reference.ParseDockerRef(tag) // as containerd and kubelet name it
	if err != nil {
		return err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var images []v1.Image
	for _, s := range specs {
		image, err := s.Build()
		if err != nil {
			return fmt.Errorf("image for %s: %w", s.Arch, err)
		}
		images = append(images, image)
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: s.Arch}},
		})
	}
	names := map[string]string{}
	for _, a := range nameAnnotations {
		names[a] = ref.String()
	}
	dir, err := os.MkdirTemp(filepath.Dir(file), ".layout-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := to.AppendIndex(index, layout.WithAnnotations(names)); err != nil {
		return fmt.Errorf("lay out %s: %w", file, err)
	}
	docker, err := dockerManifest(ref, images)
	if err != nil {
		return fmt.Errorf("list the images of %s: %w", file, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "manifest.json"), docker, 0o600); err != nil {
		return err
	}
	out, err := os.Create(file + ".part")
	if err != nil {
		return err
	}
	if err := errors.Join(pack(dir, out), out.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.Rename(file+".part", file)
}

// pack writes the files below dir as a tar archive that is the same whoever writes it,
// and whenever.
func pack(dir string, out io.Writer) error {
	w := tar.NewWriter(out)
	err := filepath.WalkDir(dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		header := tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg, ModTime: epoch}
		if err := w.WriteHeader(&header); err != nil {
			return err
		}
		_, err = w.Write(content)
		return err
	})
	return errors.Join(err, w.Close())
}
