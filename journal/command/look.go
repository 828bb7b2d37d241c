package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
)

func newListCommand(env Env) *cobra.Command {
	in, choose, out := from{env: env}, filter{}, format{env: env}
	cmd := &cobra.Command{
		Use:   "list [POD]",
		Short: "List facts, oldest first",
		Long: `List facts, oldest first: of a pod, of the node, or all.

A line has the time, the fact's number, the pod, the container and which run of it,
the kind, what is in it, and the numbers of the facts it rests on. An arrow marks
decisions.`,
		Example: `  whylet journal list web-1
  whylet journal list shop/web-1 --since 30m --kind Probed,Kill,Exited
  whylet journal list --node --last 20
  whylet journal list web-1 -o json | jq .body`,
		Args: env.args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			q, err := choose.query(env, args)
			if err := errors.Join(err, out.check()); err != nil {
				return err
			}
			s, err := in.open()
			if err != nil {
				return err
			}
			defer s.close(env)
			if err := known(s, q); err != nil {
				return err
			}
			return list(s, q, out)
		},
	}
	in.flags(cmd)
	choose.flags(cmd, true)
	cmd.Flags().IntVar(&choose.limit, "last", 0, "only the newest so many")
	outputFlag(cmd, &out)
	return cmd
}

func outputFlag(cmd *cobra.Command, out *format) {
	cmd.Flags().StringVarP(&out.name, "output", "o", "text", "text, or json: one object a line")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// list writes the facts; with a limit, the newest of them.
func list(s journal.Source, q journal.Query, out format) error {
	if q.Limit > 0 {
		q.Reverse = true
		var newest []fact.Fact
		for f, err := range s.Query(q) {
			if err != nil {
				return err
			}
			newest = append(newest, f)
		}
		for _, f := range slices.Backward(newest) {
			if err := out.write(f); err != nil {
				return err
			}
		}
		return nil
	}
	for f, err := range s.Query(q) {
		if err == nil {
			err = out.write(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func newTailCommand(env Env) *cobra.Command {
	in, choose, out := from{env: env}, filter{}, format{env: env}
	cmd := &cobra.Command{
		Use:   "tail [POD]",
		Short: "Follow facts as they are written",
		Long: `Follow facts as they are written, after the last ten. Probe successes that are
being folded come when their run ends. Of an exported file it shows the last ten.`,
		Example: `  whylet journal tail
  whylet journal tail web-1 --kind Probed -o json`,
		Args: env.args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := choose.query(env, args)
			if err := errors.Join(err, out.check()); err != nil {
				return err
			}
			s, err := in.open()
			if err != nil {
				return err
			}
			defer s.close(env)
			return follow(cmd, s, q, choose.limit, out)
		},
	}
	in.flags(cmd)
	choose.flags(cmd, false)
	cmd.Flags().IntVar(&choose.limit, "last", 10, "begin with the newest so many")
	outputFlag(cmd, &out)
	return cmd
}

func follow(cmd *cobra.Command, s *source, q journal.Query, last int, out format) error {
	next := s.Stats().LastID + 1
	if last > 0 {
		before := q
		before.Limit, before.ToID = last, next
		if err := list(s, before, out); err != nil {
			return err
		}
	}
	if s.reader == nil {
		return nil // nothing is written to a file any more
	}
	for f, err := range s.reader.Tail(cmd.Context(), next) {
		if err == nil && q.Chooses(f) {
			err = out.write(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func newShowCommand(env Env) *cobra.Command {
	in, out := from{env: env}, format{env: env}
	depth := 0
	cmd := &cobra.Command{
		Use:   "show ID…",
		Short: "Show a fact whole, and what it rests on",
		Example: `  whylet journal show 4711
  whylet journal show 4711 --depth 1 -o json`,
		Args: env.args(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			ids, err := parseIDs(env, args)
			if err := errors.Join(err, out.check()); err != nil {
				return err
			}
			s, err := in.open()
			if err != nil {
				return err
			}
			defer s.close(env)
			for _, id := range ids {
				if err := show(s, id, depth, out); err != nil {
					return err
				}
			}
			return nil
		},
	}
	in.flags(cmd)
	cmd.Flags().IntVar(&depth, "depth", 10, "how many steps back to follow what it rests on; 0: not at all")
	outputFlag(cmd, &out)
	return cmd
}

func parseIDs(env Env, args []string) ([]fact.ID, error) {
	var ids []fact.ID
	for _, a := range args {
		n, err := strconv.ParseUint(strings.TrimPrefix(a, "#"), 10, 64)
		if err != nil || n == 0 {
			return nil, env.usagef("%q is not the number of a fact", a)
		}
		ids = append(ids, fact.ID(n))
	}
	return ids, nil
}

func show(s journal.Source, id fact.ID, depth int, out format) error {
	f, ok, err := s.Get(id)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("there is no fact %d: it was folded into a run of successes, was let go, or never was", id)
	}
	if out.name == "json" {
		return chain(s, f, depth, map[fact.ID]bool{}, func(_ int, f fact.Fact) error { return printJSON(out.env.Out, f) })
	}
	line, err := f.MarshalJSON()
	if err != nil {
		return err
	}
	var whole map[string]any
	if err := json.Unmarshal(line, &whole); err != nil {
		return err
	}
	text, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(out.env.Out, "%s\n\nrests on\n", text)
	return chain(s, f, depth, map[fact.ID]bool{}, func(level int, f fact.Fact) error {
		fmt.Fprint(out.env.Out, strings.Repeat("  ", level))
		return printLine(out.env.Out, f)
	})
}

// chain visits a fact and what it rests on, each once, as far back as depth.
func chain(s journal.Source, f fact.Fact, depth int, seen map[fact.ID]bool, visit func(level int, f fact.Fact) error) error {
	type step struct {
		f     fact.Fact
		level int
	}
	stack := []step{{f, 0}}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[at.f.ID] {
			continue
		}
		seen[at.f.ID] = true
		if err := visit(at.level, at.f); err != nil {
			return err
		}
		if at.level == depth {
			continue
		}
		for _, id := range slices.Backward(at.f.Because) {
			// Most rest on facts of their own pod, which are found faster.
			next, err := one(s, journal.Query{UID: at.f.Pod.UID, FromID: id, ToID: id + 1})
			if err == nil && next == nil {
				next, err = one(s, journal.Query{FromID: id, ToID: id + 1})
			}
			if err != nil {
				return err
			}
			if next != nil {
				stack = append(stack, step{*next, at.level + 1})
			}
		}
	}
	return nil
}

func one(s journal.Source, q journal.Query) (*fact.Fact, error) {
	for f, err := range s.Query(q) {
		return &f, err
	}
	return nil, nil
}

func newStatsCommand(env Env) *cobra.Command {
	in := from{env: env}
	pods, output := false, ""
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show how much is remembered, of what, and since when",
		Example: `  whylet journal stats
  whylet journal stats --pods`,
		Args: env.args(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if output != "" && output != "json" {
				return env.usagef("-o %s is not known; json is", output)
			}
			s, err := in.open()
			if err != nil {
				return err
			}
			defer s.close(env)
			return stats(env, s, pods, output)
		},
	}
	in.flags(cmd)
	cmd.Flags().BoolVar(&pods, "pods", false, "list every pod")
	cmd.Flags().StringVarP(&output, "output", "o", "", "json instead of text")
	return cmd
}

func stats(env Env, s journal.Source, pods bool, output string) error {
	all := struct {
		journal.Stats
		ByPod []journal.PodSpan `json:",omitempty"`
	}{Stats: s.Stats()}
	if pods {
		all.ByPod = s.Pods()
	}
	if output == "json" {
		text, err := json.MarshalIndent(all, "", "  ")
		if err == nil {
			_, err = env.Out.Write(append(text, '\n'))
		}
		return err
	}
	if pods {
		return podTable(env.Out, all.ByPod)
	}
	row := func(name, format string, args ...any) {
		fmt.Fprintf(env.Out, "%-10s "+format+"\n", append([]any{name}, args...)...)
	}
	row("facts", "%d, of %d pods and the node", all.Facts, all.Pods)
	if all.Facts > 0 {
		row("from", "%s", all.First.UTC().Format(time.RFC3339))
		row("to", "%s", all.Last.UTC().Format(time.RFC3339))
		row("ids", "%d to %d", all.FirstID, all.LastID)
	}
	row("sealed", "%s in %d segments", size(all.SegmentBytes), all.Segments)
	if all.SegmentBytes > 0 {
		row("", "%.1f times smaller than written", float64(all.RawBytes)/float64(all.SegmentBytes))
	}
	row("not yet", "%s, and %d facts that are being folded", size(all.LogBytes), all.Held)
	if all.Degraded != "" {
		row("degraded", "%s", all.Degraded)
	}
	return nil
}

func podTable(w io.Writer, pods []journal.PodSpan) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "NAMESPACE\tNAME\tUID\tFACTS\tFIRST\tLAST\tSIZE")
	for _, p := range pods {
		name := p.Pod.Name
		if p.Pod == (fact.Pod{}) {
			name = "(the node)"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\n", p.Pod.Namespace, name, p.Pod.UID, p.Facts,
			p.First.UTC().Format(time.RFC3339), p.Last.UTC().Format(time.RFC3339), size(p.Bytes))
	}
	return t.Flush()
}

// size words bytes as Kubernetes does, with at most four digits.
func size(bytes int64) string {
	unit := int64(1)
	for bytes/unit >= 10_000 {
		unit *= 1024
	}
	return resource.NewQuantity(bytes/unit*unit, resource.BinarySI).String()
}
