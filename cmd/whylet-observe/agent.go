package main

import (
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/observe"
)

func newAgent(log io.Writer) *cobra.Command {
	o := observe.Options{Version: version}
	verbose := false
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Watch the pods of one node, and remember",
		Long: `Watch the pods of one node, and remember why each is as it is, until it is told to end.

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
				return errors.New("which node? say --node-name, or set NODE_NAME")
			}
			level := slog.LevelInfo
			if verbose {
				level = slog.LevelDebug
			}
			o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: level}))
			a, err := observe.Open(cmd.Context(), o)
			if err != nil {
				return err
			}
			return errors.Join(a.Run(cmd.Context()), a.Close())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Kubeconfig, "kubeconfig", "", "kubeconfig to read pods with (default: the pod's service account)")
	f.StringVar(&o.Node, "node-name", "", "the node as the API server calls it (default: $NODE_NAME)")
	f.StringVar(&o.Runtime, "runtime-endpoint", "", `the container runtime's socket, unix://… (default: it is looked for; "none": ask none)`)
	f.StringVar(&o.DataDir, "data-dir", defaultDataDir, "where the memory is kept")
	f.BoolVar(&o.NoProbeAgain, "no-probe-again", false, "never ask a container once more after a probe of kubelet's timed out")
	f.BoolVar(&o.NoTap, "no-tap", false, "do not look at the packets of kubelet's probes")
	f.BoolVarP(&verbose, "verbose", "v", false, "log more")
	return cmd
}
