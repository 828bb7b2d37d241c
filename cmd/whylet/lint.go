package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/lint"
	"whylet.dev/whylet/node/object"
	"whylet.dev/whylet/paint"
)

type lintOptions struct {
	files      []string
	nodeMemory string
	output     string
	failOn     string
	// cluster asks the nodes of kubeconfig's cluster for their size; dataDir and
	// history are a journal that remembers the same workloads.
	cluster                      bool
	kubeconfig, dataDir, history string
}

func newLintCommand(s streams) *cobra.Command {
	var o lintOptions
	cmd := &cobra.Command{
		Use:   "lint -f MANIFESTS",
		Short: "Find in manifests what will hurt when they run",
		Long: `Look at manifests without running them: whether their pods together may use more
memory than the node has, who would be evicted first, and mistakes in probes. Every
finding has a reason and a fix.

-f takes files, directories (with all YAML and JSON below them), or - for stdin.
--cluster takes the size of the nodes from the API server, and --data-dir or --history
what a journal remembers of the same workloads: what they needed, and how long they
took to start.

The exit code is 1 when there is a finding of --fail-on or worse.`,
		Example: `  whylet lint -f manifests/ --node-memory 2Gi
  kubectl kustomize . | whylet lint -f - -o sarif > lint.sarif
  whylet lint -f manifests/ --cluster --data-dir /var/lib/whylet`,
		Args: positional(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	f := cmd.Flags()
	f.StringSliceVarP(&o.files, "filename", "f", nil, "file or directory of manifests, - for stdin; may be given several times")
	f.StringVar(&o.nodeMemory, "node-memory", "", "size of the node, as whylet up has it (default: this machine's memory)")
	f.BoolVar(&o.cluster, "cluster", false, "take the size of the nodes from the cluster")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig for --cluster (default: $KUBECONFIG, or ~/.kube/config)")
	f.StringVar(&o.dataDir, "data-dir", "", "a node's state on this machine, whose journal remembers the workloads")
	f.StringVar(&o.history, "history", "", "an exported history that remembers them")
	_ = cmd.MarkFlagDirname("data-dir")
	f.StringVarP(&o.output, "output", "o", "text", "text, json or sarif")
	f.StringVar(&o.failOn, "fail-on", "error", "what makes the exit code 1: error, warning, note or never")
	return cmd
}

func (o lintOptions) run(ctx context.Context, s streams) error {
	failOn, ok := map[string]lint.Severity{"error": lint.Error, "warning": lint.Warning, "note": lint.Note, "never": lint.Error + 1}[o.failOn]
	if !ok {
		return exit.UsageError("--fail-on %q is none of error, warning, note and never", o.failOn)
	}
	write, ok := map[string]func(io.Writer, []lint.Finding) error{"text": lintText, "json": lintJSON, "sarif": lintSARIF}[o.output]
	if !ok {
		return exit.UsageError("--output %q is none of text, json and sarif", o.output)
	}
	if len(o.files) == 0 {
		return exit.UsageError("say with -f which manifests to look at, for instance: whylet lint -f manifests/")
	}
	node, err := o.node(ctx)
	if err != nil {
		return err
	}
	if node.Recorded, err = o.recorded(); err != nil {
		return err
	}
	workloads, err := readManifests(o.files, s.in)
	if err != nil {
		return err
	}
	found := lint.Check(workloads, node)
	if err := write(s.out, found); err != nil {
		return fmt.Errorf("writing the findings: %w", err)
	}
	fmt.Fprintf(s.err, "objects that make pods: %d; findings: %d\n", len(workloads), len(found))
	if lint.Worst(found) >= failOn {
		return exit.Silent(exit.Failed)
	}
	return nil
}

// node is what pods may have on a node of that size: less what is left unused so
// that it can act under pressure.
func (o lintOptions) node(ctx context.Context) (lint.Node, error) {
	if o.cluster {
		if o.nodeMemory != "" {
			return lint.Node{}, exit.UsageError("--cluster and --node-memory exclude each other")
		}
		return o.nodes(ctx)
	}
	set := settings{NodeMemory: o.nodeMemory}
	memory, err := set.memory()
	if err != nil {
		return lint.Node{}, exit.With(exit.Usage, err)
	}
	machine := object.Machine{Memory: memory}
	if memory == 0 {
		if machine, err = object.ReadMachine("/", os.TempDir()); err != nil {
			return lint.Node{}, err
		}
	}
	_, allocatable := object.Resources(machine, object.Reserve{EvictionMemory: object.DefaultEvictionMemory})
	return lint.Node{Memory: allocatable.Memory().Value()}, nil
}

// nodes adds up what the nodes of a cluster give their pods.
func (o lintOptions) nodes(ctx context.Context) (lint.Node, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return lint.Node{}, fmt.Errorf("no cluster to ask: %w; say --kubeconfig, or --node-memory", err)
	}
	config.UserAgent = "whylet-lint/" + version
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return lint.Node{}, fmt.Errorf("connecting to the cluster: %w", err)
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return lint.Node{}, fmt.Errorf("listing nodes: %w", err)
	}
	var all lint.Node
	for i := range list.Items {
		if n := &list.Items[i]; !n.Spec.Unschedulable {
			memory := n.Status.Allocatable.Memory().Value()
			all.Memory += memory
			all.Largest = max(all.Largest, memory)
		}
	}
	if all.Memory == 0 {
		return all, errors.New("no node of the cluster takes pods")
	}
	return all, nil
}

// recorded reads the journal that was named, if one was.
func (o lintOptions) recorded() (lint.History, error) {
	var source journal.Source
	switch {
	case o.dataDir != "" && o.history != "":
		return nil, exit.UsageError("--data-dir and --history exclude each other")
	case o.history != "":
		f, err := journal.OpenFile(o.history)
		if err != nil && !errors.Is(err, journal.ErrCutShort) {
			return nil, err
		}
		source = f
	case o.dataDir != "":
		r, err := journal.OpenBelow(o.dataDir)
		if err != nil {
			return nil, err
		}
		source = r
	default:
		return nil, nil
	}
	var facts []fact.Fact
	for f, err := range source.Query(journal.Query{Kinds: []fact.Kind{
		fact.SpecSeen{}.Kind(), fact.Sampled{}.Kind(), fact.OOMKilled{}.Kind(), fact.Started{}.Kind(), fact.Marked{}.Kind(),
	}}) {
		if err != nil {
			return nil, fmt.Errorf("reading the journal: %w", err)
		}
		facts = append(facts, f)
	}
	return lint.Remember(facts), nil
}

// readManifests reads all objects that make pods, with the priorities that the
// classes among the others give them.
func readManifests(paths []string, stdin io.Reader) ([]lint.Workload, error) {
	var all []lint.Workload
	classes := lint.Priorities{}
	read := func(name string, data []byte) error {
		found, err := lint.Parse(name, data)
		all = append(all, found...)
		maps.Copy(classes, lint.PrioritiesIn(data))
		return err
	}
	for _, path := range paths {
		if path == "-" {
			data, err := io.ReadAll(stdin)
			if err != nil {
				return nil, fmt.Errorf("reading manifests: %w", err)
			}
			if err := read("stdin", data); err != nil {
				return nil, err
			}
			continue
		}
		files, err := manifestFiles(path)
		if err != nil {
			return nil, fmt.Errorf("looking for manifests in %s: %w", path, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err == nil {
				err = read(file, data)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	lint.Prioritize(all, classes)
	return all, nil
}

// manifestFiles are the file itself, or all below a directory that look like one.
func manifestFiles(path string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(path, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if file == path || slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) {
			files = append(files, file)
		}
		return nil
	})
	return files, err
}

func lintText(w io.Writer, found []lint.Finding) error {
	colours := map[lint.Severity]string{lint.Error: paint.Red, lint.Warning: paint.Yellow, lint.Note: paint.Green}
	var text strings.Builder
	for _, f := range found {
		where := f.Object
		if f.Container != "" {
			where += ", container " + f.Container
		}
		if where == "" {
			where = "all together"
		}
		fmt.Fprintf(&text, "%s %s: %s [%s]\n", paint.Text(w, colours[f.Severity], f.Severity.String()), where, f.Text, f.Rule)
		switch {
		case f.Line > 0:
			fmt.Fprintf(&text, "    in:  %s:%d\n", f.File, f.Line)
		case f.File != "":
			fmt.Fprintf(&text, "    in:  %s\n", f.File)
		}
		fmt.Fprintf(&text, "    why: %s\n    fix: %s\n", f.Reason, f.Fix)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func lintJSON(w io.Writer, found []lint.Finding) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{"findings": append([]lint.Finding{}, found...)})
}

// lintSARIF writes the format that code hosts show beside the code (SARIF 2.1.0,
// OASIS).
func lintSARIF(w io.Writer, found []lint.Finding) error {
	type object = map[string]any
	rules, results, seen := []object{}, []object{}, map[string]bool{}
	for _, f := range found {
		if !seen[f.Rule] {
			seen[f.Rule] = true
			rules = append(rules, object{"id": f.Rule, "help": object{"text": f.Fix}})
		}
		result := object{
			"ruleId": f.Rule, "level": f.Severity.String(),
			"message": object{"text": strings.TrimSpace(strings.Join([]string{f.Object, f.Container}, " ") + ": " + f.Text + ". Why: " + f.Reason + ". Fix: " + f.Fix)},
		}
		if f.File != "" {
			place := object{"artifactLocation": object{"uri": filepath.ToSlash(f.File)}}
			if f.Line > 0 {
				place["region"] = object{"startLine": f.Line}
			}
			result["locations"] = []object{{"physicalLocation": place}}
		}
		results = append(results, result)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": object{"name": "whylet lint", "version": version, "rules": rules}}, "results": results}},
	})
}
