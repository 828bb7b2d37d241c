package knowledge

import (
	"fmt"
	"strings"
	"testing"
)

// some makes entries of which each differs from the others.
func some(t *testing.T, n int, change func(i int, text string) string) (all []*Entry) {
	t.Helper()
	for i := range n {
		name := fmt.Sprintf("%c%c-plan", 'a'+i/26%26, 'a'+i%26)
		text := strings.NewReplacer("no-shift", fmt.Sprintf("m%d", i), "no shift is planned", "no "+name).Replace(good)
		of, err := Load(fmt.Sprintf("f%d.yaml", i), []byte(change(i, text)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, of...)
	}
	return all
}

// Entries from outside may come to so much together; the first that is too much is named, and those before it count.
func TestWithin(t *testing.T) {
	as := func(_ int, text string) string { return text }
	for name, test := range map[string]struct {
		limits Limits
		left   int
		want   string
	}{
		"entries":     {Limits{"a test", 2, 1000, 1000}, 2, "f2.yaml:1: acme.m2: a test may hold 2 messages"},
		"samples":     {Limits{"a test", 9, 200, 1000}, 2, "f2.yaml:5: acme.m2: a test may hold 200 bytes of samples"},
		"expressions": {Limits{"a test", 9, 1000, 80}, 1, "f1.yaml:4: acme.m1: the expressions in a test may come to 80 characters"},
		"nothing":     {Limits{"a test", 9, 1000, 1000}, 5, ""},
	} {
		left, refused := test.limits.Within(some(t, 5, as))
		if len(left) != test.left || len(refused) > 1 || (len(refused) == 1) != (test.want != "") || len(refused) == 1 && !strings.HasPrefix(refused[0].Error(), test.want) {
			t.Errorf("%s: %d left, %v", name, len(left), refused)
		}
	}
}

// What leans on an entry that is left out is left out, too, however long the chain, and each is told once.
func TestLeaning(t *testing.T) {
	const n = 200
	chain := some(t, n, func(i int, text string) string {
		return strings.Replace(text, "  means:", fmt.Sprintf("  over: [acme.m%d]\n  means:", i+1), 1)
	})
	b, faults := Embedded().With(chain)
	if b.Entry("acme.m0") != nil || len(faults) != n || !strings.Contains(faults[0].Error(), "there is no entry acme.m200") {
		t.Errorf("%d faults, the first %v", len(faults), faults[0])
	}
	circle := some(t, 3, func(i int, text string) string {
		return strings.Replace(text, "  means:", fmt.Sprintf("  over: [acme.m%d]\n  means:", (i+1)%3), 1)
	})
	if _, faults := Embedded().With(circle); len(faults) != 3 || !strings.Contains(faults[0].Error(), "leads back here") {
		t.Errorf("%v", faults)
	}
}

// The most that a namespace may hold, made to take long, is checked in a time that one waits.
func BenchmarkWorst(b *testing.B) {
	var file strings.Builder
	for i := range OfNamespace.Entries {
		fmt.Fprintf(&file, "- id: acme.m%d\n  speaker: A\n  seen: {source: a}\n  match: ['err.{0,40}%c%c']\n  samples: ['%s%c%c']\n  means: x\n", i,
			'a'+i/26, 'a'+i%26, strings.Repeat("err", OfNamespace.Samples/OfNamespace.Entries/3-1), 'a'+i/26, 'a'+i%26)
	}
	for b.Loop() {
		entries, err := Load("f.yaml", []byte(file.String()))
		if err != nil {
			b.Fatal(err)
		}
		left, _ := OfNamespace.Within(entries)
		_, faults := Embedded().With(left)
		b.ReportMetric(float64(len(left)), "entries")
		b.ReportMetric(float64(len(faults)), "faults")
	}
}
