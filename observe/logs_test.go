package observe

import (
	"os"
	"path/filepath"
	"testing"

	"whylet.dev/whylet/fact"
)

// An image that could not be pulled is on the node where a container of another pod, or of
// this one, runs with it.
func TestTheImageIsThere(t *testing.T) {
	l, _ := aLoop()
	a := &Agent{loop: l}
	of := spec()
	pod := theSpec()
	pod.Spec.Containers[0].Image = "web:1"
	of.Body = fact.SpecSeen{Object: pod}
	l.take(of)
	onNode := func(image string) bool {
		b, _ := a.filled(about(0, 1, fact.ImageFailed{Image: image})).Body.(fact.ImageFailed)
		return b.OnNode
	}
	if onNode("web:1") {
		t.Error("nothing runs yet")
	}
	l.take(start(0, 2, "a"))
	if !onNode("web:1") || onNode("web:2") {
		t.Error("web:1 runs, and web:2 does not")
	}
}

// The last lines of a log are read with what they say most, and nothing of a log that is
// not there.
func TestLastSaid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "0.log")
	if err := os.WriteFile(path, []byte("2026-11-22T23:00:00.0Z stdout F one\n2026-11-22T23:00:00.1Z stderr F two\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := lastSaid(path); len(got.Lines) != 2 || got.Lines[1] != "two" || len(got.At) != 2 || !got.End.All {
		t.Errorf("%+v", got)
	}
	if got := lastSaid(path + ".none"); got.Lines != nil || got.End != nil {
		t.Errorf("%+v", got)
	}
}

func TestNoLogLinesReadsNone(t *testing.T) {
	if (&Agent{o: Options{NoLogLines: true}}).logReader() != nil || (&Agent{}).logReader() == nil {
		t.Error("the option is not heeded")
	}
}
