package web

import (
	"flag"
	"fmt"
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

// The documents of recorded histories, a line a mark.
func TestDocuments(t *testing.T) {
	for _, name := range []string{"oom-main", "slow-handler", "emptydir-limit"} {
		golden(t, filepath.Join("testdata", name+".txt"), lines(recorded(t, name)))
	}
}

// lines describe a document; the answer's words are another test's.
func lines(d timeline.Document) string {
	var b strings.Builder
	since := func(ms int64) string { return fmt.Sprintf("%.3f", float64(ms-d.From)/1000) }
	fmt.Fprintf(&b, "until %s, trouble %s to %s\n", since(d.Until), since(d.Trouble[0]), since(d.Trouble[1]))
	for _, p := range d.Pods {
		fmt.Fprintf(&b, "%s %s/%s on %s: %d facts of %d\n", p.Kind, p.Namespace, p.Name, p.Node, len(p.Facts), p.Total)
		for _, l := range p.Lanes {
			fmt.Fprintf(&b, "\n%s %s (%s) %s\n", l.Group, l.Name, l.Form, l.Unit)
			for _, x := range l.Limits {
				fmt.Fprintf(&b, "  %s to %s %s %g\n", since(x.From), since(x.Until), x.Name, x.Value)
			}
			for _, c := range l.Curves {
				most := timeline.Point{}
				for _, x := range c.Points {
					if x.Value > most.Value {
						most = x
					}
				}
				fmt.Fprintf(&b, "  %s: %d points, most %g at %s\n", c.Name, len(c.Points), most.Value, since(most.At))
			}
			for _, m := range l.Marks {
				fmt.Fprintf(&b, "  %s", since(m.At))
				if m.Until > m.At {
					fmt.Fprintf(&b, " to %s", since(m.Until))
				}
				fmt.Fprintf(&b, " %s %s %s", m.Shape, m.Tone, m.Label)
				if m.Value > 0 {
					fmt.Fprintf(&b, " %g", m.Value)
				}
				fmt.Fprintf(&b, " %v\n", m.Facts)
			}
		}
		for _, w := range p.WhatIf {
			fmt.Fprintf(&b, "\nwhat if %s %v: %d results, %v\n", w.Container, w.Settings, len(w.Results), w.Grid)
		}
	}
	return b.String()
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
	if string(want) != got {
		t.Errorf("%s is another now; look at it, then go test ./web -rewrite", file)
	}
}

// A node's page has its own memory and its pods' runs.
func TestNodeDocument(t *testing.T) {
	source, err := journal.OpenFile(filepath.Join("..", "why", "serve", "testdata", "emptydir-limit.facts"))
	if err != nil {
		t.Fatal(err)
	}
	q := serve.Question{Name: "vm"}
	q.Now = source.Stats().Last
	a, err := serve.Node(source, q)
	if err != nil {
		t.Fatal(err)
	}
	d, err := FromJournal(source, q, a, "kubectl why node/vm")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, filepath.Join("testdata", "node.txt"), lines(d))
}

// A history becomes a trace, a pod's and the node's.
func TestTrace(t *testing.T) {
	source, err := journal.OpenFile(filepath.Join("..", "why", "serve", "testdata", "oom-main.facts"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"p1a", ""} {
		var b strings.Builder
		if err := Trace(&b, source, "", name, ""); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "p1a") {
			t.Errorf("the trace of %q has %d bytes and no pod", name, b.Len())
		}
	}
	if err := Trace(&strings.Builder{}, source, "", "nobody", ""); err == nil {
		t.Error("a pod that is not known has a trace")
	}
}
