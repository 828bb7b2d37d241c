package oci

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
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
	out, err := os.Create(file + ".part")
	if err != nil {
		return err
	}
	if err := write(out, ref.String(), index, images); err != nil {
		_ = out.Close()
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}

func write(out io.Writer, name string, index v1.ImageIndex, images []v1.Image) error {
	w := &layout{tar: tar.NewWriter(out), written: map[v1.Hash]bool{}}
	if err := w.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	top, err := partial.Descriptor(index)
	if err != nil {
		return err
	}
	top.Annotations = map[string]string{}
	for _, a := range nameAnnotations {
		top.Annotations[a] = name
	}
	list, err := json.Marshal(v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{*top}})
	if err != nil {
		return err
	}
	if err := w.file("index.json", list); err != nil {
		return err
	}
	raw, err := index.RawManifest()
	if err != nil {
		return err
	}
	if err := w.blob(top.Digest, raw); err != nil {
		return err
	}
	for _, image := range images {
		if err := w.image(image); err != nil {
			return err
		}
	}
	return w.tar.Close()
}

// layout is an OCI layout that is written as a tar archive.
type layout struct {
	tar     *tar.Writer
	written map[v1.Hash]bool
}

func (w *layout) file(name string, content []byte) error {
	if err := w.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg, ModTime: epoch}); err != nil {
		return err
	}
	_, err := w.tar.Write(content)
	return err
}

// blob writes what has this digest, once.
func (w *layout) blob(digest v1.Hash, content []byte) error {
	if w.written[digest] {
		return nil
	}
	w.written[digest] = true
	return w.file("blobs/"+digest.Algorithm+"/"+digest.Hex, content)
}

func (w *layout) image(image v1.Image) error {
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	manifest, err := image.RawManifest()
	if err != nil {
		return err
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	configured, err := image.ConfigName()
	if err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	if err := w.blob(digest, manifest); err != nil {
		return err
	}
	if err := w.blob(configured, config); err != nil {
		return err
	}
	for _, l := range layers {
		if err := w.layer(l); err != nil {
			return err
		}
	}
	return nil
}

func (w *layout) layer(l v1.Layer) error {
	digest, err := l.Digest()
	if err != nil {
		return err
	}
	content, err := l.Compressed()
	if err != nil {
		return err
	}
	defer content.Close()
	b, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return w.blob(digest, b)
}
