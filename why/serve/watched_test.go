package serve

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// What was recorded on a node of our own is told again as by somebody who only watched
// it: all decisions are taken out. An answer may know less then, and say so; it may not
// say what is wrong.
func TestRecordedHistoriesWithoutOrders(t *testing.T) {
	files, err := filepath.Glob("testdata/*.facts")
	if err != nil || len(files) != len(wanted) {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".facts"), func(t *testing.T) {
			source, err := journal.OpenFile(file)
			if err != nil {
				t.Fatal(err)
			}
			o := why.Options{Now: source.Stats().Last}
			for _, span := range source.Pods() {
				if span.Pod.Name == "" {
					continue
				}
				h, err := newGatherer(source).historyOf(span, &o)
				if err != nil {
					t.Fatal(err)
				}
				truth := why.Explain(h, o)
				watched := why.Explain(watched(h), o)
				for _, v := range watched.Verdicts {
					if v.Cause != answer.CauseUnknown && !slices.ContainsFunc(truth.Verdicts, func(is answer.Verdict) bool { return is.Cause == v.Cause }) {
						t.Errorf("it says %s, which is wrong:\n%s", v.Cause, watched.Text(answer.Style{}))
					}
				}
			}
		})
	}
}

// watched is a history without what the node decided.
func watched(h *history.History) *history.History {
	var facts []fact.Fact
	for _, f := range h.Facts {
		_, checkpoint := f.Body.(fact.Checkpoint)
		f.Because = slices.DeleteFunc(slices.Clone(f.Because), func(id fact.ID) bool {
			b, ok := h.Fact(id)
			return !ok || fact.IsDecided(b.Body)
		})
		if !checkpoint && !fact.IsDecided(f.Body) {
			facts = append(facts, f)
		}
	}
	node := []fact.Fact{{ID: 1, Body: fact.AgentStarted{Previous: fact.NoRunBefore, Beside: "kubelet"}}}
	for _, f := range h.Node {
		if b, ok := f.Body.(fact.AgentStarted); ok {
			b.Beside, b.Sources = "kubelet", nil
			f.Body = b
		}
		node = append(node, f)
	}
	return history.New(h.Pod, facts, node, h.Neighbours)
}
