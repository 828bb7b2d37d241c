package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/observe"
)

func newDoctor(out io.Writer) *cobra.Command {
	endpoint := ""
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what can be seen on this machine, and what the rest would cost in answers",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, s := range observe.Examine(cmd.Context(), endpoint) {
				sign := "yes"
				if !s.Seen {
					sign = "no "
				}
				if _, err := fmt.Fprintf(out, "%s  %-18s %s\n", sign, s.Name, s.What); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&endpoint, "runtime-endpoint", "", "the container runtime's socket (default: the one that kubelet is configured with, else it is looked for)")
	return cmd
}
