package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/observe"
)

func newClean(out io.Writer) *cobra.Command {
	dataDir, stay := "", false
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove what agents kept on this machine",
		Long: `Remove what agents kept on this machine: their memory, and its directory where nothing
of others is in it. No agent may run. "kubectl why uninstall" has this done on each node.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := observe.Clean(dataDir); err != nil {
				return err
			}
			_, err := fmt.Fprintln(out, "clean:", dataDir, "is gone")
			if stay {
				<-cmd.Context().Done()
			}
			return err
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", defaultDataDir, "where agents keep their memory")
	cmd.Flags().BoolVar(&stay, "stay", false, "then wait to be ended, as a pod of a DaemonSet has to")
	return cmd
}
