package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"
)

// TestWrite reads an archive back as a runtime does: by its names and digests alone.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	var specs []Spec
	for _, arch := range []string{"amd64", "arm64"} {
		program := filepath.Join(dir, arch)
		if err := os.WriteFile(program, []byte("program for "+arch), 0o600); err != nil {
			t.Fatal(err)
		}
		specs = append(specs, Spec{
			Arch: arch, Config: Config{User: "65532", Entrypoint: []string{"/whylet"}},
			Files: []File{{Path: "/whylet", From: program, Mode: 0o755}, {Path: "/etc/ssl/ca", From: program, Mode: 0o644}, {Path: "/bin/kubectl", Link: "../whylet"}},
		})
	}
	one, two := filepath.Join(dir, "one.tar"), filepath.Join(dir, "two.tar")
	for _, file := range []string{one, two} {
		umask := unix.Umask(map[string]int{one: 0o022, two: 0o077}[file])
		t.Cleanup(func() { unix.Umask(umask) })
		if err := Write(file, "observe:v1", specs...); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(read(t, one), read(t, two)) {
		t.Error("two archives of the same programs differ")
	}
	files := untar(t, read(t, one))
	var top, index v1.IndexManifest
	parse(t, files["index.json"], &top)
	if got := top.Manifests[0].Annotations["io.containerd.image.name"]; got != "docker.io/library/observe:v1" {
		t.Errorf("its name is %q", got)
	}
	parse(t, blob(t, files, top.Manifests[0].Digest), &index)
	for i, d := range index.Manifests {
		arch := specs[i].Arch
		if d.Platform == nil || d.Platform.Architecture != arch {
			t.Fatalf("platform %v, want %s", d.Platform, arch)
		}
		var manifest v1.Manifest
		parse(t, blob(t, files, d.Digest), &manifest)
		var config v1.ConfigFile
		parse(t, blob(t, files, manifest.Config.Digest), &config)
		if config.Architecture != arch || config.Config.User != "65532" || config.Config.Entrypoint[0] != "/whylet" {
			t.Errorf("configuration %+v", config)
		}
		packed, err := gzip.NewReader(bytes.NewReader(blob(t, files, manifest.Layers[0].Digest)))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(packed)
		if err != nil {
			t.Fatal(err)
		}
		root := untar(t, plain)
		if string(root["whylet"]) != "program for "+arch || root["etc/ssl/ca"] == nil || root["bin/kubectl"] == nil {
			t.Errorf("the root holds %q", root)
		}
		// docker looks for the same by another list.
		var docker tarball.Manifest
		parse(t, files["manifest.json"], &docker)
		if got := docker[i]; got.RepoTags[0] != "observe:v1-"+arch || files[got.Config] == nil || len(got.Layers) != 1 || files[got.Layers[0]] == nil {
			t.Errorf("docker is told %+v", got)
		}
	}
}

// An archive for one architecture has for docker, too, the image's own name.
func TestDockerName(t *testing.T) {
	image, err := Spec{Arch: "amd64"}.Build()
	if err != nil {
		t.Fatal(err)
	}
	ref, err := reference.ParseDockerRef("whylet.dev/node:v1")
	if err != nil {
		t.Fatal(err)
	}
	list, err := dockerManifest(ref, []v1.Image{image})
	if err != nil || !strings.Contains(string(list), `"RepoTags":["whylet.dev/node:v1"]`) {
		t.Errorf("%s %v", list, err)
	}
}

func TestWriteRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.tar")
	if err := Write(file, "Not A Name", Spec{}); err == nil {
		t.Error("a name that is none was taken")
	}
	missing := Spec{Arch: "amd64", Files: []File{{Path: "/whylet", From: "/nowhere"}}}
	if err := Write(file, "a/b:c", missing); err == nil || !strings.Contains(err.Error(), "/whylet of the image") {
		t.Errorf("a missing program: %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something was written: %v", err)
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func untar(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func parse(t *testing.T, from []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(from, to); err != nil {
		t.Fatal(err)
	}
}

func blob(t *testing.T, files map[string][]byte, digest v1.Hash) []byte {
	t.Helper()
	b, ok := files["blobs/sha256/"+digest.Hex]
	if !ok || fmt.Sprintf("%x", sha256.Sum256(b)) != digest.Hex {
		t.Fatalf("no blob %s, or another content", digest)
	}
	return b
}
