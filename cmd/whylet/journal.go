package main

import (
	"github.com/spf13/cobra"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/command"
	"whylet.dev/whylet/paint"
	"whylet.dev/whylet/web"
)

// newJournalCommand mounts `whylet journal`.
func newJournalCommand(s streams) *cobra.Command {
	return command.New(command.Env{
		Out: paint.Shown(s.out), Err: paint.Shown(s.err), DataDir: defaultDataDir,
		Dir: journal.DirBelow,
		Node: func(dataDir string) string {
			i, err := readInstance(dataDir)
			if err != nil {
				return "" // a journal without a node beside it
			}
			return i.Settings.NodeName
		},
		Trace: web.Trace,
		Usage: func(err error) error { return exit.With(exit.Usage, err) },
	})
}
