package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/mesh"
)

type renderOptions struct {
	env                    Env
	file, compat, image    string
	probesOnly, configOnly bool
	form                   mesh.Form
	documents, rendered    int
}

func newRenderCommand(env Env) *cobra.Command {
	o := renderOptions{env: env}
	cmd := &cobra.Command{
		Use:   "render -f FILE",
		Short: "Show what the mesh makes of a manifest, offline",
		Long: `Show what the mesh makes of pods, and of the pod templates of workloads, as if the
webhook had admitted them. Other objects come out as they went in.`,
		Example: `  whylet mesh render -f pod.yaml
  whylet mesh render -f deployment.yaml --compat osm-edge
  whylet mesh render -f pod.yaml --proxy-config   # what the proxy is told, as osm-edge has it`,
		Args: env.args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return o.run() },
	}
	f := cmd.Flags()
	f.StringVarP(&o.file, "filename", "f", "", "manifest in YAML or JSON, - for stdin")
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
	f.StringVar(&o.image, "image", DefaultImage, "image of the mesh's containers")
	f.BoolVar(&o.probesOnly, "probes-only", false, "only what probes need: no redirect, no mutual TLS")
	f.BoolVar(&o.configOnly, "proxy-config", false, "show the proxy's configuration instead, as JSON")
	addCompatFlag(cmd, &o.compat)
	return cmd
}

func (o *renderOptions) run() error {
	if o.file == "" {
		return o.env.usage("-f is needed: a manifest, or - for stdin")
	}
	form, err := o.env.form(o.compat)
	if err != nil {
		return err
	}
	o.form = form
	in := o.env.In
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return fmt.Errorf("read the manifest: %w", err)
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(in, 4096)
	for {
		var object map[string]any
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return fmt.Errorf("read %s: %w", o.file, err)
		}
		if object == nil {
			continue
		}
		if err := o.object(object); err != nil {
			return err
		}
	}
	if o.rendered == 0 {
		return fmt.Errorf("%s has neither a pod nor a workload", o.file)
	}
	return nil
}

// object renders one document.
func (o *renderOptions) object(object map[string]any) error {
	template := podIn(object)
	if template != nil {
		injected, err := o.inject(template)
		if err != nil {
			return fmt.Errorf("%v %v: %w", object["kind"], nameOf(object), err)
		}
		o.rendered++
		if o.configOnly {
			data, err := json.MarshalIndent(mesh.ProxyConfigOf(injected), "", "  ")
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(o.env.Out, string(data))
			return err
		}
		if err := put(template, injected); err != nil {
			return err
		}
	}
	if o.configOnly {
		return nil
	}
	data, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	if o.documents++; o.documents > 1 {
		data = append([]byte("---\n"), data...)
	}
	_, err = io.Copy(o.env.Out, bytes.NewReader(data))
	return err
}

// podIn finds the pod, or the pod template, of an object; nil when it has none.
func podIn(object map[string]any) map[string]any {
	if object["kind"] == "Pod" {
		return object
	}
	for _, path := range [][]string{{"spec", "template"}, {"spec", "jobTemplate", "spec", "template"}} {
		at := object
		for _, step := range path {
			at, _ = at[step].(map[string]any)
		}
		if spec, ok := at["spec"].(map[string]any); ok && spec["containers"] != nil {
			return at
		}
	}
	return nil
}

func nameOf(object map[string]any) any {
	metadata, _ := object["metadata"].(map[string]any)
	return metadata["name"]
}

func (o *renderOptions) inject(template map[string]any) (*v1.Pod, error) {
	data, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	var pod v1.Pod
	if err := json.Unmarshal(data, &pod); err != nil {
		return nil, err
	}
	in := mesh.Injection{Form: o.form, Image: o.image}
	if !o.probesOnly {
		in.CAURL, in.CABundle = "https://"+serviceHost+":8443", "(the mesh's CA)"
		if pod.Spec.ServiceAccountName == "" {
			pod.Spec.ServiceAccountName = "default" // as the API server does before webhooks
		}
	}
	return mesh.Inject(&pod, in)
}

// put writes the injected pod over the template, keeping what else is in it.
func put(template map[string]any, pod *v1.Pod) error {
	data, err := json.Marshal(pod)
	if err != nil {
		return err
	}
	var object map[string]any
	if err := json.Unmarshal(data, &object); err != nil {
		return err
	}
	metadata, _ := template["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		template["metadata"] = metadata
	}
	metadata["annotations"] = pod.Annotations
	template["spec"] = object["spec"]
	return nil
}
