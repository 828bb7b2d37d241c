package command

import (
	"fmt"
	"log/slog"
	"net"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/mesh/webhook"
)

// defaultListen is where the webhook listens.
const defaultListen = ":8443"

func newWebhookCommand(env Env) *cobra.Command {
	a := access{env: env}
	o := webhook.Options{}
	var listen, compat string
	cmd := &cobra.Command{
		Use:   "webhook",
		Short: "Run the mesh's control plane: admission webhook and authority",
		Long: `Run the mesh's control plane: the admission webhook that puts pods into the mesh, and
the authority that gives them their identities. whylet mesh enable runs it in the
cluster; by hand it runs anywhere that API server and pods can reach.

Its certificates are made and rotated by itself. Pods are created without the mesh
while it cannot be reached, unless --strict is given.`,
		Example: `  whylet mesh webhook --host 192.0.2.7 --data-dir /var/lib/whylet
  whylet mesh webhook --service whylet-mesh   # in a pod, behind this Service`,
		Args: env.args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(o.Hosts) == 0 {
				if o.Service == "" {
					return env.usage("--host or --service is needed: how API server and pods reach the webhook")
				}
				o.Hosts = []string{o.Service + "." + o.Namespace + ".svc"}
			}
			form, err := env.form(compat)
			if err != nil {
				return err
			}
			o.Form = form
			client, _, err := a.client()
			if err != nil {
				return err
			}
			o.Client = client
			o.Log = slog.New(slog.NewTextHandler(env.Err, nil))
			if o.Listener, err = net.Listen("tcp", listen); err != nil {
				return fmt.Errorf("open the webhook's port: %w", err)
			}
			return webhook.Serve(cmd.Context(), o)
		},
	}
	a.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&listen, "listen", defaultListen, "address to listen on")
	f.StringSliceVar(&o.Hosts, "host", nil, "names or addresses by which API server and pods come")
	f.StringVar(&o.Service, "service", "", "the Service in front of it")
	f.StringVar(&o.Namespace, "mesh-namespace", meshNamespace, "namespace of the mesh's own objects")
	f.StringVar(&o.Image, "image", DefaultImage, "image of the mesh's containers")
	f.BoolVar(&o.ProbesOnly, "probes-only", false, "only what probes need: no redirect, no mutual TLS")
	f.BoolVar(&o.Strict, "strict", false, "refuse pods while the webhook cannot be reached")
	addCompatFlag(cmd, &compat)
	return cmd
}
