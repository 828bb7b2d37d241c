package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"whylet.dev/whylet/cluster/runtime"
	"whylet.dev/whylet/exit"
)

// defaultDataDir is where a node's state is when nothing else is said.
const defaultDataDir = "/var/lib/whylet"

// run is the whole program but for the process around it: it parses args, runs
// the command, prints its error, and returns the exit code.
func run(ctx context.Context, args []string, s streams) exit.Code {
	root := newRootCommand(s)
	root.SetArgs(args)
	err := unknownCommand(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	return exit.Report(s.err, err)
}

// newRootCommand puts all commands together. A command that is added gets a file
// of its own and a line here.
func newRootCommand(s streams) *cobra.Command {
	// Kubernetes' packages put a --version of their own there, for every command.
	pflag.CommandLine = pflag.NewFlagSet("whylet", pflag.ContinueOnError)
	root := &cobra.Command{
		Use:   "whylet",
		Short: "A Kubernetes node that remembers why",
		Long: `Whylet is a Kubernetes node that remembers why.

It runs pods on one machine, with a control plane of its own or with that of an
existing cluster, and keeps every fact it decides from.`,
		Example: `  whylet up --detach                  # start, and wait until the node is Ready
  export KUBECONFIG=/var/lib/whylet/kubeconfig/admin.conf
  kubectl get nodes
  whylet down                         # stop; pods' containers keep running
  whylet down --purge                 # stop, and leave nothing behind`,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exit.UsageError("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(
		newUpCommand(s),
		newDownCommand(s),
		newStatusCommand(s),
		newServiceCommand(s),
		newNodeCommand(s),
		newImageCommand(s),
		newJournalCommand(s),
		newWhyCommand(s),
		newLintCommand(s),
		newMeshCommand(s),
		newDemoCommand(s),
		newDoctorCommand(s),
		newKubectlCommand(),
		newVersionCommand(s),
		&cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exit.Help()},
	)
	return root
}

// unknownCommand gives a mistyped command its own exit code.
func unknownCommand(root *cobra.Command, args []string) error {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	if _, _, err := root.Find(args); err != nil {
		return exit.UsageError("%s", strings.TrimSpace(err.Error()))
	}
	return nil
}

// positional wraps a check of the arguments so that its error is one of usage.
func positional(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return exit.UsageError("%w; see %s --help", err, cmd.CommandPath())
		}
		return nil
	}
}

// addDataDirFlag adds the flag that every command that talks to a local node has.
func addDataDirFlag(cmd *cobra.Command, dataDir *string) {
	cmd.Flags().StringVar(dataDir, "data-dir", defaultDataDir, "directory of the node's state")
	_ = cmd.MarkFlagDirname("data-dir")
}

// cgroupRoot is the cgroup below which a node's pods are: /whylet for the node in
// the default place, a name of its own for every other.
func cgroupRoot(dataDir string) string {
	if dataDir == defaultDataDir {
		return "/whylet"
	}
	return "/whylet-" + runtime.ID(dataDir)
}
