package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/mesh"
)

func newCheckCommand(env Env) *cobra.Command {
	a := access{env: env}
	var output string
	cmd := &cobra.Command{
		Use:   "check [pod/]NAME",
		Short: "Go through the checks of a pod's probes in the mesh",
		Long: `Go through what a person would look at when a probe in the mesh keeps failing: are
the probes rewritten, and to the right place; does the sidecar know them; do sidecar
and health-check server run; did the pod fail in starting, or in running.

Pods of osm-edge, Istio and Linkerd are understood, too. The exit code is 1 when
something is wrong.`,
		Example: `  whylet mesh check pod/web-1 -n shop
  whylet mesh check web-1 -o yaml`,
		Args: env.args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if output != "" && output != "yaml" && output != "json" {
				return env.usage("-o %s is not known; it can be json or yaml", output)
			}
			return a.check(cmd.Context(), args[0], output)
		},
	}
	a.addFlags(cmd)
	cmd.Flags().StringVarP(&a.namespace, "namespace", "n", "", "namespace (default: that of the context)")
	cmd.Flags().StringVarP(&output, "output", "o", "", "json or yaml instead of text")
	return cmd
}

func (a *access) check(ctx context.Context, target, output string) error {
	kind, name, ok := strings.Cut(target, "/")
	if !ok {
		kind, name = "pod", target
	}
	if kind != "pod" && kind != "pods" && kind != "po" {
		return a.env.usage("%s is not a pod; say pod/NAME", target)
	}
	client, namespace, err := a.client()
	if err != nil {
		return err
	}
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read pod %s/%s: %w", namespace, name, err)
	}
	findings := mesh.Check(pod)
	if err := printFindings(a.env.Out, output, findings); err != nil {
		return err
	}
	wrong := 0
	for _, f := range findings {
		if !f.OK {
			wrong++
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d checks found something wrong", wrong, len(findings))
	}
	return nil
}

func printFindings(out io.Writer, format string, findings []mesh.Finding) error {
	if format != "" { // JSON is YAML, too, but not the other way round
		data, err := yaml.Marshal(findings)
		if err == nil && format == "json" {
			data, err = yaml.YAMLToJSON(data)
		}
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	}
	var errs []error
	line := func(format string, args ...any) {
		_, err := fmt.Fprintf(out, format, args...)
		errs = append(errs, err)
	}
	for _, f := range findings {
		mark := "ok   "
		if !f.OK {
			mark = "WRONG"
		}
		about := ""
		if f.About != "" {
			about = f.About + ": "
		}
		line("%s %s%s\n", mark, about, f.Text)
		if f.Fix != "" && !f.OK {
			line("      %s\n      fix: %s\n", f.ID, f.Fix)
		}
	}
	return errors.Join(errs...)
}
