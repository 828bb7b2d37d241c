package oci

import (
	"encoding/json"
	"fmt"

	"github.com/distribution/reference"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// dockerManifest is the content of manifest.json, which docker load goes by where docker
// keeps images in a store of its own and not in containerd's: there it knows nothing of a
// layout. A name is of one image there, so those of several architectures have theirs
// behind it.
func dockerManifest(ref reference.Named, images []v1.Image) ([]byte, error) {
	var list tarball.Manifest
	for _, image := range images {
		config, err := image.ConfigFile()
		if err != nil {
			return nil, err
		}
		manifest, err := image.Manifest()
		if err != nil {
			return nil, err
		}
		tag := reference.FamiliarString(ref)
		if len(images) > 1 {
			tag += "-" + config.Architecture
		}
		d := tarball.Descriptor{Config: blobPath(manifest.Config.Digest), RepoTags: []string{tag}}
		for _, l := range manifest.Layers {
			d.Layers = append(d.Layers, blobPath(l.Digest))
		}
		list = append(list, d)
	}
	return json.Marshal(list)
}

// blobPath is where a layout has what has that digest.
func blobPath(h v1.Hash) string { return fmt.Sprintf("blobs/%s/%s", h.Algorithm, h.Hex) }
