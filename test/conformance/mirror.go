package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"whylet.dev/whylet/test/peer"
)

// mirrored are the images that tests pull although they are there.
var mirrored = []string{"agnhost", "kitten"}

// mirror serves these images in the node's network namespace, and has the node ask
// there for what is of registry.k8s.io. It ends with the process.
func mirror(stack *peer.Stack, images string) error {
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	for _, image := range mirrored {
		if err := push(handler, filepath.Join(images, image+".tar")); err != nil {
			return fmt.Errorf("mirroring %s: %w", image, err)
		}
	}
	listener, err := stack.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(listener, handler) }()
	certs := filepath.Join(stack.Dir, "data", "certs.d", "registry.k8s.io")
	if err := os.MkdirAll(certs, 0o700); err != nil {
		return err
	}
	hosts := fmt.Sprintf("[host.\"http://%s\"]\n", listener.Addr())
	return os.WriteFile(filepath.Join(certs, "hosts.toml"), []byte(hosts), 0o600)
}

// push writes an archive's image to the registry, by its own name.
func push(handler http.Handler, archive string) error {
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(archive) })
	if err != nil {
		return err
	}
	tag, err := name.NewTag(manifest[0].RepoTags[0])
	if err != nil {
		return err
	}
	image, err := tarball.ImageFromPath(archive, &tag)
	if err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	config, err := partial.ConfigLayer(image)
	if err != nil {
		return err
	}
	base := "/v2/" + tag.RepositoryStr()
	for _, layer := range append(layers, config) {
		if err := pushLayer(handler, base, layer); err != nil {
			return err
		}
	}
	manifested, err := image.RawManifest()
	if err != nil {
		return err
	}
	kind, err := image.MediaType()
	if err != nil {
		return err
	}
	return send(handler, http.MethodPut, base+"/manifests/"+tag.TagStr(), string(kind), bytes.NewReader(manifested))
}

func pushLayer(handler http.Handler, base string, layer v1.Layer) error {
	digest, err := layer.Digest()
	if err != nil {
		return err
	}
	content, err := layer.Compressed()
	if err != nil {
		return err
	}
	defer content.Close()
	return send(handler, http.MethodPost, base+"/blobs/uploads/?digest="+digest.String(), "application/octet-stream", content)
}

func send(handler http.Handler, method, path, kind string, body io.Reader) error {
	r := httptest.NewRequest(method, path, body)
	r.Header.Set("Content-Type", kind)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	if answer.Code != http.StatusCreated {
		return fmt.Errorf("%s %s: %d %s", method, path, answer.Code, answer.Body)
	}
	return nil
}
