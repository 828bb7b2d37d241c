package knowledge

import (
	"cmp"
	"slices"
	"strings"
)

// Base is a set of entries that are asked together.
type Base struct {
	entries  []*Entry // by id
	ids      map[string]*Entry
	needles  *automaton
	always   []int32         // entries that have no text by which to find them
	overrule map[string]bool // "a b": a says more than b
}

// Hit is an entry that a text fits, with what its slots stand for there.
type Hit struct {
	*Entry
	Slots map[string]string

	length int
}

// assemble makes a base of entries that were checked.
func assemble(entries []*Entry) *Base {
	b := &Base{ids: map[string]*Entry{}, overrule: map[string]bool{}}
	b.entries = slices.Clone(entries)
	slices.SortFunc(b.entries, func(a, b *Entry) int { return strings.Compare(a.ID, b.ID) })
	for _, e := range b.entries {
		b.ids[e.ID] = e
	}
	texts := map[string][]int32{}
	for i, e := range b.entries {
		if e.compiled == nil { // it is in no other base yet
			e.prepare()
			for _, id := range e.Unless {
				e.unless = append(e.unless, b.ids[id])
			}
		}
		b.reach(e, e.Over)
		all, ok := e.needles()
		if !ok {
			b.always = append(b.always, int32(i))
		}
		for _, text := range all {
			texts[text] = append(texts[text], int32(i))
		}
	}
	b.needles = newAutomaton(texts)
	return b
}

// reach notes that an entry says more than others, and than those of which they do.
func (b *Base) reach(e *Entry, over []string) {
	for _, id := range over {
		if pair := e.ID + " " + id; !b.overrule[pair] {
			b.overrule[pair] = true
			b.reach(e, b.ids[id].Over)
		}
	}
}

// needles are the texts of which each text that fits an entry has one, without compiling its expressions.
func (e *Entry) needles() (all []string, ok bool) {
	for _, expression := range e.Match {
		of, ok := required(expression)
		if !ok {
			return nil, false
		}
		all = append(all, of...)
	}
	return all, true
}

// Entry gives the entry of an id; nil where there is none.
func (b *Base) Entry(id string) *Entry { return b.ids[id] }

// Entries are all entries, by id.
func (b *Base) Entries() []*Entry { return b.entries }

// Match gives all entries that a text of one or more lines fits, the one that says most first. The order of the
// entries in their files has no part in it.
func (b *Base) Match(text string) []Hit { return b.match(text, func(*Entry) bool { return true }) }

// Meaning gives the message that explains a text best; ok is false where none does.
func (b *Base) Meaning(text string) (Hit, bool) {
	if hits := b.match(text, (*Entry).IsMessage); len(hits) > 0 {
		return hits[0], true
	}
	return Hit{}, false
}

func (b *Base) match(text string, wanted func(*Entry) bool) []Hit {
	var hits []Hit
	lower := strings.ToLower(text)
	for _, i := range b.candidates(text) {
		e := b.entries[i]
		if wanted(e) && e.in(text, lower) {
			slots, length := e.find(text)
			hits = append(hits, Hit{Entry: e, Slots: slots, length: length})
		}
	}
	return b.ordered(hits)
}

// candidates are the entries that a text may fit, each once, in the order of their ids.
func (b *Base) candidates(text string) []int32 {
	all := slices.Clone(b.always)
	b.needles.each(text, func(i int32) {
		if at, found := slices.BinarySearch(all, i); !found {
			all = slices.Insert(all, at, i)
		}
	})
	return all
}

// ordered puts the entry that says most first: one that is over another before that, then weak ones last, then by how
// much of the text fits, and then by id, so that no other order matters.
func (b *Base) ordered(hits []Hit) []Hit {
	slices.SortFunc(hits, func(x, y Hit) int {
		switch {
		case x.Weak != y.Weak && x.Weak:
			return 1
		case x.Weak != y.Weak:
			return -1
		}
		return cmp.Or(y.length-x.length, strings.Compare(x.ID, y.ID))
	})
	all := make([]Hit, 0, len(hits))
	for len(hits) > 0 {
		next := slices.IndexFunc(hits, func(h Hit) bool {
			return !slices.ContainsFunc(hits, func(o Hit) bool { return b.overrule[o.ID+" "+h.ID] })
		})
		all = append(all, hits[next])
		hits = slices.Delete(hits, next, next+1)
	}
	return all
}
