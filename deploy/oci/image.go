package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// File is a file of an image.
type File struct {
	// Path is where it is in the image, from its root; From is the file it is made of, and
	// Link, in its place, what it is a symbolic link to.
	Path, From, Link string
	// Mode is 0755 for a program.
	Mode int64
}

// Spec says what an image holds: these files on an empty root. Without a shell and a
// libc nothing is in it that would have to be updated, or that an intruder could use.
type Spec struct {
	Arch  string // as GOARCH
	Files []File
	// Config's user is a number; empty for root.
	Config Config
}

// Config says what a runtime starts, and how.
type Config = v1.Config

// epoch is the time of all files, so that two builds are equal.
var epoch = time.Unix(1700000000, 0)

// Build makes the image. It reads the files now.
func (s Spec) Build() (v1.Image, error) {
	plain, err := s.layer()
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(plain)), nil },
		tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching, tarball.WithMediaType(types.OCILayer),
	)
	if err != nil {
		return nil, fmt.Errorf("compress the layer: %w", err)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		return nil, fmt.Errorf("append the layer: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("the image's configuration: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", s.Arch
	config.Config = s.Config
	config.Config.WorkingDir = "/"
	return mutate.ConfigFile(image, config)
}

// layer is the root as a tar archive, directories before what is in them.
func (s Spec) layer() ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	made := map[string]bool{".": true}
	files := slices.SortedFunc(slices.Values(s.Files), func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	for _, f := range files {
		name := strings.TrimPrefix(path.Clean("/"+f.Path), "/")
		if err := directories(w, path.Dir(name), made); err != nil {
			return nil, err
		}
		header := tar.Header{Name: name, Mode: f.Mode, Typeflag: tar.TypeReg, ModTime: epoch}
		var content []byte
		if f.Link != "" {
			header.Typeflag, header.Linkname, header.Mode = tar.TypeSymlink, f.Link, 0o777
		} else {
			var err error
			if content, err = os.ReadFile(f.From); err != nil {
				return nil, fmt.Errorf("/%s of the image: %w", name, err)
			}
			header.Size = int64(len(content))
		}
		if err := w.WriteHeader(&header); err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func directories(w *tar.Writer, dir string, made map[string]bool) error {
	if made[dir] {
		return nil
	}
	made[dir] = true
	if err := directories(w, path.Dir(dir), made); err != nil {
		return err
	}
	return w.WriteHeader(&tar.Header{Name: dir + "/", Mode: 0o755, Typeflag: tar.TypeDir, ModTime: epoch})
}
