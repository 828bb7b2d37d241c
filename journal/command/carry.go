package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/replay"
	"whylet.dev/whylet/paint"
)

func newExportCommand(env Env) *cobra.Command {
	in, choose := from{env: env}, filter{}
	to, withValues := "", false
	cmd := &cobra.Command{
		Use:   "export [POD] --to FILE",
		Short: "Write a pod's or the node's history to one file",
		Long: `Write a pod's or the node's history to one file, which every journal command
reads with --file, on any machine. With a pod's history come the facts about the
node itself, such as its restarts and gaps. It is zstd-compressed JSON, one fact a
line: zstdcat shows it. It has what pods answered to probes and their specifications:
give it to people who may see these. What variables and headers are set to is left out,
and so are secrets in arguments and texts; --with-values leaves both in, as a replay of
pods whose variables changed needs it.

A name that ends in .pftrace makes a trace of it, which ui.perfetto.dev opens, with an
arrow from each fact to what rests on it. It has what a page of kubectl why has, of all
that is kept of the pod, and cannot be read back.`,
		Example: `  whylet journal export web-1 --to web-1.facts
  whylet journal export --since 2h --to node.facts
  whylet journal export web-1 --to web-1.pftrace
  whylet journal export web-1 --to - | ssh elsewhere 'cat > web-1.facts'`,
		Args: env.args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			q, err := choose.query(env, args)
			if err != nil {
				return err
			}
			trace := strings.HasSuffix(to, ".pftrace") && env.Trace != nil
			switch {
			case to == "":
				return env.usagef("--to says which file to write; - is standard output")
			case trace && (q.Container != "" || len(q.Kinds) > 0 || q.Limit > 0 || !q.From.IsZero() || !q.To.IsZero()):
				return env.usagef("a trace has all of a pod's history: leave out what chooses among its facts, or export facts (--to FILE.facts)")
			}
			s, err := in.open()
			if err != nil {
				return err
			}
			defer s.close(env)
			if err := known(s, q); err != nil {
				return err
			}
			if trace {
				return whole(to, func(w io.Writer) error { return env.Trace(w, s, q.Namespace, q.Name, string(q.UID)) })
			}
			h := journal.Header{Exported: time.Now().UTC(), Pods: chosen(s, q)}
			if env.Node != nil && in.file == "" && in.dir == "" {
				h.Node = env.Node(in.dataDir)
			}
			n, err := export(env, to, h, outward(withNode(s, q), withValues))
			if err == nil {
				fmt.Fprintf(env.Err, "%d facts written\n", n)
			}
			return err
		},
	}
	in.flags(cmd)
	choose.flags(cmd, true)
	cmd.Flags().StringVar(&to, "to", "", "the file to write, - for standard output")
	cmd.Flags().BoolVar(&withValues, "with-values", false, "leave in what variables and headers are set to, and secrets in arguments (not in a trace)")
	_ = cmd.MarkFlagFilename("to")
	return cmd
}

// outward are facts as they leave the node.
func outward(facts iter.Seq2[fact.Fact, error], withValues bool) iter.Seq2[fact.Fact, error] {
	if withValues {
		return facts
	}
	return func(yield func(fact.Fact, error) bool) {
		for f, err := range facts {
			if err == nil {
				f = fact.Outward(f)
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// chosen are the pods that a question names; none if it asks for all.
func chosen(s journal.Source, q journal.Query) []fact.Pod {
	if q.Name == "" && q.UID == "" && q.Namespace == "" {
		return nil
	}
	var pods []fact.Pod
	for _, p := range s.Pods() {
		if (q.Name == "" || p.Pod.Name == q.Name) && (q.Namespace == "" || p.Pod.Namespace == q.Namespace) && (q.UID == "" || p.Pod.UID == q.UID) {
			pods = append(pods, p.Pod)
		}
	}
	return pods
}

// export writes facts to a file, or to standard output.
func export(env Env, to string, h journal.Header, facts iter.Seq2[fact.Fact, error]) (int64, error) {
	if to == "-" {
		return journal.Export(paint.Raw(env.Out), h, facts)
	}
	var n int64
	err := whole(to, func(w io.Writer) (err error) {
		n, err = journal.Export(w, h, facts)
		return err
	})
	return n, err
}

// whole writes a file as a whole, or not at all, and for its owner only.
func whole(to string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(to), "."+filepath.Base(to)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", to, err)
	}
	return os.Rename(f.Name(), to)
}

// withNode adds to the facts of pods those about the node, in order.
func withNode(s journal.Source, q journal.Query) iter.Seq2[fact.Fact, error] {
	if q.Node || len(q.Kinds) > 0 || q.Container != "" || q.Name == "" && q.UID == "" && q.Namespace == "" {
		return s.Query(q)
	}
	node := journal.Query{Node: true, From: q.From, To: q.To}
	return func(yield func(fact.Fact, error) bool) {
		next, stop := iter.Pull2(s.Query(node))
		defer stop()
		n, err, more := next()
		for f, failed := range s.Query(q) {
			for ; more && (err != nil || n.ID < f.ID); n, err, more = next() {
				if !yield(n, err) {
					return
				}
			}
			if !yield(f, failed) {
				return
			}
		}
		for ; more; n, err, more = next() {
			if !yield(n, err) {
				return
			}
		}
	}
}

func newImportCommand(env Env) *cobra.Command {
	dir, most := "", int64(0)
	cmd := &cobra.Command{
		Use:   "import FILE --to DIR",
		Short: "Make a journal of an exported history",
		Long: `Make a journal, in a directory of its own, of an exported history. That is faster
than --file for a large one that is asked often. A history cannot be added to a
journal that has its own: the numbers of their facts would clash.`,
		Example: `  whylet journal import node.facts --to ./node && whylet journal list --dir ./node`,
		Args:    env.args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dir == "" {
				return env.usagef("--to says which directory to make")
			}
			in := cmd.InOrStdin()
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			return importInto(env, within(most), dir, args[0], in)
		},
	}
	cmd.Flags().StringVar(&dir, "to", "", "the directory to make")
	mostFlag(cmd, &most)
	_ = cmd.MarkFlagDirname("to")
	return cmd
}

func importInto(env Env, most journal.Bounds, dir, name string, in io.Reader) error {
	n, err := most.Import(dir, in)
	if errors.Is(err, journal.ErrCutShort) {
		fmt.Fprintf(env.Err, "note: %s: %v; what is there was taken\n", name, err)
		err = nil
	}
	if err != nil {
		return fmt.Errorf("importing %s: %w", name, err)
	}
	fmt.Fprintf(env.Err, "%d facts taken into %s\n", n, dir)
	return nil
}

// errDiffers makes the exit code say that a replay differs; the text is printed.
var errDiffers = errors.New("the replay differs from the record")

func newReplayCommand(env Env) *cobra.Command {
	in, choose := from{env: env}, filter{}
	var policy health.Policy
	output := ""
	cmd := &cobra.Command{
		Use:   "replay [POD]",
		Short: "Prove that the same facts give the same decisions",
		Long: `Prove that the same facts give the same decisions: feed what was observed of each
pod to the health rules once more, and compare with what was decided then, byte
for byte. The first difference of each pod is printed, and the exit code is 1.

A history that does not begin with the pod or with a checkpoint proves nothing and
is listed as partial. Where the node's back-off was not Kubernetes' own, give it.`,
		Example: `  whylet journal replay
  whylet journal replay web-1 --file web-1.facts`,
		Args: env.args(cobra.MaximumNArgs(1)),
		RunE: func(_ *cobra.Command, args []string) error {
			q, err := choose.query(env, args)
			if err != nil {
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
			report, err := replay.Facts(s.Query(q), policy)
			if err != nil {
				return err
			}
			return printReplay(env, report, output)
		},
	}
	in.flags(cmd)
	cmd.Flags().StringVarP(&choose.namespace, "namespace", "n", "", "only pods of this namespace (default: all)")
	cmd.Flags().StringVar(&choose.uid, "uid", "", "only the pod with this UID")
	cmd.Flags().DurationVar(&policy.BackOffInitial, "back-off-initial", 0, "the node's first crash back-off (default 10s)")
	cmd.Flags().DurationVar(&policy.BackOffMax, "back-off-max", 0, "the node's longest crash back-off (default 5m)")
	cmd.Flags().DurationVar(&policy.BackOffReset, "back-off-reset", 0, "the run after which it starts over (default 10m)")
	cmd.Flags().StringVarP(&output, "output", "o", "", "json instead of text")
	return cmd
}

func printReplay(env Env, r replay.Report, output string) error {
	if output == "json" {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Out, "%s\n", text)
	} else {
		fmt.Fprintf(env.Out, "%d pods, %d observed facts, %d decisions\n", r.Pods, r.Observed, r.Decisions)
		for _, p := range r.Resumed {
			fmt.Fprintf(env.Out, "resumed: pod %s (%s): its beginning is not kept any more; replayed from checkpoint %d of %s on\n",
				p.Pod, p.Pod.UID, p.Checkpoint, p.Seen.Format(time.RFC3339))
		}
		for _, p := range r.Partial {
			fmt.Fprintf(env.Out, "partial: pod %s (%s): its beginning is not kept\n", p, p.UID)
		}
		for _, d := range append(r.Unreadable, r.Differences...) {
			fmt.Fprintf(env.Out, "differs: %s\n", d)
		}
		if len(r.Unreadable)+len(r.Differences) == 0 {
			fmt.Fprintln(env.Out, "the replay decided the same, byte for byte")
		}
	}
	if len(r.Unreadable)+len(r.Differences) > 0 {
		return errDiffers
	}
	return nil
}
