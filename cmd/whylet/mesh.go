package main

import (
	"github.com/spf13/cobra"

	"whylet.dev/whylet/cluster/runtime"
	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/mesh/command"
)

// newMeshCommand mounts `whylet mesh`.
func newMeshCommand(s streams) *cobra.Command {
	return command.New(command.Env{
		In: s.in, Out: s.out, Err: s.err, DataDir: defaultDataDir,
		Kubeconfig: func(dataDir string) string {
			i, err := readInstance(dataDir)
			if err != nil {
				return "" // no node there
			}
			return i.Kubeconfig
		},
		Helper: func(name string) (string, error) { return runtime.Helper(defaultDataDir, name) },
		Usage:  func(err error) error { return exit.With(exit.Usage, err) },
	})
}
