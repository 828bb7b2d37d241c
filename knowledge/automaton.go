package knowledge

// automaton finds which of many texts are in another, in one pass and in any case: Aho and Corasick's. Its edges are
// kept as lists, since nearly all nodes have one: a table would take megabytes in every agent.
type automaton struct {
	nodes []node
	root  [256]int32 // the edges of the root, of which there are many
	texts []int32    // the ids at the end of each node's text, all together
}

type node struct {
	child, sibling int32 // the first edge to below, the next one beside
	fail           int32 // the node of the longest other end of this text
	ends           int32 // the nearest node along fail, or this one, that ends a text; 0 for none
	from, to       int32 // its ids in texts
	by             byte
}

// longest is how much of a text is looked for: more tells no more apart.
const longest = 16

// newAutomaton makes one of texts in lower case, and the ids that are to be given for each.
func newAutomaton(ids map[string][]int32) *automaton {
	a := &automaton{nodes: make([]node, 1)}
	ending := map[int32][]int32{}
	for text, of := range ids {
		at := int32(0)
		for i := range min(len(text), longest) {
			at = a.grow(at, text[i])
		}
		ending[at] = append(ending[at], of...)
	}
	for at, of := range ending {
		a.nodes[at].from = int32(len(a.texts))
		a.texts = append(a.texts, of...)
		a.nodes[at].to, a.nodes[at].ends = int32(len(a.texts)), at
	}
	a.link()
	return a
}

// grow gives the node below another, and makes it where there is none.
func (a *automaton) grow(at int32, by byte) int32 {
	if next := a.below(at, by); next > 0 {
		return next
	}
	next := int32(len(a.nodes))
	a.nodes = append(a.nodes, node{by: by, sibling: a.nodes[at].child})
	a.nodes[at].child = next
	if at == 0 {
		a.root[by] = next
	}
	return next
}

// below is the node below another; 0 where there is none.
func (a *automaton) below(at int32, by byte) int32 {
	if at == 0 {
		return a.root[by]
	}
	next := a.nodes[at].child
	for next > 0 && a.nodes[next].by != by {
		next = a.nodes[next].sibling
	}
	return next
}

// link gives each node the one to go on at where nothing below it fits, those above first.
func (a *automaton) link() {
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for next := a.nodes[at].child; next > 0; next = a.nodes[next].sibling {
			queue = append(queue, next)
			if at > 0 {
				a.nodes[next].fail = a.step(a.nodes[at].fail, a.nodes[next].by)
			}
			if a.nodes[next].ends == 0 {
				a.nodes[next].ends = a.nodes[a.nodes[next].fail].ends
			}
		}
	}
}

// step is the node to which a byte leads.
func (a *automaton) step(at int32, by byte) int32 {
	for {
		if next := a.below(at, by); next > 0 || at == 0 {
			return next
		}
		at = a.nodes[at].fail
	}
}

// each calls a function with the ids of all texts that are in another, some more than once.
func (a *automaton) each(text string, found func(id int32)) {
	at := int32(0)
	for i := range len(text) {
		by := text[i]
		if 'A' <= by && by <= 'Z' {
			by += 'a' - 'A'
		}
		at = a.step(at, by)
		for end := a.nodes[at].ends; end > 0; end = a.nodes[a.nodes[end].fail].ends {
			for _, id := range a.texts[a.nodes[end].from:a.nodes[end].to] {
				found(id)
			}
		}
	}
}
