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
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

// version is set by the build.
var version = "unreleased"

// defaultDataDir is where the memory is kept.
const defaultDataDir = "/var/lib/whylet-observe"

// Exit codes: those of kubectl why (package exit).
const (
	exitFailed  = 1
	exitUnknown = 5
)

// errUnknown is of an answer in which a cause is not known: it was printed.
var errUnknown = errors.New("")

func main() {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // what matters comes back as an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends at once what does not stop
	root := newRoot(os.Stdout, os.Stderr)
	switch err := root.ExecuteContext(ctx); {
	case errors.Is(err, errUnknown):
		os.Exit(exitUnknown)
	case err != nil:
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(exitFailed)
	}
}

func newRoot(out, log io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:           "whylet-observe",
		Short:         "Explain pods beside a kubelet that somebody else runs, and change nothing",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newAgent(log), newWhy(out), newDoctor(out), newClean(out), newReady())
	return root
}
