package command

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/deploy/oci"
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
				var err error
				if binary, err = env.helper("whylet-mesh"); err != nil {
					return fmt.Errorf("find whylet-mesh: %w; give --binary", err)
				}
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
	return oci.Write(to, tag, oci.Spec{
		Arch: runtime.GOARCH, Config: oci.Config{Entrypoint: []string{"/whylet"}}, Files: []oci.File{{Path: "/whylet", From: binary, Mode: 0o755}},
	})
}
