package command

import (
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/mcp"
)

// newMCPCommand makes `kubectl why mcp`, which shares the flags that say who is asked.
func newMCPCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Answer programs by the Model Context Protocol",
		Long: `Answer programs by the Model Context Protocol on standard input and output, until the
input ends. The tools why, unhealthy, timeline, what_if, suggest and facts only read,
with the rights of the kubeconfig. A pod of the name mcp is asked about as pod/mcp.`,
		Example: `  kubectl why mcp                             # what an assistant is told to start
  kubectl why mcp --context staging
  kubectl why mcp --file web-1.facts          # about an exported history
  kubectl why mcp --knowledge ./messages      # with what your own programs' messages mean`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.UsageError("mcp takes no names; its clients do the asking")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.history != "" && o.dataDir != "" {
				return exit.UsageError("--file and --data-dir exclude each other")
			}
			server := mcp.NewServer(o.Agent, func(settings ask.Options, everywhere bool) (ask.Asker, error) {
				return o.asker(settings, everywhere)
			})
			return server.Run(cmd.Context(), &sdk.IOTransport{Reader: io.NopCloser(o.In), Writer: unclosed{o.Out}})
		},
	}
	o.config.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&o.history, "file", "", "an exported history, instead of a cluster")
	cmd.Flags().StringVar(&o.dataDir, "data-dir", "", "the data directory of a node or of whylet-observe on this machine, instead of a cluster")
	o.registerKnowledge(cmd)
	return cmd
}

// unclosed leaves closing to the process.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
