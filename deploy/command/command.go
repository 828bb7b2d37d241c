package command

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/deploy"
	"whylet.dev/whylet/exit"
)

// Env is what the commands need of the program around them.
type Env struct {
	In  io.Reader
	Out io.Writer // data only
	Err io.Writer
	// Version is that of the images which belong to this program.
	Version string
}

// New makes the commands.
func New(env Env) []*cobra.Command {
	return []*cobra.Command{newInstall(env), newUninstall(env), newDoctor(env)}
}

// options are what all of them share.
type options struct {
	Env
	config        *genericclioptions.ConfigFlags
	registry, tag string
	digests       map[string]string
	runtime       string
	yes           bool
	wait          time.Duration
}

func (o *options) settings() deploy.Options {
	return deploy.Options{
		Namespace: o.namespace(), Registry: o.registry, Tag: o.tag, Version: o.Version, Digests: o.digests, RuntimeEndpoint: o.runtime,
	}
}

func (o *options) register(cmd *cobra.Command) {
	o.config = genericclioptions.NewConfigFlags(true)
	o.config.AddFlags(cmd.Flags())
	cmd.Flags().Lookup("namespace").Usage = "the namespace of Whylet's own parts"
}

func (o *options) registerChange(cmd *cobra.Command) {
	o.register(cmd)
	cmd.Flags().StringVar(&o.registry, "registry", deploy.Registry, "where the images observe and front are")
	cmd.Flags().StringVar(&o.tag, "tag", "", "their tag (default: this version)")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	cmd.Flags().DurationVar(&o.wait, "wait", 3*time.Minute, "how long the nodes are waited for")
}

// namespace is the one asked for, else Whylet's: never that of the kubeconfig's context,
// which is where somebody works.
func (o *options) namespace() string {
	if *o.config.Namespace != "" {
		return *o.config.Namespace
	}
	return deploy.Namespace
}

func (o *options) clients() (kubernetes.Interface, dynamic.Interface, error) {
	config, err := o.config.ToRESTConfig()
	if err != nil {
		return nil, nil, err
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	untyped, err := dynamic.NewForConfig(config)
	return typed, untyped, err
}

// cluster is how people call the cluster that is meant.
func (o *options) cluster() string {
	config, err := o.config.ToRESTConfig()
	if err != nil {
		return "the cluster"
	}
	raw, err := o.config.ToRawKubeConfigLoader().RawConfig()
	if err != nil || raw.CurrentContext == "" {
		return config.Host
	}
	name := raw.CurrentContext
	if c := *o.config.Context; c != "" {
		name = c
	}
	return fmt.Sprintf("%s (%s)", name, config.Host)
}

// agreed asks once. Where nobody can answer, --yes has to be said.
func (o *options) agreed(question string) error {
	if o.yes {
		return nil
	}
	o.say("\n%s [y/N] ", question)
	answer, err := bufio.NewReader(o.In).ReadString('\n')
	if err != nil && answer == "" {
		o.say("\n")
		return exit.UsageError("nobody answered; --yes goes on without asking")
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return exit.With(exit.Failed, fmt.Errorf("nothing was changed"))
}

// say tells people; nothing depends on its being heard.
func (o *options) say(format string, args ...any) { fmt.Fprintf(o.Err, format, args...) }

func noArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.UsageError("%q: no names are taken here; of a pod of the name of a command ask as pod/NAME", args[0])
	}
	return nil
}
