package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/observe"
)

func newReady() *cobra.Command {
	dataDir := ""
	cmd := &cobra.Command{
		Use:   "ready",
		Short: "Say by the exit code whether the agent has seen its node's pods",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := os.Stat(observe.ReadyFile(dataDir)); err != nil {
				return fmt.Errorf("not ready: %w", err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", defaultDataDir, "where the agent keeps its memory")
	return cmd
}
