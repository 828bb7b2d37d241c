package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/front/uplink"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/observe"
	"whylet.dev/whylet/why/serve"
)

func newAgent(log io.Writer) *cobra.Command {
	o := observe.Options{Version: version}
	up := uplink.Options{Version: version}
	verbose := false
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Watch the pods of one node, and remember",
		Long: `Watch the pods of one node, and remember why each is as it is, until it is told to end.

With --front it keeps a stream to a front, so that the whole cluster can be asked at
once. The node opens no port for that.

It reads: the API server's pods of this node (get, list, watch), the container runtime's
events and statuses, the kernel's log, processes and signals, and what kubelet says of
its own doing. It needs root on the node for all but the first; what it may not read
makes answers less certain, and they say so. "whylet-observe doctor" shows it.`,
		Example: `  whylet-observe agent --kubeconfig /etc/kubernetes/kubelet.conf --node-name worker-1
  NODE_NAME=worker-1 whylet-observe agent        # in a pod, by its service account`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Node == "" {
				o.Node = os.Getenv("NODE_NAME")
			}
			if o.Node == "" {
				return exit.UsageError("which node? say --node-name, or set NODE_NAME")
			}
			level := slog.LevelInfo
			if verbose {
				level = slog.LevelDebug
			}
			o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
			for _, s := range observe.Examine(cmd.Context(), o.Runtime) { // kubectl why doctor reads this
				o.Log.Info("sight", "name", s.Name, "seen", s.Seen, "what", s.What)
			}
			observe.Quieten()
			debug.SetMemoryLimit(observe.GoMemoryLimit)
			debug.SetGCPercent(observe.GoGarbage)
			a, err := observe.Open(cmd.Context(), o)
			if err != nil {
				return err
			}
			return errors.Join(run(cmd.Context(), a, up, o.Log), a.Close())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig to read pods with (default: the pod's service account)")
	f.StringVar(&o.Node, "node-name", "", "the node as the API server calls it (default: $NODE_NAME)")
	f.StringVar(&o.Runtime, "runtime-endpoint", "", `the container runtime's socket, unix://… (default: the one that kubelet is configured with, else it is looked for; "none": ask none)`)
	f.StringVar(&o.DataDir, "data-dir", defaultDataDir, "where the memory is kept")
	f.BoolVar(&o.NoProbeAgain, "no-probe-again", false, "never ask a container once more after a probe of kubelet's timed out")
	f.BoolVar(&o.NoTap, "no-tap", false, "do not look at the packets of kubelet's probes")
	f.BoolVar(&o.NoLogLines, "no-log-lines", false, "keep no last lines of a container's log (why then cannot say what it said)")
	f.StringVar(&up.Address, "front", "", "host:port of the front, which is told of the node's pods and asks about them (default: none)")
	f.StringVar(&up.CAFile, "front-ca", "/etc/whylet/front/ca.crt", "who vouches for the front")
	f.StringVar(&up.TokenFile, "front-token", "/var/run/secrets/whylet/token", "the token that the front is shown, for the audience whylet-front")
	f.BoolVarP(&verbose, "verbose", "v", false, "log more")
	return cmd
}

// run watches, and where there is a front, keeps a stream to it.
func run(ctx context.Context, a *observe.Agent, up uplink.Options, log *slog.Logger) error {
	if up.Address == "" {
		return a.Run(ctx)
	}
	j := a.Journal()
	up.Journal, up.Log, up.Requested = j, log, a.Requested
	up.Serve = map[string]http.Handler{"why": serve.Handler(j, health.Policy{}, nil), "why/facts": serve.FactsHandler(j)}
	ctx, stop := context.WithCancel(ctx)
	var uplinks sync.WaitGroup
	defer uplinks.Wait()
	defer stop()
	failed := make(chan error, 1)
	uplinks.Go(func() {
		if err := uplink.Run(ctx, up); err != nil {
			failed <- err
			stop()
		}
	})
	err := a.Run(ctx)
	select {
	case wrong := <-failed:
		return errors.Join(wrong, err)
	default:
		return err
	}
}
