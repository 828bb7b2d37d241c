package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"whylet.dev/whylet/cluster/runtime"
	"whylet.dev/whylet/demo"
	"whylet.dev/whylet/deploy/oci"
	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/paint"
)

// demoImage is the image of the demo's pods while it plays.
const demoImage = "whylet.local/demo:1"

func newDemoCommand(s streams) *cobra.Command {
	var dataDir, only string
	var web bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Play five troubles on the node that runs, and ask why after each",
		Long: `Play troubles that people had with Kubernetes on the node that runs, ask kubectl why
after each, and say what there is to see: a probe that fails while the log says 200, a
container that keeps its neighbour from its traffic, an end with exit code 0, a proxy
that answers for an application, and memory that runs out without a limit.

It takes half a minute, needs no registry, and works in namespace ` + demo.Namespace + `, which
is removed at the end, also on Ctrl-C. Scenes: ` + strings.Join(demo.Names(), ", ") + `.`,
		Example: `  whylet up --detach && whylet demo
  whylet demo --only httpd --web     # and look at its timeline`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return playDemo(cmd.Context(), s, dataDir, only, web)
		},
	}
	addDataDirFlag(cmd, &dataDir)
	cmd.Flags().StringVar(&only, "only", "", "only this scene")
	cmd.Flags().BoolVar(&web, "web", false, "open the timeline of the last scene, until Ctrl-C")
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(demo.Names(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func playDemo(ctx context.Context, s streams, dataDir, only string, web bool) (err error) {
	if only != "" && !slices.Contains(demo.Names(), only) {
		return exit.UsageError("there is no scene %q; there are %s", only, strings.Join(demo.Names(), ", "))
	}
	node, err := demoNode(dataDir)
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", node.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading %s: %w", node.Kubeconfig, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("a client for %s: %w", config.Host, err)
	}
	fmt.Fprintf(s.err, "making the demo's pods in namespace %s; Ctrl-C takes them away at any time\n\n", demo.Namespace)
	if err := loadActor(ctx, node, dataDir); err != nil {
		return err
	}
	defer func() {
		removed := runtime.RemoveImage(context.WithoutCancel(ctx), node.Endpoint, demoImage)
		if !errors.Is(removed, runtime.ErrNoImage) {
			err = errors.Join(err, removed)
		}
	}()
	err = demo.Stage{
		Client: client, Node: node.Settings.NodeName, Image: demoImage, Only: only, Web: web, Out: s.out, Err: s.err,
		Ask:  whyOf(s, node.Kubeconfig),
		Bold: func(text string) string { return paint.Text(s.out, paint.Bold, text) },
	}.Play(ctx)
	if errors.Is(err, context.Canceled) {
		return exit.Silent(exit.Failed) // Ctrl-C, and all is gone
	}
	if note := tooFullNote(dataDir, node.Settings); note != "" && errors.Is(err, demo.ErrRefused) {
		return fmt.Errorf("%w: %s; %s", err, note, otherThresholds)
	}
	if errors.Is(err, demo.ErrRefused) {
		return fmt.Errorf("%w; kubectl why node/%s says why", err, node.Settings.NodeName)
	}
	return err
}

// demoNode is the node of this machine if it runs and anything may be made on it.
func demoNode(dataDir string) (instance, error) {
	node, err := localNode(dataDir)
	switch {
	case err != nil:
		return node, err
	case !node.running():
		return node, exit.With(exit.NotRunning, fmt.Errorf("the node in %s does not run; start it: whylet %s --detach --data-dir %s", dataDir, node.Command, dataDir))
	case node.ReadyAt == nil:
		return node, exit.With(exit.NotRunning, errors.New("the node is not Ready yet; whylet status says what it waits for"))
	case node.Command != "up" || node.Settings.RuntimeEndpoint != "":
		return node, exit.UsageError("the demo plays on a node with a control plane and a container runtime of its own: whylet up --detach")
	}
	return node, nil
}

// loadActor makes the image of the program in libexec, and loads it into the node.
func loadActor(ctx context.Context, node instance, dataDir string) error {
	dataDir, err := absDataDir(dataDir)
	if err != nil {
		return err
	}
	actor, err := runtime.Helper(dataDir, "demo")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "whylet-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	archive := filepath.Join(dir, "demo.tar")
	err = oci.Write(archive, demoImage, oci.Spec{
		Arch: goruntime.GOARCH, Config: oci.Config{Entrypoint: []string{"/actor"}},
		Files: []oci.File{{Path: "/actor", From: actor, Mode: 0o755}},
	})
	if errors.Is(err, os.ErrNotExist) {
		return exit.With(exit.Machine, fmt.Errorf("the demo's program is missing beside whylet: %w; make build", err))
	}
	if err != nil {
		return fmt.Errorf("make the demo's image: %w", err)
	}
	_, err = runtime.LoadImage(ctx, node.Endpoint, archive, "")
	return err
}
