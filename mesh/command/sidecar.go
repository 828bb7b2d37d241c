package command

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/mesh"
	"whylet.dev/whylet/mesh/identity"
	"whylet.dev/whylet/mesh/sidecar"
)

func newSidecarCommand(env Env) *cobra.Command {
	var redirectOnly, healthcheckOnly bool
	cmd := &cobra.Command{
		Use:   "sidecar",
		Short: "Run beside an application: what the webhook puts into pods",
		Long: `Run beside an application. The webhook puts this into pods, with its configuration
in the environment; it is not for typing.`,
		Example: `  whylet mesh sidecar                     # the sidecar
  whylet mesh sidecar --redirect-only     # the init container
  whylet mesh sidecar --healthcheck-only  # osm-edge's container osm-healthcheck`,
		Args: env.args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if redirectOnly {
				return sidecar.Redirect()
			}
			o := sidecar.Options{
				Probes: !healthcheckOnly, Healthcheck: true,
				Log: slog.New(slog.NewTextHandler(env.Err, nil)),
			}
			var err error
			if o.Config, err = mesh.ParseSidecarConfig(os.Getenv(mesh.ConfigEnv)); err != nil {
				return err
			}
			if o.Probes && o.Config.Form == mesh.OSMEdge && len(o.Config.TCPPorts) > 0 {
				o.Healthcheck = false // a container of its own has the port
			}
			if url := os.Getenv(mesh.CAURLEnv); url != "" && !healthcheckOnly {
				o.Member = identity.NewMember(url, filepath.Join(mesh.IdentityDir, "token"), []byte(os.Getenv(mesh.CAEnv)), o.Log)
			}
			return sidecar.Serve(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&redirectOnly, "redirect-only", false, "put the redirect into the pod's network, and end")
	cmd.Flags().BoolVar(&healthcheckOnly, "healthcheck-only", false, "serve tcpSocket probes only")
	cmd.MarkFlagsMutuallyExclusive("redirect-only", "healthcheck-only")
	return cmd
}
