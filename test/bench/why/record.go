package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"whylet.dev/whylet/test/corpus"
	"whylet.dev/whylet/test/e2e/scenarios"
)

// recordCase writes what is known of a scenario, what is expected of an answer, and how the live
// ones were. A failure is told, and the run goes on.
func (o *options) recordCase(ctx context.Context, n scenarios.Cluster, results []scenarios.Result) {
	c := results[0].Scenario
	label := corpus.Label{Scenario: c.Name, Subject: results[0].Subject, Stack: o.stack, Want: c.Want, Live: map[scenarios.Sight]scenarios.Grade{}}
	for _, r := range results {
		label.Live[r.Sight] = r.Grade
	}
	base, err := filepath.Abs(filepath.Join(o.recordIn, c.Name))
	if err == nil {
		err = os.MkdirAll(o.recordIn, 0o755)
	}
	if err == nil {
		err = n.Record(ctx, results[0].Namespace, base+corpus.RecordSuffix)
	}
	text, failed := json.Marshal(label)
	if err = errors.Join(err, failed); err == nil {
		err = os.WriteFile(base+corpus.LabelSuffix, text, 0o644)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s was not recorded: %v\n", c.Name, err)
	}
}
