package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/yaml"

	"whylet.dev/whylet/lint"
	"whylet.dev/whylet/node/object"
)

type lintOptions struct {
	files      []string
	nodeMemory string
	output     string
	failOn     string
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
The exit code is 1 when there is a finding of --fail-on or worse.`,
		Example: `  whylet lint -f manifests/ --node-memory 2Gi
  kubectl kustomize . | whylet lint -f - -o sarif > lint.sarif`,
		Args: positional(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error { return o.run(s) },
	}
	f := cmd.Flags()
	f.StringSliceVarP(&o.files, "filename", "f", nil, "file or directory of manifests, - for stdin; may be given several times")
	f.StringVar(&o.nodeMemory, "node-memory", "", "size of the node, as whylet up has it (default: this machine's memory)")
	f.StringVarP(&o.output, "output", "o", "text", "text, json or sarif")
	f.StringVar(&o.failOn, "fail-on", "error", "what makes the exit code 1: error, warning, note or never")
	return cmd
}

func (o lintOptions) run(s streams) error {
	failOn, ok := map[string]lint.Severity{"error": lint.Error, "warning": lint.Warning, "note": lint.Note, "never": lint.Error + 1}[o.failOn]
	if !ok {
		return usageError("--fail-on %q is none of error, warning, note and never", o.failOn)
	}
	write, ok := map[string]func(io.Writer, []lint.Finding) error{"text": lintText, "json": lintJSON, "sarif": lintSARIF}[o.output]
	if !ok {
		return usageError("--output %q is none of text, json and sarif", o.output)
	}
	if len(o.files) == 0 {
		return usageError("say with -f which manifests to look at, for instance: whylet lint -f manifests/")
	}
	node, err := o.node()
	if err != nil {
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
	fmt.Fprintf(s.err, "%d objects that make pods, %d findings\n", len(workloads), len(found))
	if lint.Worst(found) >= failOn {
		return &exitError{exitFailed, errors.New("")}
	}
	return nil
}

// node is what pods may have on a node of that size: less what is left unused so
// that it can act under pressure.
func (o lintOptions) node() (lint.Node, error) {
	set := settings{NodeMemory: o.nodeMemory}
	memory, err := set.memory()
	if err != nil {
		return lint.Node{}, &exitError{exitUsage, err}
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

// readManifests reads all objects that make pods. Others are passed over.
func readManifests(paths []string, stdin io.Reader) ([]lint.Workload, error) {
	var all []lint.Workload
	for _, path := range paths {
		if path == "-" {
			found, err := readObjects("stdin", stdin)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
			continue
		}
		files, err := manifestFiles(path)
		if err != nil {
			return nil, fmt.Errorf("looking for manifests in %s: %w", path, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			found, err := readObjects(file, bytes.NewReader(data))
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
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

// readObjects reads YAML or JSON documents, and lists of objects in them.
func readObjects(file string, r io.Reader) ([]lint.Workload, error) {
	var all []lint.Workload
	decoder := yaml.NewYAMLOrJSONDecoder(r, 4096)
	for n := 1; ; n++ {
		var raw json.RawMessage
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s, document %d is neither YAML nor JSON: %w", file, n, err)
		}
		found, err := lint.Read(file, raw)
		if err != nil {
			return nil, fmt.Errorf("%s, document %d: %w", file, n, err)
		}
		all = append(all, found...)
	}
}

func lintText(w io.Writer, found []lint.Finding) error {
	colours := map[lint.Severity]string{lint.Error: red, lint.Warning: yellow, lint.Note: green}
	var text strings.Builder
	for _, f := range found {
		where := f.Object
		if f.Container != "" {
			where += ", container " + f.Container
		}
		if where == "" {
			where = "all together"
		}
		fmt.Fprintf(&text, "%s %s: %s [%s]\n", paint(w, colours[f.Severity], f.Severity.String()), where, f.Text, f.Rule)
		if f.File != "" {
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
			result["locations"] = []object{{"physicalLocation": object{"artifactLocation": object{"uri": filepath.ToSlash(f.File)}}}}
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
