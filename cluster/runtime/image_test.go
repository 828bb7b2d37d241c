package runtime

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ociArchive writes the image as a tarred OCI layout, with the annotations on its
// entry in the index.
func ociArchive(t *testing.T, annotations map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	index, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := index.AppendImage(boxImage(t), layout.WithAnnotations(annotations)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "oci.tar")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// One containerd for all sorts of archives, and for a pull from a registry.
func TestImagesComeIn(t *testing.T) {
	needRuntime(t)
	dir := dataDir(t)
	r, err := Start(t.Context(), testConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("no archive", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	const refName = "org.opencontainers.image.ref.name"
	tests := []struct {
		name, file, given string
		want              string
		err               error
	}{
		{name: "docker archive", file: boxArchive(t, "box.tar"), want: testImage},
		{name: "docker archive, gzip", file: boxArchive(t, "box.tar.gz"), want: testImage},
		{name: "OCI layout with a short name", file: ociArchive(t, map[string]string{refName: "oci:2"}), want: "docker.io/library/oci:2"},
		{name: "OCI layout with a full name", file: ociArchive(t, map[string]string{refName: "example.org/a/b:3"}), want: "example.org/a/b:3"},
		{name: "OCI layout with only a tag", file: ociArchive(t, map[string]string{refName: "latest"}), err: ErrNoName},
		{name: "OCI layout without a name", file: ociArchive(t, nil), err: ErrNoName},
		{name: "OCI layout that is given a name", file: ociArchive(t, nil), given: "given", want: "docker.io/library/given:latest"},
		{name: "a bad name", file: ociArchive(t, nil), given: "A B", err: ErrConfig},
		{name: "no archive", file: garbage, err: ErrNotArchive},
		{name: "no file", file: "/nowhere/x.tar", err: fs.ErrNotExist},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			names, err := LoadImage(t.Context(), r.Endpoint(), tt.file, tt.given)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if err == nil && (len(names) != 1 || names[0] != tt.want) {
				t.Errorf("names %v, want %s", names, tt.want)
			}
		})
	}
	images, err := ListImages(t.Context(), r.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, i := range images {
		all = append(all, i.Names...)
		if !i.Pinned {
			t.Errorf("%v could be removed to make room", i.Names)
		}
	}
	for _, want := range []string{testImage, "docker.io/library/oci:2", "example.org/a/b:3", "docker.io/library/given:latest"} {
		if !strings.Contains(strings.Join(all, " "), want) {
			t.Errorf("%s is not listed: %v", want, all)
		}
	}
	if err := RemoveImage(t.Context(), r.Endpoint(), "oci:2"); err != nil {
		t.Error(err)
	}
	if err := RemoveImage(t.Context(), r.Endpoint(), "oci:2"); !errors.Is(err, ErrNoImage) {
		t.Errorf("removed twice: %v", err)
	}
	t.Run("pull", func(t *testing.T) { pullThroughMirror(t, dir, r.Endpoint()) })
}

// pullThroughMirror pulls from a registry on loopback, directly and as the mirror
// that certs.d names for another registry. containerd reads certs.d at each pull.
func pullThroughMirror(t *testing.T, dir, endpoint string) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	push(t, server.URL+"/v2/box", "1", boxImage(t))
	mirrored := filepath.Join(dir, "certs.d", "example.org")
	if err := os.MkdirAll(mirrored, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mirrored, "hosts.toml"), []byte("[host.\""+server.URL+"\"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := connect(t, endpoint)
	for _, image := range []string{host + "/box:1", "example.org/box:1"} {
		if _, err := s.image.PullImage(t.Context(), &cri.PullImageRequest{Image: &cri.ImageSpec{Image: image}}); err != nil {
			t.Errorf("pulling %s: %v", image, err)
		}
	}
}

// push uploads the image as the registry's API wants it (OCI distribution
// specification, "push"): blobs, then the manifest.
func push(t *testing.T, repository, tag string, image v1.Image) {
	t.Helper()
	send := func(method, url, mediaType string, body []byte) {
		request, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", mediaType)
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusCreated {
			t.Fatalf("%s %s: %s", method, url, answer.Status)
		}
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	layer, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	blob, err := io.ReadAll(layer)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range [][]byte{blob, config} {
		send(http.MethodPost, fmt.Sprintf("%s/blobs/uploads/?digest=sha256:%x", repository, sha256.Sum256(b)), "application/octet-stream", b)
	}
	manifest, err := image.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	send(http.MethodPut, repository+"/manifests/"+tag, "application/vnd.docker.distribution.manifest.v2+json", manifest)
}

// A runtime that speaks CRI and is not containerd, as CRI-O is.
func TestLoadIntoAnotherRuntimeIsRefused(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "crio.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	defer server.Stop()
	go func() { _ = server.Serve(l) }()
	_, err = LoadImage(t.Context(), "unix://"+socket, boxArchive(t, "box.tar"), "")
	if !errors.Is(err, ErrNotContainerd) {
		t.Errorf("error %v, want ErrNotContainerd", err)
	}
	if _, err := LoadImage(t.Context(), "tcp://127.0.0.1:1", "x", ""); !errors.Is(err, ErrConfig) {
		t.Errorf("error %v, want ErrConfig", err)
	}
}

func TestFullName(t *testing.T) {
	for name, want := range map[string]string{
		"nginx:1":            "docker.io/library/nginx:1",
		"me/app:2":           "docker.io/me/app:2",
		"example.org/app":    "example.org/app:latest",
		"latest":             "",
		"":                   "",
		"case/UPPER:1":       "",
		"localhost:5000/a:1": "localhost:5000/a:1",
	} {
		if got := fullName(name); got != want {
			t.Errorf("fullName(%q) = %q, want %q", name, got, want)
		}
	}
}
