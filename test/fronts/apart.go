package fronts

import (
	"context"
	"slices"

	"whylet.dev/whylet/front/uplink"
	"whylet.dev/whylet/journal"
)

// Apart is what an agent in a process of its own has to be told: such a one can be killed.
type Apart struct {
	Fronts            string
	Replicas          []string
	CAFile, TokenFile string
}

// Apart is that of a node's next agent, with a token of its own and the replicas so far.
func (w *World) Apart(node string) Apart {
	w.t.Helper()
	w.mu.Lock()
	hosts := slices.Clone(w.hosts)
	w.mu.Unlock()
	return Apart{Fronts: w.replicas(), Replicas: hosts, CAFile: w.CA, TokenFile: w.tokenFile(node)}
}

// Run is the agent, until ctx ends.
func (a Apart) Run(ctx context.Context, j *journal.Journal) error {
	lookup := func(context.Context, string) ([]string, error) { return a.Replicas, nil }
	return run(ctx, uplink.Options{Address: a.Fronts, Lookup: lookup, CAFile: a.CAFile, TokenFile: a.TokenFile}, j)
}
