// Package command is `whylet mesh`: setting the mesh up, looking at it, and the
// two programs that it consists of.
package command

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"whylet.dev/whylet/mesh"
)

// Env is what the commands need of the program around them.
type Env struct {
	In  io.Reader
	Out io.Writer // data only
	Err io.Writer
	// DataDir is the default of --data-dir, and Kubeconfig gives the user's
	// kubeconfig of the node in a data directory; nil or "" where there is none.
	DataDir    string
	Kubeconfig func(dataDir string) string
	// Helper is where a helper program of whylet is; nil: in libexec beside the program.
	Helper func(name string) (string, error)
	// Usage marks an error as one of the command line.
	Usage func(error) error
}

// DefaultImage is the image that the mesh's containers run, unless told otherwise.
const DefaultImage = "whylet.dev/mesh:latest"

// New makes `whylet mesh`.
func New(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mesh",
		Short: "Probes that work behind a sidecar with mutual TLS, and tell the truth",
		Long: `Probes that work behind a sidecar with mutual TLS, and tell the truth.

In a mesh all traffic of a pod goes through a sidecar. A node's httpGet probe fails
there, since the node has no identity in the mesh, and its tcpSocket probe always
succeeds, since the sidecar accepts every connection. The mesh rewrites the probes
to ports of the sidecar that are beside the redirect; the sidecar asks the
application and says in each answer whose it is.`,
		Example: `  whylet mesh render -f pod.yaml      # what would become of a pod, offline
  whylet mesh image --to mesh.tar     # the image of sidecar and webhook
  whylet mesh enable shop             # pods created in shop are in the mesh from now on
  whylet mesh check pod/web-1 -n shop # why do its probes fail?`,
		Args: env.args(cobra.NoArgs),
	}
	cmd.AddCommand(
		newRenderCommand(env), newImageCommand(env), newEnableCommand(env), newCheckCommand(env), newUninstallCommand(env),
		newWebhookCommand(env), newSidecarCommand(env),
	)
	return cmd
}

func (env Env) helper(name string) (string, error) {
	if env.Helper != nil {
		return env.Helper(name)
	}
	self, err := os.Executable()
	return filepath.Join(filepath.Dir(self), "libexec", name), err
}

func (env Env) usage(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if env.Usage == nil {
		return err
	}
	return env.Usage(err)
}

func (env Env) args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return env.usage("%w; see %s --help", err, cmd.CommandPath())
		}
		return nil
	}
}

// access is how a command reaches an API server.
type access struct {
	env                                     Env
	kubeconfig, context, namespace, dataDir string
}

func (a *access) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.kubeconfig, "kubeconfig", "", "kubeconfig to use (default: $KUBECONFIG, ~/.kube/config, or the pod's own account)")
	f.StringVar(&a.context, "context", "", "context of the kubeconfig")
	f.StringVar(&a.dataDir, "data-dir", "", "use the kubeconfig of the node with this state (default place: "+a.env.DataDir+")")
	_ = cmd.MarkFlagDirname("data-dir")
}

// client gives a client, and the namespace that is meant where none is said.
func (a *access) client() (kubernetes.Interface, string, error) {
	config, namespace, err := a.config()
	if err != nil {
		return nil, "", err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, "", fmt.Errorf("reach the API server: %w", err)
	}
	return client, namespace, nil
}

func (a *access) config() (*rest.Config, string, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.kubeconfig
	if a.dataDir != "" {
		if a.env.Kubeconfig != nil {
			rules.ExplicitPath = a.env.Kubeconfig(a.dataDir)
		}
		if rules.ExplicitPath == "" {
			return nil, "", a.env.usage("no node has its state in %s; start one with whylet up --data-dir %s", a.dataDir, a.dataDir)
		}
	}
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: a.context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("find the API server: %w; give --kubeconfig, or --data-dir for a node on this machine", err)
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, "", err
	}
	if a.namespace != "" {
		namespace = a.namespace
	}
	return config, namespace, nil
}

// addCompatFlag adds the choice of the form.
func addCompatFlag(cmd *cobra.Command, compat *string) {
	cmd.Flags().StringVar(compat, "compat", "", "osm-edge: its plain form, one probe of each kind for a whole pod")
	_ = cmd.RegisterFlagCompletionFunc("compat", cobra.FixedCompletions([]string{string(mesh.OSMEdge)}, cobra.ShellCompDirectiveNoFileComp))
}

func (env Env) form(compat string) (mesh.Form, error) {
	switch mesh.Form(compat) {
	case "", mesh.Default:
		return mesh.Default, nil
	case mesh.OSMEdge:
		return mesh.OSMEdge, nil
	}
	return "", env.usage("--compat %s is not known; it can be %s", compat, mesh.OSMEdge)
}
