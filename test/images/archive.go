package main

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// build makes the image and writes its archive to file, whole or not at all.
func (r recipe) build(ctx context.Context, cache, file string) error {
	root, err := os.MkdirTemp("", "whylet-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	if err := os.Chmod(root, 0o755); err != nil {
		return err
	}
	image, err := r.assemble(ctx, cache, root)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(r.tag)
	if err != nil {
		return err
	}
	if err := tarball.WriteToFile(file+".part", tag, image); err != nil {
		return err
	}
	return os.Rename(file+".part", file)
}

// assemble puts together what the image has, in root, and gives the image. Its
// layer is read from root when it is written.
func (r recipe) assemble(ctx context.Context, cache, root string) (v1.Image, error) {
	if err := unpack(ctx, cache, root, r.packages); err != nil {
		return nil, err
	}
	if err := busybox(ctx, root); err != nil {
		return nil, err
	}
	for target, program := range r.programs {
		if err := compile(ctx, r.module, filepath.Join(root, target), program); err != nil {
			return nil, err
		}
	}
	for target, file := range r.copies {
		if err := copyFile(ctx, r.module, filepath.Join(root, target), file); err != nil {
			return nil, err
		}
	}
	if r.serves {
		if err := registry(ctx, cache, filepath.Join(root, "var/registry")); err != nil {
			return nil, err
		}
	}
	if err := r.write(root); err != nil {
		return nil, err
	}
	return r.image(root)
}

// compile builds a main package as a static program.
func compile(ctx context.Context, module, target, program string) error {
	target, err := filepath.Abs(target)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w", "-o", target, program)
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", program, err, out)
	}
	return nil
}

func (r recipe) image(root string) (v1.Image, error) {
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		reader, writer := io.Pipe()
		go func() { writer.CloseWithError(pack(root, writer)) }()
		return reader, nil
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
	file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, r.config
	return mutate.ConfigFile(image, file)
}

// epoch makes two builds from the same packages equal.
var epoch = time.Unix(1700000000, 0)

// pack writes the tree as a tar stream in a fixed order.
func pack(root string, w io.Writer) error {
	archive := tar.NewWriter(w)
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || file == root {
			return err
		}
		return packOne(archive, root, file, entry)
	})
	if err != nil {
		return err
	}
	return archive.Close()
}

func packOne(archive *tar.Writer, root, file string, entry fs.DirEntry) error {
	info, err := entry.Info()
	if err != nil {
		return err
	}
	link := ""
	if info.Mode()&os.ModeSymlink != 0 {
		if link, err = os.Readlink(file); err != nil {
			return err
		}
	}
	header, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return err
	}
	header.Name, _ = filepath.Rel(root, file)
	header.ModTime, header.Uname, header.Gname = epoch, "", ""
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		header.Uid, header.Gid = int(s.Uid), int(s.Gid)
	}
	if err := archive.WriteHeader(header); err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(archive, f)
	return err
}
