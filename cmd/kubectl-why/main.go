// Command kubectl-why is why as a client: kubectl finds it in the PATH as `kubectl why`.
// It runs wherever kubectl does, and has nothing of a node in it.
//
// By the name kubectl_complete-why it tells kubectl what a shell can complete
// (k8s.io/kubectl pkg/cmd/plugin, SetupPluginCompletion).
package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the ways to log in that kubeconfigs name
	"k8s.io/klog/v2"

	deploy "whylet.dev/whylet/deploy/command"
	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/paint"
	"whylet.dev/whylet/why/command"
)

// version is what the build says of itself.
var version = "devel"

// completion is the name by which kubectl asks what can be completed.
const completion = "kubectl_complete-why"

func main() {
	klog.SetSlogLogger(slog.New(slog.DiscardHandler)) // what matters comes back as an error
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends at once
	args := os.Args[1:]
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == completion {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	os.Exit(int(run(ctx, args, os.Stdin, os.Stdout, os.Stderr)))
}

func run(ctx context.Context, args []string, in io.Reader, out, errs io.Writer) exit.Code {
	out, errs = paint.Shown(out), paint.Shown(errs)
	root := command.New(command.Env{In: in, Out: out, Err: errs, DataDir: "/var/lib/whylet", Agent: "kubectl-why/" + version})
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl why"}
	root.Version = version
	root.AddCommand(deploy.New(deploy.Env{In: in, Out: out, Err: errs, Version: version})...)
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return exit.UsageError("%w; see kubectl why --help", err)
	})
	root.SetArgs(args)
	return exit.Report(errs, root.ExecuteContext(ctx))
}
