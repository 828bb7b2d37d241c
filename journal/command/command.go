// Package command is `whylet journal`: looking at a node's memory, taking a copy
// of it elsewhere, and proving it.
//
// Every command reads a directory that an agent may be writing to, or, with
// --file, a history that was exported, on any machine and without a cluster.
package command

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
)

// Env is what the commands need of the program around them.
type Env struct {
	Out io.Writer // data only
	Err io.Writer
	// Dir is the journal's directory of the node in a data directory.
	Dir func(dataDir string) string
	// Node names the node in a data directory; it may be nil or give "".
	Node func(dataDir string) string
	// DataDir is the default of --data-dir.
	DataDir string
	// Trace writes a pod's or, without a name, the node's history as a trace for Perfetto;
	// nil where that cannot be done.
	Trace func(w io.Writer, s journal.Source, namespace, name, uid string) error
	// Usage marks an error as one of the command line.
	Usage func(error) error
}

// New makes `whylet journal`.
func New(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "journal",
		Short: "Read, copy and prove the node's memory",
		Long: `Read, copy and prove the node's memory: the journal of everything that was
observed and decided.

A journal can be read while the node runs. With --file every command works on an
exported history instead, on any machine.`,
		Example: `  whylet journal list web-1 --since 1h          # what happened to a pod
  whylet journal tail --kind OOMKilled,Exited   # follow what happens
  whylet journal show 4711                      # one fact, and what it rests on
  whylet journal export web-1 --to web-1.facts  # take a pod's history elsewhere
  whylet journal list --file web-1.facts        # and read it there
  whylet journal replay                         # the same facts, the same decisions?`,
		Args: env.args(cobra.NoArgs),
	}
	cmd.AddCommand(
		newListCommand(env), newTailCommand(env), newShowCommand(env), newStatsCommand(env),
		newExportCommand(env), newImportCommand(env), newReplayCommand(env),
	)
	return cmd
}

// args has an error of the arguments count as one of usage.
func (env Env) args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return env.usagef("%w; see %s --help", err, cmd.CommandPath())
		}
		return nil
	}
}

func (env Env) usagef(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if env.Usage == nil {
		return err
	}
	return env.Usage(err)
}

// from says which journal is read.
type from struct {
	env     Env
	dataDir string
	dir     string
	file    string
	most    int64
}

func (f *from) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dataDir, "data-dir", f.env.DataDir, "directory of the node's state")
	cmd.Flags().StringVar(&f.dir, "dir", "", "directory of the journal itself (default: that of the node)")
	cmd.Flags().StringVar(&f.file, "file", "", "an exported history, instead of a journal")
	mostFlag(cmd, &f.most)
	_ = cmd.MarkFlagDirname("data-dir")
	_ = cmd.MarkFlagDirname("dir")
	_ = cmd.MarkFlagFilename("file")
}

// mostFlag takes how many MiB an exported history may unpack to.
func mostFlag(cmd *cobra.Command, most *int64) {
	cmd.Flags().Int64Var(most, "max-size", journal.Usual.Bytes>>20, "how many MiB an exported history may unpack to")
}

// within are the bounds of that flag.
func within(most int64) journal.Bounds { return journal.Bounds{Bytes: most << 20} }

func (f *from) journalDir() string {
	if f.dir != "" {
		return f.dir
	}
	return f.env.Dir(f.dataDir)
}

// source is a journal or a file, and what to do when it was read.
type source struct {
	journal.Source
	reader *journal.Reader // nil for a file
}

// open opens it. What is damaged or cut short is told, and the rest is read.
func (f *from) open() (*source, error) {
	if f.file != "" {
		if f.dir != "" {
			return nil, f.env.usagef("--file and --dir exclude each other")
		}
		file, err := within(f.most).OpenFile(f.file)
		if errors.Is(err, journal.ErrCutShort) {
			fmt.Fprintf(f.env.Err, "note: %v; what is there is shown\n", err)
			err = nil
		}
		if err != nil {
			return nil, err
		}
		return &source{Source: file}, nil
	}
	r, err := journal.OpenReader(f.journalDir())
	if err != nil {
		return nil, fmt.Errorf("%w; --data-dir or --dir says where the journal is, --file reads an exported one", err)
	}
	return &source{Source: r, reader: r}, nil
}

// close tells what could not be read.
func (s *source) close(env Env) {
	if s.reader == nil {
		return
	}
	for _, err := range s.reader.Damage() {
		fmt.Fprintf(env.Err, "note: %v; the rest is shown\n", err)
	}
	if n := s.reader.Unfinished(); n > 0 {
		fmt.Fprintf(env.Err, "note: the last %d bytes are of a record whose writing was not finished: what was recorded there is lost\n", n)
	}
	_ = s.reader.Close()
}

// filter are the flags that choose facts.
type filter struct {
	namespace, uid, container string
	kinds                     []string
	since                     time.Duration
	from, to                  string
	limit                     int
	node                      bool
}

func (f *filter) flags(cmd *cobra.Command, times bool) {
	fs := cmd.Flags()
	fs.StringVarP(&f.namespace, "namespace", "n", "", "only pods of this namespace (default: all)")
	fs.StringVar(&f.uid, "uid", "", "only the pod with this UID")
	fs.BoolVar(&f.node, "node", false, "only facts about the node itself")
	fs.StringVarP(&f.container, "container", "c", "", "only this container")
	fs.StringSliceVar(&f.kinds, "kind", nil, "only these kinds of facts, for instance Probed,Kill")
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kindNames(), cobra.ShellCompDirectiveNoFileComp))
	if !times {
		return
	}
	fs.DurationVar(&f.since, "since", 0, "only what happened in this time up to now, for instance 90m")
	fs.StringVar(&f.from, "from", "", "only what happened from then on (RFC 3339, or a time of today such as 15:04)")
	fs.StringVar(&f.to, "to-time", "", "only what happened before then")
}

func kindNames() []string {
	var names []string
	for _, k := range fact.Kinds() {
		names = append(names, string(k))
	}
	return names
}

// query makes a question of the flags and of POD, which is a name, pod/NAME or
// NAMESPACE/NAME.
func (f *filter) query(env Env, pod []string) (journal.Query, error) {
	q := journal.Query{Namespace: f.namespace, UID: types.UID(f.uid), Container: f.container, Node: f.node, Limit: f.limit}
	if len(pod) > 0 {
		space, name, found := strings.Cut(pod[0], "/")
		switch {
		case !found:
			name, space = space, ""
		case space == "pod" || space == "pods" || space == "po":
			space = ""
		case f.namespace != "" && f.namespace != space:
			return q, env.usagef("%s is not in namespace %s", pod[0], f.namespace)
		}
		q.Name = name
		if space != "" {
			q.Namespace = space
		}
	}
	for _, k := range f.kinds {
		kind, err := kindNamed(k)
		if err != nil {
			return q, env.usagef("%w", err)
		}
		q.Kinds = append(q.Kinds, kind)
	}
	return q, f.times(env, &q)
}

func kindNamed(name string) (fact.Kind, error) {
	for _, k := range fact.Kinds() {
		if strings.EqualFold(string(k), name) {
			return k, nil
		}
	}
	return "", fmt.Errorf("--kind %s is not known; there are %s", name, strings.Join(kindNames(), ", "))
}

func (f *filter) times(env Env, q *journal.Query) error {
	now := time.Now()
	if f.since > 0 {
		q.From = now.Add(-f.since)
	}
	for _, t := range []struct {
		flag, text string
		into       *time.Time
	}{{"--from", f.from, &q.From}, {"--to-time", f.to, &q.To}} {
		if t.text == "" {
			continue
		}
		at, err := parseTime(t.text, now)
		if err != nil {
			return env.usagef("%s %q is not a time such as 2006-01-02T15:04:05Z or 15:04", t.flag, t.text)
		}
		*t.into = at
	}
	return nil
}

func parseTime(text string, now time.Time) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	for _, layout := range []string{"15:04:05", "15:04"} {
		if at, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, now.Location()), nil
		}
	}
	return time.ParseInLocation("2006-01-02T15:04", text, now.Location())
}

// known fails for a pod of which there are no facts, and names some that have
// names like it.
func known(s journal.Source, q journal.Query) error {
	if q.Name == "" && q.UID == "" {
		return nil
	}
	var near []string
	for _, p := range s.Pods() {
		if (q.Name == "" || p.Pod.Name == q.Name) && (q.Namespace == "" || p.Pod.Namespace == q.Namespace) && (q.UID == "" || p.Pod.UID == q.UID) {
			return nil
		}
		if p.Pod.Name != "" && len(near) < 5 && alike(p.Pod.Name, q.Name) {
			near = append(near, p.Pod.String())
		}
	}
	what := "pod " + q.Name
	if q.Name == "" {
		what = "pod with UID " + string(q.UID)
	}
	if q.Namespace != "" {
		what += " in namespace " + q.Namespace
	}
	if len(near) > 0 {
		return fmt.Errorf("nothing is known of a %s; of these there is: %s", what, strings.Join(near, ", "))
	}
	return fmt.Errorf("nothing is known of a %s; whylet journal stats --pods lists those that are known", what)
}

// alike: one name has the other's beginning in it.
func alike(a, b string) bool {
	stem := b[:min(len(b), max(3, len(b)/2))]
	return stem != "" && strings.Contains(a, stem)
}
