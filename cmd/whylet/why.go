package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/serve"
)

// whyOptions are the flags of why.
type whyOptions struct {
	kubeconfig, context, namespace string
	container, output              string
	file, dataDir                  string
	since                          time.Duration
	all, everywhere, watch         bool
	whatIf                         []string
	suggest                        bool
}

func newWhyCommand(s streams) *cobra.Command {
	o := whyOptions{}
	cmd := &cobra.Command{
		Use:   "why [KIND/]NAME",
		Short: "Say why a pod is as it is",
		Long: `Say why a pod was restarted, does not start, is not ready, was evicted or is gone:
the cause in one sentence, then what led to it with times, what contributed, what
looks guilty and is not, and what to do. Of a deployment, replicaset, statefulset,
daemonset, job, cronjob or service it says which pods are out, and why each is; of a
node, whether it was away, and who could push whom out of it.

The question goes through the API server to the node that remembers, so Kubernetes
RBAC decides who may ask (get on nodes/proxy). --data-dir asks a node's memory on
this machine instead, also when nothing runs; --file an exported history.

Exit codes: 0 all is well or explained, 2 a cause is not known, 1 the question failed.`,
		Example: `  kubectl why web-1
  kubectl why pod/web-1 -n shop -c app --since 2h
  kubectl why --all -A                     # everything unhealthy, worst first
  kubectl why web-1 -o json | jq .verdicts
  kubectl why web-1 --what-if livenessProbe.timeoutSeconds=5
  kubectl why web-1 --what-if app:memory=256Mi,app:livenessProbe.failureThreshold=5
  kubectl why web-1 --suggest              # settings that its history proposes
  whylet why web-1 --file web-1.facts      # an exported history, without a cluster`,
		Args: positional(cobra.MaximumNArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.fromDisk(cmd)
			return o.run(cmd.Context(), s, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig to use (default: $KUBECONFIG, or ~/.kube/config)")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig")
	f.StringVarP(&o.namespace, "namespace", "n", "", "namespace (default: that of the context)")
	f.StringVarP(&o.container, "container", "c", "", "only this container")
	f.StringVarP(&o.output, "output", "o", "text", "text, wide, json or yaml")
	f.DurationVar(&o.since, "since", 0, "leave out what was over longer ago, such as 2h")
	f.BoolVar(&o.all, "all", false, "everything that is unhealthy, worst first")
	f.BoolVarP(&o.everywhere, "all-namespaces", "A", false, "with --all: in every namespace")
	f.BoolVarP(&o.watch, "watch", "w", false, "ask again and again, and print what changes")
	f.StringArrayVar(&o.whatIf, "what-if", nil, "what other settings would have changed, as [CONTAINER:]FIELD=VALUE,…")
	f.BoolVar(&o.suggest, "suggest", false, "propose probe settings and memory limits from what was recorded")
	f.StringVar(&o.file, "file", "", "an exported history, instead of a cluster")
	f.StringVar(&o.dataDir, "data-dir", "", "a node's state on this machine, instead of a cluster")
	_ = cmd.MarkFlagDirname("data-dir")
	_ = cmd.MarkFlagFilename("file")
	return cmd
}

// fromDisk makes a default data directory of a bare --data-dir.
func (o *whyOptions) fromDisk(cmd *cobra.Command) {
	if cmd.Flags().Changed("data-dir") && o.dataDir == "" {
		o.dataDir = defaultDataDir
	}
}

// target is what is asked about.
type target struct{ kind, name string }

// kinds are the names that kubectl knows them by.
var kinds = map[string]string{
	"pod": "pod", "pods": "pod", "po": "pod",
	"deployment": "deployment", "deployments": "deployment", "deploy": "deployment",
	"replicaset": "replicaset", "replicasets": "replicaset", "rs": "replicaset",
	"statefulset": "statefulset", "statefulsets": "statefulset", "sts": "statefulset",
	"daemonset": "daemonset", "daemonsets": "daemonset", "ds": "daemonset",
	"job": "job", "jobs": "job",
	"cronjob": "cronjob", "cronjobs": "cronjob", "cj": "cronjob",
	"service": "service", "services": "service", "svc": "service",
	"node": "node", "nodes": "node", "no": "node",
}

// parseTarget reads NAME, KIND/NAME or KIND NAME.
func parseTarget(args []string) (target, error) {
	t := target{kind: "pod"}
	kind := ""
	switch len(args) {
	case 0:
		return t, nil
	case 1:
		var found bool
		if kind, t.name, found = strings.Cut(args[0], "/"); !found {
			kind, t.name = "pod", args[0]
		}
	default:
		kind, t.name = args[0], args[1]
	}
	known, ok := kinds[strings.ToLower(kind)]
	if !ok {
		return t, usageError("%q is not a kind that why knows: pod, deployment, replicaset, statefulset, daemonset, job, cronjob, service, node", kind)
	}
	if t.name == "" {
		return t, usageError("a name is missing after %s", kind)
	}
	t.kind = known
	return t, nil
}

// asked is where questions go: a cluster, or a journal at hand.
type asked interface {
	answer(ctx context.Context, t target) ([]answer.Answer, error)
	all(ctx context.Context) ([]answer.Answer, error)
	// proposal answers --what-if and --suggest about a pod, into their result.
	proposal(ctx context.Context, t target, into any) error
}

func (o *whyOptions) run(ctx context.Context, s streams, args []string) error {
	t, err := parseTarget(args)
	if err != nil {
		return err
	}
	if (t.name == "") != o.all {
		return usageError("name a pod, or ask about --all; see whylet why --help")
	}
	switch o.output {
	case "text", "wide", "json", "yaml":
	default:
		return usageError("-o %s is not known; text, wide, json and yaml are", o.output)
	}
	from, err := o.source()
	if err != nil {
		return err
	}
	if o.suggest || len(o.whatIf) > 0 {
		return o.propose(ctx, s, from, t)
	}
	if o.watch {
		return o.follow(ctx, s, from, t)
	}
	answers, err := o.ask(ctx, from, t)
	if err != nil && len(answers) == 0 {
		return err
	}
	if written := o.write(s, answers); written != nil {
		return written
	}
	if err != nil {
		return err // of those that could not be asked
	}
	for i := range answers {
		if !answers[i].Explained() {
			return &exitError{exitUnknown, errors.New("")}
		}
	}
	return nil
}

func (o *whyOptions) ask(ctx context.Context, from asked, t target) ([]answer.Answer, error) {
	if o.all {
		return from.all(ctx)
	}
	return from.answer(ctx, t)
}

// askAgain is how often a question is asked that is followed.
const askAgain = 2 * time.Second

// follow prints the answer whenever its causes or counts change, until ctx ends.
// A question that fails in between is told once, and asked again.
func (o *whyOptions) follow(ctx context.Context, s streams, from asked, t target) error {
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	before := ""
	for {
		answers, err := o.ask(ctx, from, t)
		now := fmt.Sprint(err)
		for _, a := range answers {
			for i, v := range a.Verdicts {
				now += fmt.Sprint(a.Subject, a.Symptoms[i].Kind, a.Symptoms[i].Count, v.Cause, v.Container)
			}
		}
		if now != before && ctx.Err() == nil {
			before = now
			if err != nil {
				fmt.Fprintf(s.err, "%s %v\n", paint(s.err, red, "error:"), err)
			}
			if len(answers) > 0 {
				fmt.Fprintf(s.out, "--- %s\n", time.Now().Format(time.TimeOnly))
				if err := o.write(s, answers); err != nil {
					return err
				}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// exitUnknown is the exit code of why when a symptom's cause is not known.
const exitUnknown = 2

// write prints the answers: one of them as an Answer, several as a list.
func (o *whyOptions) write(s streams, answers []answer.Answer) error {
	if o.output == "text" || o.output == "wide" {
		return o.writeText(s, answers)
	}
	var body any = serve.NewList(answers)
	if len(answers) == 1 && !o.all {
		body = answers[0]
	}
	return o.writeData(s, body)
}

// writeData prints a body as JSON or YAML.
func (o *whyOptions) writeData(s streams, body any) error {
	text, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	if o.output == "yaml" {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return fmt.Errorf("writing the answer: %w", err)
		}
	}
	_, err = fmt.Fprintln(s.out, strings.TrimRight(string(text), "\n"))
	return err
}

func (o *whyOptions) writeText(s streams, answers []answer.Answer) error {
	style := answer.Style{Wide: o.output == "wide", Zone: time.Local}
	codes := map[string]string{"bad": red, "good": green, "cause": "1", "dim": "2"}
	style.Paint = func(what, text string) string { return paint(s.out, codes[what], text) }
	if o.all {
		_, err := fmt.Fprint(s.out, answer.Overview(answers, style))
		return err
	}
	for i := range answers {
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		if _, err := fmt.Fprint(s.out, answers[i].Text(style)); err != nil {
			return err
		}
	}
	return nil
}

// source finds what is asked: a file, a directory, or the cluster.
func (o *whyOptions) source() (asked, error) {
	switch {
	case o.file != "" && o.dataDir != "":
		return nil, usageError("--file and --data-dir exclude each other")
	case o.file != "":
		f, err := journal.OpenFile(o.file)
		if err != nil && !errors.Is(err, journal.ErrCutShort) {
			return nil, err
		}
		return &memory{source: f, options: o}, nil
	case o.dataDir != "":
		r, err := journal.OpenReader(filepath.Join(o.dataDir, "node", "journal"))
		if err != nil {
			return nil, err
		}
		return &memory{source: r, options: o}, nil
	}
	return o.cluster()
}

// memory answers from a journal at hand.
type memory struct {
	source  journal.Source
	options *whyOptions
}

func (m *memory) question(name string) serve.Question {
	q := serve.Question{Namespace: m.options.namespace, Name: name}
	q.Now = time.Now().UTC()
	if m.options.file != "" {
		q.Now = m.source.Stats().Last // as it was when it was exported
	}
	if m.options.since > 0 {
		q.Since = q.Now.Add(-m.options.since)
	}
	q.Container = m.options.container
	return q
}

func (m *memory) answer(_ context.Context, t target) ([]answer.Answer, error) {
	ask := serve.One
	switch t.kind {
	case "pod":
	case "node":
		ask = serve.Node
	default:
		return nil, usageError("a journal knows pods only, and its node; ask the cluster about a %s", t.kind)
	}
	a, err := ask(m.source, m.question(t.name))
	if err != nil {
		return nil, err
	}
	return []answer.Answer{a}, nil
}

func (m *memory) all(context.Context) ([]answer.Answer, error) {
	return serve.All(m.source, m.question(""))
}
