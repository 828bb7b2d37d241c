// Command whylet-observe explains pods beside a kubelet that somebody else runs.
//
// It changes nothing: its clients of Kubernetes and of the container runtime make no
// call but those that read.
//
//	agent.go   agent: watches the pods of one node and remembers
//	why.go     why: answers from that memory, also while the agent runs
//	doctor.go  doctor: says what can be seen on this machine, and what the rest costs
//	clean.go   clean: removes what agents kept
//	ready.go   ready: whether the agent sees its node's pods
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/paint"
)

// version is set by the build.
var version = "unreleased"

// defaultDataDir is where the memory is kept.
const defaultDataDir = "/var/lib/whylet-observe"

func main() {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // what matters comes back as an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends at once what does not stop
	out, errs := paint.Shown(os.Stdout), paint.Shown(os.Stderr)
	os.Exit(int(exit.Report(errs, newRoot(out, errs).ExecuteContext(ctx))))
}

func newRoot(out, log io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "whylet-observe",
		Short:         "Explain pods beside a kubelet that somebody else runs, and change nothing",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return exit.UsageError("%w; see %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(newAgent(log), newWhy(out), newDoctor(out), newClean(out), newReady())
	return root
}
