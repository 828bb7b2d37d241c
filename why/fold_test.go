package why

import (
	"strings"
	"testing"
	"time"
)

// A hundred replicas that fail alike are one trouble.
func TestFolded(t *testing.T) {
	subject := Subject{Kind: "Deployment", Namespace: "shop", Name: "web"}
	of := func(pod string, at time.Duration, cause Cause) Answer {
		a := Answer{Subject: Subject{Namespace: "shop", Name: pod}}
		a.add(Symptom{Kind: Restarted, Container: "app", Last: dawn.Add(at), Text: "container app was restarted"}, finding{cause: cause, text: "Of " + pod + "."})
		return a
	}
	a := Group(subject, []Answer{of("a", 1, AppExitError), of("b", 3, AppExitError), of("c", 2, AppExitError), of("d", 2, MemoryLimit)}, dawn.Add(3))
	if len(a.Symptoms) != 4 || a.Symptoms[1].Pod != "b" || a.Symptoms[1].Text != "pod b: container app was restarted" {
		t.Fatalf("each is told of: %+v", a.Symptoms)
	}
	text := a.Text(Style{})
	for _, want := range []string{
		"Restarted · 3 pods, the last of them b: container app was restarted", "Of b.", "all of them a, b, c; -o wide tells of each",
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
