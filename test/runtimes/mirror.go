package runtimes

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Mirror stands in for docker.io: CRI has no call to load an image, so CRI-O pulls them.
type Mirror struct{ http.Handler }

// NewMirror makes an empty one.
func NewMirror() Mirror {
	return Mirror{registry.New(registry.Logger(log.New(io.Discard, "", 0)))}
}

// Load takes archives of images: library/NAME:1 for NAME.tar.
func (m Mirror) Load(archives ...string) error {
	for _, archive := range archives {
		image, err := tarball.ImageFromPath(archive, nil)
		if err == nil {
			err = m.Put("/v2/library/"+strings.TrimSuffix(filepath.Base(archive), ".tar"), image)
		}
		if err != nil {
			return fmt.Errorf("serve %s: %w", archive, err)
		}
	}
	return nil
}

// Put serves an image as tag 1 of the repository at path.
func (m Mirror) Put(path string, image v1.Image) error {
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		content, err := layer.Compressed()
		if err != nil {
			return err
		}
		raw, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if err := m.blob(path, raw); err != nil {
			return err
		}
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	if err := m.blob(path, config); err != nil {
		return err
	}
	kind, err := image.MediaType()
	if err != nil {
		return err
	}
	raw, err := image.RawManifest()
	if err != nil {
		return err
	}
	return m.send(http.MethodPut, path+"/manifests/1", kind, raw)
}

func (m Mirror) blob(path string, raw []byte) error {
	return m.send(http.MethodPost, fmt.Sprintf("%s/blobs/uploads/?digest=sha256:%x", path, sha256.Sum256(raw)), types.OCILayer, raw)
}

func (m Mirror) send(method, url string, kind types.MediaType, body []byte) error {
	r := httptest.NewRequest(method, url, bytes.NewReader(body))
	r.Header.Set("Content-Type", string(kind))
	answer := httptest.NewRecorder()
	if m.ServeHTTP(answer, r); answer.Code != http.StatusCreated {
		return fmt.Errorf("%s %s: %d %s", method, url, answer.Code, answer.Body)
	}
	return nil
}
