// Command bundle makes one binary of a program and the helper programs that it needs: it
// ends with an archive of them, which the program unpacks into its data directory when it
// starts (cluster/runtime). Nothing is compiled for it, and the same input gives the same
// bytes.
//
//	go run ./deploy/bundle -out dist/whylet bin/whylet bin/libexec
package main

import (
	"archive/zip"
	"compress/flate"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("out", "", "binary to write")
	flag.Parse()
	if *out == "" || flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: bundle -out FILE PROGRAM FOLDER-OF-HELPERS")
		os.Exit(2)
	}
	if err := run(*out, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(to, program, helpers string) error {
	in, err := os.Open(program)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to+".part", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	size, err := io.Copy(out, in)
	if err == nil {
		err = pack(out, size, helpers)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(to+".part", to)
}

// sums is what cluster/runtime calls the entry that lists the others.
const sums = "SHA256SUMS"

func pack(out io.Writer, offset int64, helpers string) error {
	w := zip.NewWriter(out)
	w.SetOffset(offset)
	w.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) { return flate.NewWriter(out, flate.BestCompression) })
	var list strings.Builder
	err := filepath.WalkDir(helpers, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(helpers, file)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(content), filepath.ToSlash(name))
		return add(w, filepath.ToSlash(name), content)
	})
	if err != nil {
		return err
	}
	if list.Len() == 0 {
		return fmt.Errorf("%s holds no programs", helpers)
	}
	if err := add(w, sums, []byte(list.String())); err != nil {
		return err
	}
	return w.Close()
}

func add(w *zip.Writer, name string, content []byte) error {
	entry, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate}) // no time: two builds are equal
	if err != nil {
		return err
	}
	_, err = entry.Write(content)
	return err
}
