package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"whylet.dev/whylet/why/graph"
)

var began = time.Date(2026, 11, 29, 7, 0, 0, 0, time.UTC)

// parse makes a graph of lines: FROM SUPPORT TO [only=CAUSE] [guess], and FROM has CAUSE [effect] [waits] [at=SECONDS].
func parse(t *testing.T, text string) *graph.Graph {
	t.Helper()
	g := &graph.Graph{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if words[1] == "has" {
			f := graph.Finding{At: graph.ID(words[0]), Cause: words[2]}
			for _, word := range words[3:] {
				f.Effect, f.Waits = f.Effect || word == "effect", f.Waits || word == "waits"
				if at, ok := strings.CutPrefix(word, "at="); ok {
					seconds, err := time.ParseDuration(at + "s")
					if err != nil {
						t.Fatal(err)
					}
					f.Since = began.Add(seconds)
				}
			}
			g.Find(f)
			continue
		}
		e := graph.Edge{From: graph.ID(words[0]), To: graph.ID(words[2]), Rel: graph.Needs}
		e.Support = map[string]graph.Support{"refuted": graph.Refuted, "possible": graph.Possible, "likely": graph.Likely, "strong": graph.Strong, "seen": graph.Seen}[words[1]]
		for _, word := range words[3:] {
			if only, ok := strings.CutPrefix(word, "only="); ok {
				e.Only = append(e.Only, only)
			} else {
				e.Guess = word
			}
		}
		g.Add(e)
	}
	return g
}

func shown(d Diagnosis) string {
	var b strings.Builder
	for _, e := range d.Path {
		fmt.Fprintf(&b, "%s ", e.To)
	}
	if d.Root != nil {
		fmt.Fprintf(&b, "%s ", d.Root.Cause)
	}
	b.WriteString(d.Guess())
	for _, path := range d.Beside {
		fmt.Fprintf(&b, " beside %s", path[len(path)-1].To)
	}
	if len(d.Cycle) > 0 {
		fmt.Fprintf(&b, " cycle %v", d.Cycle)
	}
	return strings.TrimSpace(strings.Join(strings.Fields(b.String()), " "))
}

func TestRoot(t *testing.T) {
	for _, test := range []struct{ name, graph, want string }{
		{"nothing is known", "web has hang effect", "hang"},
		{"what it asks is down", "web has hang effect\n web strong db\n db has oom", "db oom"},
		{"what it asks is well", "web has hang effect\n web strong db", "hang"},
		{"its own trouble is no effect", "web has oom\n web strong db\n db has oom", "oom"},
		{"through one that only suffers", "web strong api\n api has hang effect\n api strong db\n db has oom", "api db oom"},
		{"one that suffers, and nothing says of what", "web strong api\n api has hang effect", "api hang"},
		{"the stronger path", "web likely a\n a has oom\n web strong b\n b has hang effect", "b hang"},
		{"a path is as strong as its weakest edge", "web strong a\n a possible b\n b has oom\n web likely c\n c has full", "c full"},
		{"the trouble that began first", "web strong a\n a has oom at=9\n web strong b\n b has full at=2", "b full"},
		{"the trouble of which it is known when it began", "web strong a\n a has oom\n web strong b\n b has full at=2", "b full"},
		{"several are likely", "web has hang effect\n web likely a\n a has oom\n web likely b\n b has full", "beside a beside b"},
		{"several ways to one", "web possible a\n web possible b\n a strong db\n b strong db\n db has oom", "a db oom"},
		{"a way that names more on it", "web strong db\n web strong api\n api strong db\n db has oom", "api db oom"},
		{"only a guess", "web has hang effect\n web possible a guessed\n a has oom", "a oom guessed"},
		{"only some causes explain it", "web has hang effect\n web strong a only=full\n a has oom", "hang beside a"},
		{"such a cause", "web has hang effect\n web strong a only=full\n a strong disk\n disk has full", "a disk full"},
		{"worth a word alone", "web has hang effect\n web refuted a\n a has oom", "hang beside a"},
		{"two wait for each other", "web has down effect waits\n web strong api\n api has down effect waits\n api strong web", "cycle [web api web]"},
		{"two wait for each other, and one for a third", "web has down effect waits\n web strong api\n api has down effect waits\n api strong web\n api strong db\n db has oom", "api db oom"},
		{"two ask each other, and one fails by itself", "web has no effect\n web strong api\n api has no effect\n api strong web", "api no"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := Root(parse(t, test.graph), "web")
			if got := shown(d); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// Those that are looked at already wait for one, so that its way back to them explains nothing.
func TestRootOnTheWay(t *testing.T) {
	g := parse(t, "web has no effect\n api strong web")
	if d := Root(g, "api", "web"); d.Leads() || len(d.Cycle) == 0 {
		t.Errorf("%s", shown(d))
	}
}

func TestTimely(t *testing.T) {
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	for _, test := range []struct {
		began, since, well time.Time
		want               bool
	}{
		{time.Time{}, at(0), time.Time{}, false},
		{at(-600), at(0), time.Time{}, true},
		{at(4), at(0), time.Time{}, true},
		{at(6), at(0), time.Time{}, false},
		{at(-20), at(0), at(-5), true},
		{at(-40), at(0), at(-5), false},
	} {
		if got := Timely(test.began, test.since, test.well); got != test.want {
			t.Errorf("%s, %s, %s: %v", test.began, test.since, test.well, got)
		}
	}
	if !Endured(at(60), at(0), at(-90)) || Endured(at(60), at(0), at(50)) {
		t.Error("what began after it was started counts, and since then")
	}
}

func drawn(t *rapid.T) *graph.Graph {
	id := rapid.SampledFrom([]graph.ID{"web", "a", "b", "c", "d", "e"})
	cause := rapid.SampledFrom([]string{"oom", "full", "hang"})
	g := &graph.Graph{}
	for range rapid.IntRange(0, 5).Draw(t, "findings") {
		g.Find(graph.Finding{At: id.Draw(t, "at"), Cause: cause.Draw(t, "cause"), Effect: rapid.Bool().Draw(t, "effect"), Waits: rapid.Bool().Draw(t, "waits")})
	}
	for n := range rapid.IntRange(0, 9).Draw(t, "edges") {
		e := graph.Edge{From: id.Draw(t, "from"), To: id.Draw(t, "to"), Rel: graph.Needs, Ref: n}
		e.Support = graph.Support(rapid.IntRange(0, 4).Draw(t, "support"))
		if rapid.Bool().Draw(t, "some") {
			e.Only = []string{cause.Draw(t, "only")}
		}
		g.Add(e)
	}
	return g
}

func root(g *graph.Graph) string {
	d := Root(g, "web")
	if d.Root == nil {
		return ""
	}
	return fmt.Sprint(d.Root.At, d.Root.Cause, d.Support)
}

// The order of edges means nothing.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawn(t)
		shuffled := &graph.Graph{Edges: rapid.Permutation(g.Edges).Draw(t, "order"), Findings: g.Findings}
		if a, b := root(g), root(shuffled); a != b {
			t.Fatalf("%s, and in another order %s", a, b)
		}
	})
}

// A path is one of the graph, begins at the symptom and ends at the root; each of its edges explains the root, and is as
// well supported as the path.
func TestPathLeadsToTheRoot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawn(t)
		d := Root(g, "web")
		if d.Root == nil {
			return
		}
		at := graph.ID("web")
		for _, e := range d.Path {
			if e.From != at || !e.Explains(d.Root.Cause) || e.Support < d.Support {
				t.Fatalf("%v on a path to %v of support %d", e, d.Root, d.Support)
			}
			at = e.To
		}
		if at != d.Root.At {
			t.Fatalf("the path ends at %s, and the root is %s", at, d.Root.At)
		}
	})
}

// What shows less than the path to the root never gives another root.
func TestLessNeverWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawn(t)
		d := Root(g, "web")
		if !d.Leads() || d.Support == graph.Refuted {
			return
		}
		less := &graph.Graph{Findings: g.Findings}
		for _, e := range g.Edges {
			if e.From != "web" || e.Support >= d.Support {
				less.Add(e)
			}
		}
		if a, b := root(g), root(less); a != b {
			t.Fatalf("%s, and without what shows less %s", a, b)
		}
	})
}
