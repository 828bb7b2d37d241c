package answer

import (
	"strings"
	"testing"
	"time"
)

// A hundred replicas that fail alike are one trouble.
func TestFolded(t *testing.T) {
	a := Answer{Subject: Subject{Kind: "Deployment", Namespace: "shop", Name: "web"}}
	dawn := time.Date(2026, 7, 1, 6, 0, 0, 0, time.UTC)
	of := func(pod string, at time.Duration, cause Cause) {
		a.Put(Symptom{Kind: Restarted, Pod: pod, Container: "app", Last: dawn.Add(at), Text: "pod " + pod + ": container app was restarted"}, Verdict{Cause: cause, Certainty: Inferred, Text: "Of " + pod + "."})
	}
	of("a", 1, AppExitError)
	of("b", 3, AppExitError)
	of("c", 2, AppExitError)
	of("d", 2, MemoryLimit)
	text := a.Text(Style{})
	for _, want := range []string{
		"Restarted · 3 pods, the last of them b: container app was restarted", "Of b.", "all of them a, b, c; -o wide shows each",
		"Restarted · pod d: container app was restarted", "Of d.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "Of a.") || strings.Count(a.Text(Style{Wide: true}), "container app was restarted") != 4 {
		t.Errorf("%s\n%s", text, a.Text(Style{Wide: true}))
	}
}
