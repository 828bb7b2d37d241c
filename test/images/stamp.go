package main

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sources are what an image is made with: how packages become an archive, and the
// programs of this module.
//
//go:embed archive.go debian.go registry.go eater/*.go grpchealth/*.go sidecar/*.go
var sources embed.FS

// stamp is the same as long as a recipe makes the same of the same packages.
func (r recipe) stamp() (string, error) {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %q %q %v %+v\n", r.tag, r.packages, r.module, r.setuid, r.serves, r.config)
	for _, set := range []map[string]string{accounts, r.files, r.programs, r.copies, r.links} {
		for _, name := range slices.Sorted(maps.Keys(set)) {
			fmt.Fprintf(h, "%q %q\n", name, set[name])
		}
	}
	folders := []string{"."}
	for _, target := range slices.Sorted(maps.Keys(r.programs)) {
		if r.module == "" {
			folders = append(folders, filepath.Base(r.programs[target]))
		}
	}
	for _, folder := range folders {
		files, err := fs.Glob(sources, filepath.Join(folder, "*.go"))
		if err != nil {
			return "", err
		}
		for _, file := range files {
			text, err := sources.ReadFile(file)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%q %q\n", file, text)
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}

// made says whether the archive is there and was made by a recipe with that stamp.
func made(archive, stamp string) bool {
	_, err := os.Stat(archive)
	was, readErr := os.ReadFile(stampFile(archive))
	return err == nil && readErr == nil && string(was) == stamp
}

// stampFile lies beside the archive.
func stampFile(archive string) string { return strings.TrimSuffix(archive, ".tar") + ".recipe" }
