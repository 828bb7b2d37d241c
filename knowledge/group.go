package knowledge

import (
	"strings"
	"sync"
)

// Group is several entries of the embedded base that are looked for together, in one pass.
type Group struct {
	wanted func(*Entry) bool
	ready  func() *grouped
}

// grouped is what a Group needs once the base is there.
type grouped struct {
	entries []*Entry
	needles *automaton
	always  []bool // the entries that any text may fit
}

// NewGroup makes one of the entries that are wanted, which it reads when it is asked for the first time.
func NewGroup(wanted func(*Entry) bool) *Group {
	g := &Group{wanted: wanted}
	g.ready = sync.OnceValue(g.prepare)
	return g
}

func (g *Group) prepare() *grouped {
	ready, ids := &grouped{}, map[string][]int32{}
	for _, e := range Embedded().Entries() {
		if !g.wanted(e) {
			continue
		}
		texts, ok := e.needles()
		for _, text := range texts {
			ids[text] = append(ids[text], int32(len(ready.entries)))
		}
		ready.entries, ready.always = append(ready.entries, e), append(ready.always, !ok)
	}
	ready.needles = newAutomaton(ids)
	return ready
}

// In gives the entries of the group that a text fits, by their ids.
func (g *Group) In(text string) (found []*Entry) {
	ready := g.ready()
	may := append(make([]bool, 0, len(ready.entries)), ready.always...)
	ready.needles.each(text, func(i int32) { may[i] = true })
	lower := strings.ToLower(text)
	for i, e := range ready.entries {
		if may[i] && e.in(text, lower) {
			found = append(found, e)
		}
	}
	return found
}
