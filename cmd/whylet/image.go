package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/cluster/runtime"
	"whylet.dev/whylet/exit"
)

func newImageCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Load, list and remove the node's images",
		Args:  positional(cobra.NoArgs),
	}
	cmd.AddCommand(newImageLoadCommand(s), newImageListCommand(s), newImageRemoveCommand())
	return cmd
}

func newImageLoadCommand(s streams) *cobra.Command {
	var dataDir, name string
	cmd := &cobra.Command{
		Use:   "load FILE…",
		Short: "Load images from archives, without a registry",
		Long: `Load images from archives into the node's containerd, under the names that the
archives say. An archive is the output of docker save, podman save or skopeo copy,
or a tarred OCI layout, plain or compressed. A manifest finds such an image when
its imagePullPolicy is IfNotPresent or Never. It may be in no registry, so the node
does not remove it when its disk is short, as it does with unused images that it
pulled: that is left to whylet image remove.

The names that were loaded are printed, one a line. When one file cannot be
loaded, the others are; the exit code is 1 then.`,
		Example: `  docker save myapp:1 -o myapp.tar && whylet image load myapp.tar
  whylet image load build/*.tar
  whylet image load --name myapp:dev layout.tar.gz   # an archive without a name`,
		Args: positional(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, files []string) error {
			if name != "" && len(files) > 1 {
				return exit.UsageError("--name is for one file, and there are %d", len(files))
			}
			node, err := localNode(dataDir)
			if err != nil {
				return err
			}
			var errs []error
			for _, file := range files {
				names, err := runtime.LoadImage(cmd.Context(), node.Endpoint, file, name)
				if errors.Is(err, runtime.ErrNoAnswer) {
					return node.unanswered(dataDir, err)
				}
				if err != nil {
					errs = append(errs, err)
				}
				for _, n := range names {
					fmt.Fprintln(s.out, n)
				}
			}
			return errors.Join(errs...)
		},
	}
	addDataDirFlag(cmd, &dataDir)
	cmd.Flags().StringVar(&name, "name", "", "the image's name, for an archive that says none")
	return cmd
}

func newImageListCommand(s streams) *cobra.Command {
	var dataDir, output string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the images that the node holds",
		Example: `  whylet image list
  whylet image list -o json | jq -r '.[].names[]'`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			node, err := localNode(dataDir)
			if err != nil {
				return err
			}
			images, err := runtime.ListImages(cmd.Context(), node.Endpoint)
			if errors.Is(err, runtime.ErrNoAnswer) {
				return node.unanswered(dataDir, err)
			}
			if err != nil {
				return err
			}
			if output != "" {
				return encode(s.out, output, images)
			}
			return printImages(s, images)
		},
	}
	addDataDirFlag(cmd, &dataDir)
	addOutputFlag(cmd, &output)
	return cmd
}

func newImageRemoveCommand() *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use:     "remove NAME…",
		Aliases: []string{"rm"},
		Short:   "Remove images from the node",
		Long: `Remove images from the node, by a name or an id that whylet image list shows. Containers
that were made of one run on.

When one cannot be removed, the others are; the exit code is 1 then.`,
		Example: `  whylet image remove myapp:1`,
		Args:    positional(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			node, err := localNode(dataDir)
			if err != nil {
				return err
			}
			var errs []error
			for _, name := range names {
				err := runtime.RemoveImage(cmd.Context(), node.Endpoint, name)
				switch {
				case errors.Is(err, runtime.ErrNoAnswer):
					return node.unanswered(dataDir, err)
				case errors.Is(err, runtime.ErrNoImage):
					err = fmt.Errorf("%w; whylet image list shows those that are there", err)
				}
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		},
	}
	addDataDirFlag(cmd, &dataDir)
	return cmd
}

// unanswered adds to the error of a runtime that does not answer what to do about it.
func (i instance) unanswered(dataDir string, err error) error {
	fix := "the node does not run: whylet up --data-dir " + dataDir
	switch {
	case i.running() && i.Settings.RuntimeEndpoint == "":
		fix = "the node runs and starts it again; try again in a moment, and see " + filepath.Join(dataDir, "logs", "containerd.log")
	case i.Settings.RuntimeEndpoint != "":
		fix = "start that runtime; it is not Whylet's own"
	}
	return exit.With(exit.NotRunning, fmt.Errorf("%w; %s", err, fix))
}

func printImages(s streams, images []runtime.Image) error {
	w := tabwriter.NewWriter(s.out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tID\tSIZE\tPINNED")
	for _, i := range images {
		names := i.Names
		if len(names) == 0 {
			names = []string{"<none>"}
		}
		id := strings.TrimPrefix(i.ID, "sha256:")
		for _, n := range names {
			fmt.Fprintf(w, "%s\t%.12s\t%.1fMB\t%v\n", n, id, float64(i.Size)/1e6, i.Pinned)
		}
	}
	return w.Flush()
}
