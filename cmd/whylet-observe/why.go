package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/observe"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/serve"
)

type question struct {
	namespace, container, output, dataDir string
	since                                 time.Duration
	all, everywhere                       bool
}

func newWhy(out io.Writer) *cobra.Command {
	q := question{}
	cmd := &cobra.Command{
		Use:   "why [pod/]NAME",
		Short: "Say why a pod is as it is, from the agent's memory",
		Long: `Say why a pod of this node was restarted, does not start, is not ready, was evicted or
is gone. It reads the agent's memory on this machine, whether the agent runs or not, and
the logs of a Ready pod's containers.

--data-dir may also name the data directory of a node that whylet runs.

Exit codes: 0 all is well or explained, 1 the question failed, 2 the command line is
wrong, 5 a cause is not known.`,
		Example: `  whylet-observe why pod/web-1 -n shop
  whylet-observe why --all -A -o json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error { return q.ask(out, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&q.namespace, "namespace", "n", "default", "namespace")
	f.StringVarP(&q.container, "container", "c", "", "only this container")
	f.StringVarP(&q.output, "output", "o", "text", "text, wide or json")
	f.StringVar(&q.dataDir, "data-dir", defaultDataDir, "the data directory of whylet-observe or of a node on this machine")
	f.DurationVar(&q.since, "since", 0, "leave out what was over longer ago, such as 2h")
	f.BoolVar(&q.all, "all", false, "everything that is unhealthy, worst first")
	f.BoolVarP(&q.everywhere, "all-namespaces", "A", false, "with --all: in every namespace")
	return cmd
}

func (q *question) ask(out io.Writer, args []string) error {
	name := strings.TrimPrefix(strings.Join(args, "/"), "pod/")
	if (name == "") != q.all || strings.Contains(name, "/") {
		return exit.UsageError("name one pod, or ask about --all; see --help")
	}
	switch {
	case !slices.Contains([]string{"text", "wide", "json"}, q.output):
		return exit.UsageError("-o %s is not known; text, wide and json are", q.output)
	case q.everywhere && !q.all:
		return exit.UsageError("-A goes with --all")
	case q.since < 0:
		return exit.UsageError("--since %s is in the future; say how long ago, such as 2h", q.since)
	}
	r, err := journal.OpenBelow(q.dataDir)
	if err != nil {
		return err
	}
	defer r.Close()
	asked := serve.Question{Namespace: q.namespace, Name: name, LogOf: observe.LogOf}
	asked.Now, asked.Container = time.Now().UTC(), q.container
	if q.since > 0 {
		asked.Since = asked.Now.Add(-q.since)
	}
	if q.all {
		return q.answerAll(out, r, asked)
	}
	a, err := serve.One(r, asked)
	if err != nil {
		return err
	}
	style := answer.Style{Wide: q.output == "wide", Zone: time.Local}
	return q.write(out, a, a.Text(style), a)
}

func (q *question) answerAll(out io.Writer, r *journal.Reader, asked serve.Question) error {
	if q.everywhere {
		asked.Namespace = ""
	}
	all, err := serve.All(r, asked)
	if err != nil {
		return err
	}
	style := answer.Style{Wide: q.output == "wide", Zone: time.Local}
	return q.write(out, serve.NewList(all), answer.Overview(all, style), all...)
}

// write prints answers as JSON or as text. The error carries [exit.Unknown] if a cause is not known.
func (q *question) write(out io.Writer, body any, text string, answers ...answer.Answer) error {
	if q.output == "json" {
		encoded, err := json.MarshalIndent(body, "", "  ")
		if err != nil {
			return fmt.Errorf("writing the answer: %w", err)
		}
		text = string(encoded) + "\n"
	}
	if _, err := io.WriteString(out, text); err != nil {
		return err
	}
	if slices.ContainsFunc(answers, func(a answer.Answer) bool { return !a.Explained() }) {
		return exit.Silent(exit.Unknown)
	}
	return nil
}
