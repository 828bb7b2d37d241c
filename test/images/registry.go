package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// copyFile copies a file of this machine, or, where file is PACKAGE/FILE, one that
// lies beside a Go package's source.
func copyFile(ctx context.Context, module, target, file string) error {
	if dir, name := filepath.Split(file); strings.Contains(dir, ".") {
		cmd := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", filepath.Clean(dir))
		cmd.Dir = module
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("finding %s: %w", file, err)
		}
		file = filepath.Join(strings.TrimSpace(string(out)), name)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return os.WriteFile(target, content, 0o755)
}

// registry lays the pause image out as agnhost's registry server reads it: a
// file a tag that has the manifest's digest, and a file a digest.
func registry(ctx context.Context, cache, dir string) error {
	root, err := os.MkdirTemp("", "whylet-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	// Another image than the one that is loaded: of what was once pulled with a
	// secret, the node asks for it again before it lets others use it.
	other := pause
	other.config.Labels = map[string]string{"from": "agnhost"}
	image, err := other.assemble(ctx, cache, root)
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	manifest, err := image.RawManifest()
	if err != nil {
		return err
	}
	manifests := filepath.Join(dir, "pause/manifests")
	if err := writeDigest(manifests, digest, manifest); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(manifests, "testing"), []byte(digest.String()), 0o644); err != nil {
		return err
	}
	return blobs(image, filepath.Join(dir, "pause/blobs"))
}

// blobs writes an image's configuration and layers.
func blobs(image v1.Image, dir string) error {
	digest, err := image.ConfigName()
	if err != nil {
		return err
	}
	config, err := image.RawConfigFile()
	if err != nil {
		return err
	}
	if err := writeDigest(dir, digest, config); err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return err
		}
		reader, err := layer.Compressed()
		if err != nil {
			return err
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return err
		}
		if err := writeDigest(dir, digest, content); err != nil {
			return err
		}
	}
	return nil
}

func writeDigest(dir string, digest v1.Hash, content []byte) error {
	dir = filepath.Join(dir, digest.Algorithm, digest.Hex[:2], digest.Hex)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "data"), content, 0o644)
}
