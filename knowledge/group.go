package knowledge

import (
	"strings"
	"sync"
)

// Group is several entries of the embedded base that are looked for together, in one pass.
type Group struct {
	known []*Known
	ready func() *grouped
}

// grouped is what a Group needs once the base is there.
type grouped struct {
	needles *automaton
	always  []bool // the entries that any text may fit
}

// NewGroup makes one of some entries, which it reads when it is asked for the first time.
func NewGroup(all ...*Known) *Group {
	g := &Group{known: all}
	g.ready = sync.OnceValue(g.prepare)
	return g
}

func (g *Group) prepare() *grouped {
	ready, ids := &grouped{always: make([]bool, len(g.known))}, map[string][]int32{}
	for i, k := range g.known {
		texts, ok := k.Entry().needles()
		ready.always[i] = !ok
		for _, text := range texts {
			ids[text] = append(ids[text], int32(i))
		}
	}
	ready.needles = newAutomaton(ids)
	return ready
}

// In gives the entries of the group that a text fits, in their order.
func (g *Group) In(text string) (found []*Known) {
	ready := g.ready()
	may := append(make([]bool, 0, len(g.known)), ready.always...)
	ready.needles.each(text, func(i int32) { may[i] = true })
	lower := strings.ToLower(text)
	for i, k := range g.known {
		if may[i] && k.Entry().in(text, lower) {
			found = append(found, k)
		}
	}
	return found
}
