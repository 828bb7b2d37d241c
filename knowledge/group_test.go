package knowledge

import (
	"slices"
	"testing"
)

// A group finds in each text what its entries find one by one.
func TestGroup(t *testing.T) {
	all := []*Known{Credentials, NoSpace, LeftBehind, NobodyTakes, Waits, BadConfig, TooLate}
	g := NewGroup(all...)
	texts := []string{"", "nothing of note"}
	for _, e := range Embedded().Entries() {
		texts = append(texts, e.Samples...)
	}
	for _, text := range texts {
		var want []*Known
		for _, k := range all {
			if k.In(text) {
				want = append(want, k)
			}
		}
		if got := g.In(text); !slices.Equal(got, want) {
			t.Errorf("%q: %d entries, want %d", text, len(got), len(want))
		}
	}
}
