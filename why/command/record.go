package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/record"
)

// recordWithin bounds a recording where --request-timeout does not.
const recordWithin = 2 * time.Minute

// newRecordCommand makes `kubectl why record`, which shares the flags that say who is asked.
func newRecordCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Record a namespace into a file that can be asked without the cluster",
		Long: `Record what is known of a namespace at this moment into one file: the facts of its pods
and of their nodes, the last 80 lines of each container's log (of this run and of the one
before), and the API objects that answers are made of. With --file the same questions are
answered from that file later, elsewhere, as of the moment of the recording.

What looks like a secret is replaced in logs, variables and ConfigMaps; of Secrets the
file has names and keys only. Look through it before you hand it on: it is a tar archive
that is compressed with zstd. What you may not read is left out and named.

With -A all namespaces are recorded, as kubectl why dump does. With --data-dir the facts
come from a node's memory on this machine, and the rest from the cluster. A pod of the
name record is asked about as pod/record.`,
		Example: `  kubectl why record -n shop --to shop.record
  kubectl why deploy/web --file shop.record    # asks the file
  kubectl why --all --file shop.record
  tar --zstd -xOf shop.record manifest.json    # what it is, and what is missing`,
	}
	cmd.Flags().BoolVarP(&o.everywhere, "all-namespaces", "A", false, "record all namespaces")
	return o.recording(cmd)
}

// newDumpCommand makes `kubectl why dump`, which records all namespaces.
func newDumpCommand(o *options) *cobra.Command {
	cmd := o.recording(&cobra.Command{
		Use:   "dump",
		Short: "Record all namespaces into a file that can be asked without the cluster",
		Long: `Record what is known of all namespaces at this moment into one file, as kubectl why
record does of one: facts, last lines of logs and API objects, without what looks like a
secret. With --dump or --file the same questions are answered from that file later,
elsewhere, as of the moment of the recording. Look through it before you hand it on.

What you may not read is left out and named. Of a large cluster record one namespace
(kubectl why record -n). A pod of the name dump is asked about as pod/dump.`,
		Example: `  kubectl why dump --to incident.record
  kubectl why --all --dump incident.record
  kubectl why deploy/web -n shop --dump incident.record`,
	})
	cmd.PreRun = func(*cobra.Command, []string) { o.everywhere = true }
	return cmd
}

// recording completes a command that records.
func (o *options) recording(cmd *cobra.Command) *cobra.Command {
	var to string
	var force bool
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return exit.UsageError("%s takes no names: it records namespaces", cmd.Name())
		}
		return nil
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if to == "" {
			return exit.UsageError("say with --to which file to write, such as --to shop.record")
		}
		if o.everywhere && cmd.Flags().Changed("namespace") {
			return exit.UsageError("all namespaces are recorded; record one namespace with kubectl why record -n NAMESPACE --to FILE")
		}
		o.fromDisk(cmd)
		return o.record(cmd.Context(), to, force)
	}
	o.config.AddFlags(cmd.Flags())
	cmd.Flags().StringVar(&to, "to", "", "the file to write")
	cmd.Flags().BoolVar(&force, "force", false, "overwrite the file if it exists")
	cmd.Flags().StringVar(&o.dataDir, "data-dir", "", "take the facts from the data directory of a node or of whylet-observe on this machine")
	_ = cmd.MarkFlagDirname("data-dir")
	_ = cmd.MarkFlagFilename("to")
	return cmd
}

func (o *options) record(ctx context.Context, to string, force bool) error {
	if exists(to) && !force {
		return fmt.Errorf("%s exists already; choose another name, or overwrite it with --force", to)
	}
	from, err := o.cluster(ask.Options{Namespace: *o.config.Namespace, Whole: recordWithin}, o.everywhere)
	if err != nil {
		return err
	}
	var memory journal.Source
	if o.dataDir != "" {
		r, err := journal.OpenBelow(o.dataDir)
		if err != nil {
			return err
		}
		defer r.Close()
		memory = r
	}
	c, err := from.Record(ctx, memory, func(what string) { fmt.Fprintf(o.Err, "recording %s\n", what) })
	if err != nil {
		return err
	}
	c.By = o.Agent
	if err := writeCase(to, c); err != nil {
		return err
	}
	for _, missing := range c.Missing {
		fmt.Fprintf(o.Err, "left out: %s\n", missing)
	}
	what := prose.Whether(c.Namespace == "", "all namespaces", "namespace "+c.Namespace)
	fmt.Fprintf(o.Err, "recorded %s as of %s into %s: %s, %s, facts of %s\n",
		what, c.Time.Format(time.RFC3339), to, prose.Plural(len(c.Objects), "object"), prose.Plural(len(c.Logs), "log"), prose.Plural(len(c.Facts), "node"))
	return nil
}

// writeCase writes the file whole, or not at all.
func writeCase(to string, c *record.Case) (err error) {
	f, err := os.CreateTemp(filepath.Dir(to), ".record-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(c.Write(f), f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", to, err)
	}
	return os.Rename(f.Name(), to)
}
