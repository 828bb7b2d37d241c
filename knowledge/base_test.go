package knowledge

import (
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

// loaded are the entries of the embedded base, read anew and shuffled.
func loaded(t *testing.T, seed int64) []*Entry {
	t.Helper()
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	var entries []*Entry
	for name, text := range files {
		of, err := Load("base/"+name, text)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range of {
			if e.Speaker != of[0].Speaker {
				t.Errorf("%s: a file has one speaker: %s and %s", e.at("speaker"), of[0].Speaker, e.Speaker)
			}
		}
		entries = append(entries, of...)
	}
	rand.New(rand.NewSource(seed)).Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
	return entries
}

// Each entry of the base is what Check wants it to be.
func TestEntries(t *testing.T) {
	entries := loaded(t, 1)
	for _, fault := range Check(entries) {
		t.Error(fault)
	}
	messages, expressions, samples, remembered := 0, 0, 0, 0
	for _, e := range entries {
		expressions, samples = expressions+len(e.Match), samples+len(e.Samples)
		if e.IsMessage() {
			messages++
		}
		if e.Seen.Memory != "" {
			remembered++
		}
	}
	t.Logf("%d entries, %d of them messages and %d from memory, with %d expressions and %d samples", len(entries), messages, remembered, expressions, samples)
}

// texts are the samples and all lines of logs that tests have.
func texts(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, e := range Embedded().Entries() {
		all = append(all, e.Samples...)
	}
	for _, form := range []string{"testdata/*.txt", "../why/words/testdata/*.txt", "../logline/testdata/*.txt", "../logline/testdata/excerpts/*.txt"} {
		files, err := filepath.Glob(form)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, strings.Split(string(raw), "\n")...)
		}
	}
	return all
}

// The order in which entries are read changes no answer.
func TestOrderDoesNotMatter(t *testing.T) {
	all := texts(t)
	if len(all) < 5000 {
		t.Fatalf("only %d texts", len(all))
	}
	want := Embedded()
	for seed := range int64(2) {
		got := assemble(loaded(t, seed))
		for _, text := range all {
			if a, b := idsOf(want.Match(text)), idsOf(got.Match(text)); !slices.Equal(a, b) {
				t.Fatalf("%s: %v, in another order %v", text, a, b)
			}
		}
	}
}

func idsOf(hits []Hit) (ids []string) {
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// Match finds by the automaton what asking each entry finds, and asking an entry finds what its expressions find.
func TestMatchFindsAll(t *testing.T) {
	b := Embedded()
	all := texts(t)
	rapid.Check(t, func(t *rapid.T) {
		var parts []string
		for range rapid.IntRange(1, 3).Draw(t, "parts") {
			part := rapid.SampledFrom(all).Draw(t, "text")
			from := rapid.IntRange(0, len(part)).Draw(t, "from")
			parts = append(parts, part[from:])
		}
		text := strings.Join(parts, rapid.SampledFrom([]string{"", " ", "\n"}).Draw(t, "between"))
		if rapid.Bool().Draw(t, "upper") {
			text = strings.ToUpper(text)
		}
		var want []string
		for _, e := range b.Entries() {
			if e.In(text) {
				want = append(want, e.ID)
			}
			fits := slices.ContainsFunc(e.Match, func(expression string) bool { return regexp.MustCompile(expression).MatchString(text) })
			if lower := strings.ToLower(text); fits != e.fits(text, lower) {
				t.Errorf("%s fits %q: %v", e.ID, text, fits)
			}
		}
		got := idsOf(b.Match(text))
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}
