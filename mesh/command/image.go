package command

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/spf13/cobra"
)

func newImageCommand(env Env) *cobra.Command {
	var binary, to, tag string
	cmd := &cobra.Command{
		Use:   "image --to FILE",
		Short: "Write the image of the mesh's containers",
		Long: `Write the image that sidecar, init container and webhook run, as an archive: nothing
but the program whylet-mesh, which has to be linked statically. Load it into a node
with whylet image load, or push it to a registry with a tool of your choice.`,
		Example: `  whylet mesh image --to mesh.tar && whylet image load mesh.tar
  whylet mesh image --to mesh.tar --tag registry.example/mesh:1`,
		Args: env.args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if to == "" {
				return env.usage("--to is needed: the archive to write")
			}
			if binary == "" {
				self, err := os.Executable()
				if err != nil {
					return fmt.Errorf("find whylet-mesh: %w; give --binary", err)
				}
				binary = filepath.Join(filepath.Dir(self), "libexec", "whylet-mesh")
			}
			if err := writeImage(binary, to, tag); err != nil {
				return err
			}
			_, err := fmt.Fprintln(env.Out, tag)
			return err
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "archive to write")
	cmd.Flags().StringVar(&tag, "tag", DefaultImage, "the image's name")
	cmd.Flags().StringVar(&binary, "binary", "", "the program (default: libexec/whylet-mesh beside whylet)")
	_ = cmd.MarkFlagFilename("to", "tar")
	return cmd
}

// writeImage puts one program into an image, as /whylet.
func writeImage(binary, to, tag string) error {
	ref, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("read the program of the mesh's image: %w", err)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := w.WriteHeader(&tar.Header{Name: "whylet", Mode: 0o755, Size: int64(len(program)), Typeflag: tar.TypeReg}); err != nil {
		return err
	}
	if _, err := w.Write(program); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(layer.Bytes())), nil })
	if err != nil {
		return fmt.Errorf("make the mesh's image: %w", err)
	}
	image, err := mutate.AppendLayers(empty.Image, l)
	if err != nil {
		return fmt.Errorf("make the mesh's image: %w", err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return fmt.Errorf("make the mesh's image: %w", err)
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", runtime.GOARCH
	config.Config.Entrypoint = []string{"/whylet"}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return fmt.Errorf("make the mesh's image: %w", err)
	}
	if err := tarball.WriteToFile(to, ref, image); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	return nil
}
