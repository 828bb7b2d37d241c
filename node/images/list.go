package images

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// Stored is an image on the node.
type Stored struct {
	ID string
	// Tags and Digests are the names by which it can be asked for.
	Tags, Digests []string
	// Bytes is its size on disk.
	Bytes int64
	// Pinned is set for what the runtime needs itself.
	Pinned bool
}

// List gives the images on the node, largest first, as a node's status wants them.
func (m *Manager) List(ctx context.Context) ([]Stored, error) {
	all, err := m.service.ListImages(klog.NewContext(ctx, logr.Discard()), nil)
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	images := make([]Stored, len(all))
	for i, image := range all {
		images[i] = Stored{
			ID: image.Id, Tags: image.RepoTags, Digests: image.RepoDigests,
			Bytes: int64(image.Size), Pinned: image.Pinned,
		}
	}
	slices.SortFunc(images, func(a, b Stored) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.ID, b.ID))
	})
	return images, nil
}
