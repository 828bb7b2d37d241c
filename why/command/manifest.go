package command

import (
	"fmt"
	"strings"

	"k8s.io/cli-runtime/pkg/resource"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/why/ask"
)

// fromManifests are the things in manifests that can be asked about. Others are passed
// over: a manifest has ConfigMaps, too.
func (o *options) fromManifests() ([]ask.Target, error) {
	b := resource.NewLocalBuilder().Unstructured().Local().ContinueOnError()
	named := resource.FilenameOptions{Recursive: o.within}
	for _, f := range o.files {
		if f == "-" {
			b = b.Stream(o.In, "stdin")
			continue
		}
		named.Filenames = append(named.Filenames, f)
	}
	if len(named.Filenames) > 0 {
		b = b.FilenameParam(false, &named)
	}
	infos, err := b.Flatten().Do().Infos()
	if err != nil {
		return nil, fmt.Errorf("reading -f %s: %w", strings.Join(o.files, " -f "), err)
	}
	var all []ask.Target
	for _, i := range infos {
		if kind, ok := ask.Kind(i.Object.GetObjectKind().GroupVersionKind().Kind); ok && i.Name != "" {
			all = append(all, ask.Target{Kind: kind, Namespace: i.Namespace, Name: i.Name})
		}
	}
	if len(all) == 0 {
		return nil, exit.UsageError("-f %s has nothing in it that runs: %s", strings.Join(o.files, " -f "), strings.Join(ask.Kinds, ", "))
	}
	return all, nil
}
