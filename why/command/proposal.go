package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	"whylet.dev/whylet/exit"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/whatif"
)

// checkProposal refuses what --what-if and --suggest cannot answer.
func (o *options) checkProposal(targets []ask.Target) error {
	switch {
	case o.suggest && len(o.whatIf) > 0:
		return exit.UsageError("--what-if and --suggest exclude each other")
	case len(targets) != 1 || targets[0].Name == "" || targets[0].Kind != "pod" || o.watch:
		return exit.UsageError("--what-if and --suggest are about one pod")
	case !slices.Contains([]string{"text", "json", "yaml"}, o.output):
		return exit.UsageError("-o %s is not for --what-if and --suggest; text, json and yaml are", o.output)
	case o.suggest:
		return nil
	}
	if _, err := whatif.Parse(o.changes()); err != nil {
		return exit.UsageError("--what-if: %w", err)
	}
	return nil
}

// propose answers --what-if and --suggest.
func (o *options) propose(ctx context.Context, from ask.Asker, targets []ask.Target) error {
	if o.suggest {
		r, err := from.Suggest(ctx, targets[0])
		return o.writeProposal(r, r.Text, err)
	}
	r, err := from.WhatIf(ctx, targets[0], o.changes())
	return o.writeProposal(r, func() string { return r.Text(time.Local) }, err)
}

func (o *options) writeProposal(result any, text func() string, err error) error {
	switch {
	case err != nil:
		return err
	case o.output == "text":
		_, err := fmt.Fprint(o.Out, text())
		return err
	}
	return o.writeData(result)
}
