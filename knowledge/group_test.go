package knowledge

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A group finds what asking each of its entries finds.
func TestGroup(t *testing.T) {
	wanted := func(e *Entry) bool { return len(e.ID)%2 == 0 }
	g, all := NewGroup(wanted), texts(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(all).Draw(t, "text")
		var want []*Entry
		for _, e := range Embedded().Entries() {
			if wanted(e) && e.In(text) {
				want = append(want, e)
			}
		}
		if got := g.In(text); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	})
}
