package web

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/web/timeline"
	"whylet.dev/whylet/why/serve"
)

var rewrite = flag.Bool("rewrite", false, "write the documents as they are now into testdata; look at the difference")

// recorded is the document of a history that was recorded from a real container.
func recorded(t *testing.T, name string) timeline.Document {
	t.Helper()
	source, err := journal.OpenFile(filepath.Join("..", "why", "serve", "testdata", name+".facts"))
	if err != nil {
		t.Fatal(err)
	}
	q := serve.Question{}
	for _, p := range source.Pods() {
		if p.Pod.Name != "" {
			q.Namespace, q.Name = p.Pod.Namespace, p.Pod.Name
		}
	}
	q.Now = source.Stats().Last
	a, err := serve.One(source, q)
	if err != nil {
		t.Fatal(err)
	}
	d, err := FromJournal(source, q, a, "kubectl why pod/"+q.Name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The documents of recorded histories, as they are.
func TestDocuments(t *testing.T) {
	for _, name := range []string{"oom-main", "slow-handler", "emptydir-limit"} {
		d := recorded(t, name)
		for i := range d.Pods { // the facts are what was recorded, and their words another test's
			d.Pods[i].Facts = nil
		}
		got, err := json.MarshalIndent(d, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, filepath.Join("testdata", name+".json"), string(got)+"\n")
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(want)) != strings.TrimSpace(got) {
		t.Errorf("%s is another now; look at it, then go test ./web -rewrite", file)
	}
}
