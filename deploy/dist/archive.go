package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"time"
)

// packed is a file of an archive: of a file, or with content.
type packed struct {
	name, from string
	content    []byte
	// link is what a symbolic link names.
	link string
	mode int64
}

// epoch is the time of all that is packed.
var epoch = time.Unix(1700000000, 0)

// tarball writes a compressed archive into the release.
func (r *release) tarball(name string, files ...packed) error {
	b, err := targz(files)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(r.path(name), b, 0o644)
}

func targz(files []packed) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.DefaultCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		if err := f.write(w); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (f packed) write(w *tar.Writer) error {
	header := tar.Header{Name: f.name, Mode: f.mode, ModTime: epoch, Typeflag: tar.TypeReg, Uname: "root", Gname: "root"}
	content := f.content
	switch {
	case f.link != "":
		header.Typeflag, header.Linkname = tar.TypeSymlink, f.link
	case path.Base(f.name) == "" || f.name[len(f.name)-1] == '/':
		header.Typeflag = tar.TypeDir
	case f.from != "":
		var err error
		if content, err = os.ReadFile(f.from); err != nil {
			return err
		}
	}
	header.Size = int64(len(content))
	if err := w.WriteHeader(&header); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}
