package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/journal"
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
is gone. It reads the agent's memory on this machine; whether the agent runs makes no
difference.

Exit codes: 0 all is well or explained, 5 a cause is not known, 1 the question failed.`,
		Example: `  whylet-observe why pod/web-1 -n shop
  whylet-observe why --all -A -o json`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(_ *cobra.Command, args []string) error { return q.ask(out, args) },
	}
	f := cmd.Flags()
	f.StringVarP(&q.namespace, "namespace", "n", "default", "namespace")
	f.StringVarP(&q.container, "container", "c", "", "only this container")
	f.StringVarP(&q.output, "output", "o", "text", "text, wide or json")
	f.StringVar(&q.dataDir, "data-dir", defaultDataDir, "where the agent keeps its memory, or a node of Whylet's own its state")
	f.DurationVar(&q.since, "since", 0, "leave out what was over longer ago, such as 2h")
	f.BoolVar(&q.all, "all", false, "everything that is unhealthy, worst first")
	f.BoolVarP(&q.everywhere, "all-namespaces", "A", false, "with --all: in every namespace")
	return cmd
}

func (q *question) ask(out io.Writer, args []string) error {
	name := strings.TrimPrefix(strings.Join(args, "/"), "pod/")
	if (name == "") != q.all || strings.Contains(name, "/") {
		return fmt.Errorf("name a pod, or ask about --all")
	}
	r, err := journal.OpenReader(journal.DirBelow(q.dataDir))
	if err != nil {
		return err
	}
	defer r.Close()
	asked := serve.Question{Namespace: q.namespace, Name: name}
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
	if q.output == "json" {
		err = writeJSON(out, a)
	} else {
		_, err = fmt.Fprint(out, a.Text(answer.Style{Wide: q.output == "wide", Zone: time.Local}))
	}
	if err == nil && !a.Explained() {
		return errUnknown
	}
	return err
}

func (q *question) answerAll(out io.Writer, r *journal.Reader, asked serve.Question) error {
	if q.everywhere {
		asked.Namespace = ""
	}
	all, err := serve.All(r, asked)
	if err != nil {
		return err
	}
	if q.output == "json" {
		return writeJSON(out, serve.NewList(all))
	}
	_, err = fmt.Fprint(out, answer.Overview(all, answer.Style{Wide: q.output == "wide", Zone: time.Local}))
	return err
}

func writeJSON(out io.Writer, body any) error {
	text, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	_, err = fmt.Fprintln(out, string(text))
	return err
}
