package command

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/prose"
)

// newKnowledgeCommand makes `kubectl why knowledge`.
func newKnowledgeCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "knowledge",
		Short: "List, show and test what is known of applications' messages",
		Long: `List and show the messages of applications that answers explain, and test entries of
your own. An entry of yours counts with --knowledge DIR, or as a key that ends in .yaml
of a ConfigMap with the label whylet.dev/knowledge, in the namespace of that one alone.
A pod of the name knowledge is asked about as pod/knowledge.`,
	}
	cmd.AddCommand(newKnowledgeList(o), newKnowledgeShow(o), newKnowledgeTest(o))
	return cmd
}

func newKnowledgeList(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list [WORD]",
		Short:   "List the messages that are known",
		Example: "  kubectl why knowledge list postgresql",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := o.base()
			if err != nil {
				return err
			}
			for _, e := range b.Entries() {
				line := fmt.Sprintf("%-44s %s", e.ID, e.Means)
				if e.IsMessage() && (len(args) == 0 || strings.Contains(strings.ToLower(line), strings.ToLower(args[0]))) {
					fmt.Fprintln(o.Out, line)
				}
			}
			return nil
		},
	}
	o.registerKnowledge(cmd)
	return cmd
}

func newKnowledgeShow(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show an entry: how it is recognised, and what it says",
		Example: "  kubectl why knowledge show postgresql.hba-no-entry",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			b, err := o.base()
			if err != nil {
				return err
			}
			e := b.Entry(args[0])
			if e == nil {
				return fmt.Errorf("there is no entry %s; kubectl why knowledge list shows them", args[0])
			}
			text, err := yaml.Marshal([]*knowledge.Entry{e})
			if err != nil {
				return fmt.Errorf("writing the entry: %w", err)
			}
			fmt.Fprintf(o.Out, "# %s\n%s", e.Place(), text)
			return nil
		},
	}
	o.registerKnowledge(cmd)
	return cmd
}

func newKnowledgeTest(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "test FILE…",
		Short:   "Test files of entries against their samples",
		Example: "  kubectl why knowledge test acme.yaml",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			messages, samples, refused := knowledge.TestFiles(args)
			for _, err := range refused {
				fmt.Fprintln(o.Out, err)
			}
			if len(refused) > 0 {
				return exit.Silent(exit.Failed)
			}
			fmt.Fprintf(o.Out, "valid: %s, %s\n", prose.Plural(messages, "message"), prose.Plural(samples, "sample"))
			return nil
		},
	}
}

func (o *options) registerKnowledge(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.knowledge, "knowledge", "", "a directory with entries of your own, *.yaml: what your programs' messages mean")
	_ = cmd.MarkFlagDirname("knowledge")
}

// base are the entries that come with the program, and those of --knowledge. What of these cannot be used is told of,
// and stops nothing.
func (o *options) base() (*knowledge.Base, error) {
	b, refused, err := knowledge.Directory(o.knowledge)
	for _, err := range refused {
		o.warnOf(err)
	}
	return b, err
}

// warnOf tells of an entry that is refused, once.
func (o *options) warnOf(err error) {
	if _, told := o.refused.LoadOrStore(err.Error(), true); !told {
		fmt.Fprintf(o.Err, "warning: entry refused: %v\n", err)
	}
}
