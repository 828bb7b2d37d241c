package redact

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestPublicCorpus measures a corpus of others, where WHYLET_CORPUS names one: JSON lines
// with a text and the secret in it. docs/security.md says what was measured with which.
func TestPublicCorpus(t *testing.T) {
	file := os.Getenv("WHYLET_CORPUS")
	if file == "" {
		t.Skip("WHYLET_CORPUS names no corpus")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all, whole := 0, 0
	for line := range strings.Lines(string(text)) {
		var sample struct{ Text, Secret string }
		if json.Unmarshal([]byte(line), &sample) != nil || sample.Secret == "" {
			continue
		}
		all++
		got := Text(sample.Text)
		// What stands before the secret itself stays: the host of a webhook, the user of a password.
		before, _, found := strings.Cut(got, Mark)
		if !found {
			before = ""
		}
		if part := left(got, before+strings.ReplaceAll(sample.Text, sample.Secret, ""), sample.Secret); part != "" {
			t.Logf("%q keeps %q: %q", sample.Text, part, got)
			continue
		}
		whole++
	}
	t.Logf("%d of %d go whole", whole, all)
	if whole*100 < all*leastShare {
		t.Errorf("%d of %d lines lose their secrets", whole, all)
	}
}
