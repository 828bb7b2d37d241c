package answer

import (
	"slices"
	"testing"
)

// People see three steps at most, and none twice.
func TestSteps(t *testing.T) {
	look := Fix{Text: "see its log", Command: "kubectl logs web", Risk: Inspect}
	v := Verdict{Fixes: []Fix{look, {Text: "edit it", Command: "kubectl edit pod web", Risk: Restarts}, {Text: "read what it says", Command: look.Command, Risk: Inspect}, {Text: "edit it"}, {Text: "a third"}, {Text: "a fourth"}}}
	var texts []string
	for _, f := range v.Steps() {
		texts = append(texts, f.Text)
	}
	if want := []string{"see its log", "edit it", "a third"}; !slices.Equal(texts, want) {
		t.Errorf("%q", texts)
	}
}
