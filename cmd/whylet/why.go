package main

import (
	"github.com/spf13/cobra"

	"whylet.dev/whylet/why/command"
)

// newWhyCommand mounts `whylet why`, which is the client kubectl-why.
func newWhyCommand(s streams) *cobra.Command {
	return command.New(command.Env{In: s.in, Out: s.out, Err: s.err, DataDir: defaultDataDir, Agent: "whylet-why/" + version})
}
