package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	containerd "github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/containerd/v2/pkg/archive/compression"
	"github.com/containerd/containerd/v2/plugins"
	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// criNamespace is the containerd namespace in which CRI keeps its images.
const criNamespace = "k8s.io"

// managedLabel is how CRI marks its images (containerd's internal/cri/labels).
const managedLabel = "io.cri-containerd.image"

// pinnedLabel keeps CRI's clients from removing an image to make room. What was loaded
// by hand may be in no registry.
const pinnedLabel = "io.cri-containerd.pinned"

var (
	// ErrNotContainerd: images can be loaded into containerd only; CRI has no call for it.
	ErrNotContainerd = errors.New("the runtime is not containerd")
	// ErrNotArchive: the file is neither an OCI nor a docker image archive.
	ErrNotArchive = errors.New("not an image archive")
	// ErrNoImage: the runtime holds no image of that name.
	ErrNoImage = errors.New("there is no image")
	// ErrNoName: the archive holds an image without a name, and none was given.
	ErrNoName = errors.New("the image in the archive has no name")
)

// Image is an image that the runtime holds.
type Image struct {
	// ID is the digest of the image's configuration.
	ID string `json:"id"`
	// Names are its tags, Digests its names by digest.
	Names   []string `json:"names,omitempty"`
	Digests []string `json:"digests,omitempty"`
	// Size is in bytes, as the runtime counts it.
	Size uint64 `json:"size"`
	// Pinned images are not removed by the node's garbage collection.
	Pinned bool `json:"pinned,omitempty"`
}

// LoadImage loads an OCI or docker archive, plain or compressed, into the
// containerd behind endpoint, and returns the names under which CRI now finds
// what was in it. They stay until [RemoveImage]. name is used for an archive that says
// none; empty: that is an error. Errors are ErrNoAnswer, ErrNotContainerd,
// ErrNotArchive, ErrNoName, or of the file.
func LoadImage(ctx context.Context, endpoint, file, name string) ([]string, error) {
	conn, err := dial(endpoint)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := reach(ctx, conn, endpoint); err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("opening the image archive: %w", err)
	}
	defer f.Close()
	client, err := containerdClient(ctx, strings.TrimPrefix(endpoint, "unix://"))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	plain, err := compression.DecompressStream(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", file, ErrNotArchive, err)
	}
	defer plain.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("opening the image archive: %w", err)
	}
	names, err := importArchive(ctx, client, unpackedWithin(plain, info.Size()), name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, n := range names {
		if err := waitForImage(ctx, cri.NewImageServiceClient(conn), n); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return names, nil
}

// A compressed archive may be mostGrowth times as large when it is unpacked, and at least
// alwaysUnpacked: images are three to thirty times, and a bomb is a thousand.
const (
	mostGrowth     = 100
	alwaysUnpacked = 1 << 30
)

// growing reads what an archive unpacks to, up to a bound.
type growing struct {
	io.Reader
	left int64
}

// unpackedWithin bounds what an archive of a size unpacks to.
func unpackedWithin(plain io.Reader, size int64) io.Reader {
	return &growing{plain, max(alwaysUnpacked, mostGrowth*size)}
}

func (g *growing) Read(p []byte) (int, error) {
	if g.left <= 0 {
		var more [1]byte
		n, err := g.Reader.Read(more[:])
		if n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("it unpacks to more than %d times its size; unpack it yourself if that is right", mostGrowth)
	}
	n, err := g.Reader.Read(p[:min(int64(len(p)), g.left)])
	g.left -= int64(n)
	return n, err
}

// ListImages lists the images of any CRI runtime, ordered by name. The error is
// ErrNoAnswer when nothing listens at endpoint.
func ListImages(ctx context.Context, endpoint string) ([]Image, error) {
	conn, err := dial(endpoint)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := reach(ctx, conn, endpoint); err != nil {
		return nil, err
	}
	answer, err := cri.NewImageServiceClient(conn).ListImages(ctx, &cri.ListImagesRequest{})
	if err != nil {
		return nil, fmt.Errorf("listing images at %s: %w", endpoint, err)
	}
	var list []Image
	for _, i := range answer.Images {
		list = append(list, Image{ID: i.Id, Names: i.RepoTags, Digests: i.RepoDigests, Size: i.Size, Pinned: i.Pinned})
	}
	slices.SortFunc(list, func(a, b Image) int { return strings.Compare(firstName(a), firstName(b)) })
	return list, nil
}

// RemoveImage removes an image, by one of its names or by its id, from any CRI
// runtime. The error is ErrNoAnswer when nothing listens at endpoint, ErrNoImage
// where there is none of that name, or the runtime's own.
func RemoveImage(ctx context.Context, endpoint, name string) error {
	conn, err := dial(endpoint)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := reach(ctx, conn, endpoint); err != nil {
		return err
	}
	images, spec := cri.NewImageServiceClient(conn), &cri.ImageSpec{Image: name}
	answer, err := images.ImageStatus(ctx, &cri.ImageStatusRequest{Image: spec})
	if err != nil {
		return fmt.Errorf("looking for image %s: %w", name, err)
	}
	if answer.Image == nil {
		return fmt.Errorf("%w %s", ErrNoImage, name)
	}
	if _, err := images.RemoveImage(ctx, &cri.RemoveImageRequest{Image: spec}); err != nil {
		return fmt.Errorf("removing image %s: %w", name, err)
	}
	return nil
}

func firstName(i Image) string {
	for _, names := range [][]string{i.Names, i.Digests} {
		if len(names) > 0 {
			return names[0]
		}
	}
	return i.ID
}

// containerdClient connects to the containerd at socket and checks that it is one.
func containerdClient(ctx context.Context, socket string) (*containerd.Client, error) {
	client, err := containerd.New(socket, containerd.WithDefaultNamespace(criNamespace), containerd.WithTimeout(10*time.Second))
	if err != nil {
		return nil, fmt.Errorf("connecting to containerd at %s (is the node running?): %w", socket, err)
	}
	if _, err := client.Version(ctx); err != nil {
		client.Close()
		if status.Code(errors.Unwrap(err)) == codes.Unimplemented || status.Code(err) == codes.Unimplemented {
			return nil, fmt.Errorf("%s: %w: load the image with the runtime's own tool (skopeo, podman)", socket, ErrNotContainerd)
		}
		return nil, fmt.Errorf("asking containerd at %s for its version: %w", socket, err)
	}
	return client, nil
}

// importArchive imports all images of an uncompressed archive and unpacks them.
func importArchive(ctx context.Context, client *containerd.Client, archive io.Reader, name string) ([]string, error) {
	options := []containerd.ImportOpt{
		containerd.WithImageRefTranslator(fullName),
		containerd.WithImageLabels(map[string]string{managedLabel: "managed", pinnedLabel: "pinned"}),
	}
	if name != "" {
		ref, err := reference.ParseDockerRef(name)
		if err != nil {
			return nil, fmt.Errorf("%w: %q is not an image name: %w", ErrConfig, name, err)
		}
		options = append(options, containerd.WithIndexName(ref.String()))
	}
	ctx, release, err := client.WithLease(ctx)
	if err != nil {
		return nil, fmt.Errorf("asking containerd for a lease: %w", err)
	}
	defer func() { _ = release(context.WithoutCancel(ctx)) }()
	imported, err := client.Import(ctx, archive, options...)
	if err != nil {
		return nil, fmt.Errorf("%w (an OCI layout or the output of docker save was expected): %w", ErrNotArchive, err)
	}
	if len(imported) == 0 {
		return nil, fmt.Errorf("%w: give it one with --name NAME:TAG, or save it by name and not by id", ErrNoName)
	}
	return unpack(ctx, client, imported)
}

// unpack makes the images' snapshots now, so that the first pod need not, and
// returns their names.
func unpack(ctx context.Context, client *containerd.Client, imported []images.Image) ([]string, error) {
	snapshotter, err := snapshotterOf(ctx, client)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, i := range imported {
		if snapshotter != "" {
			if err := containerd.NewImage(client, i).Unpack(ctx, snapshotter); err != nil {
				return nil, fmt.Errorf("unpacking %s: %w", i.Name, err)
			}
		}
		if err := nameByID(ctx, client, i); err != nil {
			return nil, err
		}
		names = append(names, i.Name)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// nameByID gives an image the name that CRI gives those that it pulls beside their
// own: its id. Image volumes are looked for by that alone (containerd:
// internal/cri/server/container_image_mount.go).
func nameByID(ctx context.Context, client *containerd.Client, i images.Image) error {
	config, err := containerd.NewImage(client, i).Config(ctx)
	if err != nil {
		return fmt.Errorf("reading the id of %s: %w", i.Name, err)
	}
	i.Name, i.Labels = config.Digest.String(), map[string]string{managedLabel: "managed"} // pinned while it has a name that people know
	if _, err = client.ImageService().Create(ctx, i); err != nil && !errdefs.IsAlreadyExists(err) {
		return fmt.Errorf("naming an image by its id %s: %w", i.Name, err)
	}
	return nil
}

// snapshotterOf finds the snapshotter of this containerd: overlayfs, or native
// where ours has only that. Empty: another one, and CRI unpacks at first use.
func snapshotterOf(ctx context.Context, client *containerd.Client) (string, error) {
	answer, err := client.IntrospectionService().Plugins(ctx, "type=="+string(plugins.SnapshotPlugin))
	if err != nil {
		return "", fmt.Errorf("asking containerd for its snapshotters: %w", err)
	}
	for _, want := range []string{"overlayfs", "native"} {
		for _, p := range answer.Plugins {
			if p.ID == want && p.InitErr == nil {
				return want, nil
			}
		}
	}
	return "", nil
}

// fullName is what CRI calls the image that people call name, docker.io and
// :latest filled in; empty when it is no image name, as a bare tag is not one.
func fullName(name string) string {
	if !strings.ContainsAny(name, ":/@") {
		return ""
	}
	ref, err := reference.ParseDockerRef(name)
	if err != nil {
		return ""
	}
	return ref.String()
}

// waitForImage waits until CRI, which learns of new images by an event, knows name.
func waitForImage(ctx context.Context, client cri.ImageServiceClient, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		answer, err := client.ImageStatus(ctx, &cri.ImageStatusRequest{Image: &cri.ImageSpec{Image: name}})
		if err == nil && answer.Image != nil {
			return nil
		}
		if !sleep(ctx, 10*time.Millisecond) {
			return fmt.Errorf("%s was loaded, but CRI does not list it: %w", name, errors.Join(ctx.Err(), err))
		}
	}
}
