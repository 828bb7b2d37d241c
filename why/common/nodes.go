package common

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

const (
	// unlikelyHere is how likely chance may be at most for nodes to be why, times how much
	// was tried; unlikelyNodes the same, of the nodes that share something.
	unlikelyHere, unlikelyNodes = 0.01, 0.05
	// most and few are what share of the pods there fail at least, and elsewhere at most.
	most, few = 0.5, 0.1
)

// place is a set of nodes that share something; one node is a place, too.
type place struct {
	nodes  map[string]bool
	shared []string // what, in words
}

// ground is how pods fail by node and maker: of those makers that can be compared, which have
// numbers, as there are many to be added up.
type ground struct {
	makers map[Maker]int
	on     map[string][]cell
}

// cell is how the pods of one maker fail on a node.
type cell struct {
	maker int
	answer.Tally
}

// nodes finds the nodes on which pods fail so that do well elsewhere: at most one finding.
func (s Scene) nodes(f Fault) []Finding {
	g, places := s.ground(f), []place(nil)
	for _, p := range s.places(g) {
		if strata := g.strata(p); with(strata).Failing > 1 && without(strata).All > 1 && telling(strata) {
			places = append(places, p)
		}
	}
	var best *Finding
	var least float64
	for _, p := range places {
		strata := g.strata(p)
		likely := chance(strata) * float64(len(places))
		if best != nil && likely >= least {
			continue
		}
		one := s.here(f, g, p, strata, likely)
		best, least = &one, likely
	}
	if best == nil {
		return nil
	}
	return []Finding{*best}
}

// ground counts the pods that can be compared: those of makers of which some fail so and
// some do not, on nodes of which it is known what they share.
func (s Scene) ground(f Fault) ground {
	type kinds struct {
		number         int
		fails, thrives bool
	}
	both := map[Maker]*kinds{}
	of := make([]*kinds, len(s.Pods))
	for i := range s.Pods {
		p := &s.Pods[i]
		so, compared := p.fails(f)
		if !compared || p.Maker == (Maker{}) || p.Node == "" {
			continue
		}
		k := both[p.Maker]
		if k == nil {
			k = &kinds{}
			both[p.Maker] = k
		}
		k.fails, k.thrives, of[i] = k.fails || so, k.thrives || !so, k
	}
	g := ground{map[Maker]int{}, map[string][]cell{}}
	for m, k := range both {
		if k.fails && k.thrives {
			k.number = len(g.makers)
			g.makers[m] = k.number
		}
	}
	for i, k := range of {
		if k == nil || !k.fails || !k.thrives {
			continue
		}
		p := &s.Pods[i]
		so, _ := p.fails(f)
		g.count(p.Node, k.number, so)
	}
	return g
}

func (g ground) count(node string, maker int, fails bool) {
	cells := g.on[node]
	i := slices.IndexFunc(cells, func(c cell) bool { return c.maker == maker })
	if i < 0 {
		i, cells = len(cells), append(cells, cell{maker: maker})
		g.on[node] = cells
	}
	if cells[i].All++; fails {
		cells[i].Failing++
	}
}

// failing is how many pods fail so on a node.
func (g ground) failing(node string) (n int) {
	for _, c := range g.on[node] {
		n += c.Failing
	}
	return n
}

// places are the nodes on which pods fail, one by one and by what they share. Places with
// the same nodes are one.
func (s Scene) places(g ground) []place {
	by := map[string]*place{}
	var order []string
	add := func(nodes map[string]bool, shared string) {
		key := strings.Join(slices.Sorted(maps.Keys(nodes)), " ")
		if by[key] == nil {
			by[key] = &place{nodes: nodes}
			order = append(order, key)
		}
		by[key].shared = append(by[key].shared, shared)
	}
	sharing := map[[2]string]map[string]bool{}
	for _, node := range slices.Sorted(maps.Keys(g.on)) {
		if g.failing(node) > 1 {
			add(map[string]bool{node: true}, "node "+node)
		}
		for name, value := range s.Traits[node] {
			key := [2]string{name, value}
			if sharing[key] == nil {
				sharing[key] = map[string]bool{}
			}
			sharing[key][node] = true
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(sharing), func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		if len(sharing[key]) < len(g.on) { // what all share tells nothing
			add(sharing[key], key[0]+" "+key[1])
		}
	}
	var all []place
	for _, key := range order {
		all = append(all, *by[key])
	}
	return all
}

// strata compare the pods of a place with others of the same makers.
func (g ground) strata(p place) []stratum {
	all := make([]stratum, len(g.makers))
	for node, cells := range g.on {
		here := p.nodes[node]
		for _, c := range cells {
			into := &all[c.maker].without
			if here {
				into = &all[c.maker].with
			}
			into.Failing, into.All = into.Failing+c.Failing, into.All+c.All
		}
	}
	return slices.DeleteFunc(all, func(s stratum) bool { return !s.tells() })
}

func with(strata []stratum) (t answer.Tally) {
	for _, s := range strata {
		t.Failing, t.All = t.Failing+s.with.Failing, t.All+s.with.All
	}
	return t
}

func without(strata []stratum) (t answer.Tally) {
	for _, s := range strata {
		t.Failing, t.All = t.Failing+s.without.Failing, t.All+s.without.All
	}
	return t
}

// telling says whether most pods here fail and others do well.
func telling(strata []stratum) bool {
	here, there := with(strata), without(strata)
	return float64(here.Failing) >= most*float64(here.All) && float64(there.Failing) <= few*float64(there.All)
}

// here is what is found of a place.
func (s Scene) here(f Fault, g ground, p place, strata []stratum, likely float64) Finding {
	found := Finding{Fault: f, Pods: map[types.UID]bool{}}
	found.Kind, found.Name = answer.CommonNodes, prose.Some(p.shared)
	found.With, found.Without, found.Certainty = with(strata), without(strata), answer.Unknown
	failing := map[string]bool{}
	for i := range s.Pods {
		q := &s.Pods[i]
		_, compared := g.makers[q.Maker]
		if so, _ := q.fails(f); so && compared && p.nodes[q.Node] {
			found.Pods[q.UID], failing[q.Node] = true, true
		}
	}
	found.Nodes = len(failing)
	where, verdict := "on "+p.shared[0], "it is the node"
	if len(p.nodes) > 1 {
		where, verdict = "on nodes with "+found.Name, "it is what those nodes share"
	} else {
		found.Name = p.shared[0]
	}
	switch {
	case likely > unlikelyHere:
		verdict = "too few to say that " + verdict
	case len(p.nodes) > 1 && byNode(g, p) > unlikelyNodes:
		verdict = "too few nodes to say that " + verdict
	default:
		found.Certainty = answer.Inferred
	}
	found.Text = fmt.Sprintf("%s %s %s so, and %d of %d of the same workloads elsewhere: %s.",
		share(found.With), where, verb(found.With.Failing), found.Without.Failing, found.Without.All, verdict)
	return found
}

// byNode is how likely chance would choose these nodes of all for pods to fail on.
func byNode(g ground, p place) float64 {
	var s stratum
	for node := range g.on {
		t := &s.without
		if p.nodes[node] {
			t = &s.with
		}
		if t.All++; g.failing(node) > 0 {
			t.Failing++
		}
	}
	return chance([]stratum{s})
}
