package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/paint"
	"whylet.dev/whylet/why/command"
)

// newWhyCommand mounts `whylet why`, which is the client kubectl-why.
func newWhyCommand(s streams) *cobra.Command {
	return command.New(command.Env{In: s.in, Out: paint.Shown(s.out), Err: paint.Shown(s.err), DataDir: defaultDataDir, Agent: "whylet-why/" + version})
}

// whyOf asks the node behind a kubeconfig as kubectl why does, with its arguments.
func whyOf(s streams, kubeconfig string) func(ctx context.Context, out io.Writer, args ...string) error {
	return func(ctx context.Context, out io.Writer, args ...string) error {
		why := command.New(command.Env{In: s.in, Out: paint.Shown(out), Err: paint.Shown(s.err), DataDir: defaultDataDir, Agent: "whylet/" + version})
		why.SilenceErrors, why.SilenceUsage = true, true
		why.SetArgs(append(args, "--kubeconfig", kubeconfig))
		return why.ExecuteContext(ctx)
	}
}
