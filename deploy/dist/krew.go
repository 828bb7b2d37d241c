package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"
)

// home is where a release's files are fetched from.
const home = "https://whylet.dev/releases"

// krew writes the manifest of kubectl's plugin manager
// (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/).
func (r *release) krew() error {
	var list []any
	for _, p := range platforms {
		archive := r.clientArchive(p[0], p[1])
		content, err := os.ReadFile(r.path(archive))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		list = append(list, map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"os": p[0], "arch": p[1]}},
			"uri":      home + "/" + r.version + "/" + archive, "sha256": fmt.Sprintf("%x", sha256.Sum256(content)), "bin": "kubectl-why" + suffix(p[0]),
		})
	}
	manifest, err := yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin", "metadata": map[string]any{"name": "why"},
		"spec": map[string]any{
			"version": r.version, "homepage": "https://whylet.dev", "shortDescription": "Say why a pod is as it is",
			"description": "Says why a pod was restarted, does not start, is not ready, was evicted or is gone: the cause in one sentence, and what led to it.\n",
			"platforms":   list,
		},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("why.yaml"), manifest, 0o644)
}
