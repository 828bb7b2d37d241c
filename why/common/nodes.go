package common

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
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
	nodes  []*spot
	shared []string // what, in words
}

// ground is how pods fail by node and maker: of those makers that can be compared. Both have
// numbers, as there are many cells to be added up.
type ground struct {
	makers map[Maker]int
	all    []answer.Tally // of each of them
	on     map[Node]*spot
	cells  []cell
}

// spot is a node.
type spot struct {
	name            string
	number, failing int
}

// cell is how pods of one maker fail on a node.
type cell struct {
	maker, node int32
	answer.Tally
}

// in says of each node whether it is of a place.
func (g *ground) in(p place) []bool {
	all := make([]bool, len(g.on))
	for _, n := range p.nodes {
		all[n.number] = true
	}
	return all
}

// nodes finds the nodes on which pods fail so that do well elsewhere: at most one finding.
func (s Scene) nodes(f Fault) []Finding {
	g, places := s.ground(f), []place(nil)
	for _, p := range s.places(g) {
		if all := sum(g.strata(p)); all.with.Failing > 1 && all.without.All > 1 && all.telling() {
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
func (s Scene) ground(f Fault) *ground {
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
	cells := len(s.Pods)
	for _, c := range s.Crowds {
		if k := both[c.Maker]; k != nil && len(c.On) > 0 {
			k.thrives = true
			cells += len(c.On)
		}
	}
	g := &ground{makers: map[Maker]int{}, on: map[Node]*spot{}, cells: make([]cell, 0, cells)}
	// In an order that is the same whatever is asked: the chances of two places may be equal but for
	// what adding them up in another order makes of them.
	for _, m := range slices.SortedFunc(maps.Keys(both), Maker.compare) {
		if k := both[m]; k.fails && k.thrives {
			k.number = len(g.makers)
			g.makers[m] = k.number
		}
	}
	g.all = make([]answer.Tally, len(g.makers))
	for i, k := range of {
		if k == nil || !k.fails || !k.thrives {
			continue
		}
		one := answer.Tally{All: 1}
		if so, _ := s.Pods[i].fails(f); so {
			one.Failing = 1
		}
		g.count(NodeOf(s.Pods[i].Node), k.number, one)
	}
	for _, c := range s.Crowds {
		if number, ok := g.makers[c.Maker]; ok {
			for _, on := range c.On {
				g.count(on.Node, number, answer.Tally{All: on.Pods})
			}
		}
	}
	return g
}

func (g *ground) count(node Node, maker int, more answer.Tally) {
	at := g.on[node]
	if at == nil {
		at = &spot{name: node.Value(), number: len(g.on)}
		g.on[node] = at
	}
	at.failing += more.Failing
	add(&g.all[maker], more)
	g.cells = append(g.cells, cell{int32(maker), int32(at.number), more})
}

func add(t *answer.Tally, more answer.Tally) {
	t.Failing, t.All = t.Failing+more.Failing, t.All+more.All
}

// places are the nodes on which pods fail, one by one and by what they share. Places with
// the same nodes are one.
func (s Scene) places(g *ground) []place {
	spots := slices.SortedFunc(maps.Values(g.on), func(a, b *spot) int { return cmp.Compare(a.name, b.name) })
	var all []place
	by := map[string]int{}
	take := func(nodes []*spot, shared string) {
		var key strings.Builder
		for _, n := range nodes {
			key.WriteString(n.name)
			key.WriteByte(' ')
		}
		i, known := by[key.String()]
		if !known {
			i, all = len(all), append(all, place{nodes: nodes})
			by[key.String()] = i
		}
		all[i].shared = append(all[i].shared, shared)
	}
	sharing := map[[2]string]*[]*spot{}
	for _, one := range spots {
		if one.failing > 1 {
			take([]*spot{one}, "node "+one.name)
		}
		for name, value := range s.Traits[one.name] {
			key := [2]string{name, value}
			nodes := sharing[key]
			if nodes == nil {
				nodes = &[]*spot{}
				sharing[key] = nodes
			}
			*nodes = append(*nodes, one)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(sharing), func(a, b [2]string) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		if nodes := *sharing[key]; len(nodes) < len(g.on) { // what all share tells nothing
			take(nodes, key[0]+" "+key[1])
		}
	}
	return all
}

// strata compare the pods of a place with others of the same makers.
func (g *ground) strata(p place) []stratum {
	all := make([]stratum, len(g.makers))
	for i, t := range g.all {
		all[i].without = t
	}
	in := g.in(p)
	for i := range g.cells {
		if c := &g.cells[i]; in[c.node] {
			one := &all[c.maker]
			add(&one.with, c.Tally)
			add(&one.without, answer.Tally{Failing: -c.Failing, All: -c.All})
		}
	}
	return slices.DeleteFunc(all, func(s stratum) bool { return !s.tells() })
}

// sum adds strata up.
func sum(strata []stratum) (all stratum) {
	for _, s := range strata {
		add(&all.with, s.with)
		add(&all.without, s.without)
	}
	return all
}

// telling says whether most pods here fail and others do well.
func (s stratum) telling() bool {
	return float64(s.with.Failing) >= most*float64(s.with.All) && float64(s.without.Failing) <= few*float64(s.without.All)
}

// here is what is found of a place.
func (s Scene) here(f Fault, g *ground, p place, strata []stratum, likely float64) Finding {
	found := Finding{Fault: f, Pods: map[types.UID]bool{}}
	found.Kind, found.Name = answer.CommonNodes, prose.Some(p.shared)
	all := sum(strata)
	found.With, found.Without, found.Certainty = all.with, all.without, answer.Unknown
	failing, in := map[string]bool{}, g.in(p)
	for i := range s.Pods {
		q := &s.Pods[i]
		so, _ := q.fails(f)
		_, compared := g.makers[q.Maker]
		if at := g.on[NodeOf(q.Node)]; so && compared && at != nil && in[at.number] {
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
func byNode(g *ground, p place) float64 {
	var s stratum
	in := g.in(p)
	for _, n := range g.on {
		t := &s.without
		if in[n.number] {
			t = &s.with
		}
		if t.All++; n.failing > 0 {
			t.Failing++
		}
	}
	return chance([]stratum{s})
}

// Traits are what a node may share with others, by name.
type Traits map[string]string

// labels are those that say what kind of node it is, by what people call it. The list is
// closed: whoever asks about pods on a node may be told these, and of a thousand labels
// one fits by chance.
var labels = map[string]string{
	"topology.kubernetes.io/zone":      "zone",
	"node.kubernetes.io/instance-type": "instance type",
	"kubernetes.io/arch":               "architecture",
	"eks.amazonaws.com/nodegroup":      "node pool",
	"cloud.google.com/gke-nodepool":    "node pool",
	"kubernetes.azure.com/agentpool":   "node pool",
	"karpenter.sh/nodepool":            "node pool",
	"doks.digitalocean.com/node-pool":  "node pool",
	"node.kubernetes.io/pool":          "node pool",
	"node-pool":                        "node pool",
	"nodepool":                         "node pool",
	"pool":                             "node pool",
}

// TraitsOf reads what a node may share with others.
func TraitsOf(n *v1.Node) Traits {
	i := n.Status.NodeInfo
	t := Traits{"kernel": i.KernelVersion, "runtime": i.ContainerRuntimeVersion, "kubelet": i.KubeletVersion, "operating system": i.OSImage}
	for label, name := range labels {
		if value := n.Labels[label]; value != "" {
			t[name] = value
		}
	}
	for name, value := range t {
		if value == "" {
			delete(t, name)
		} else {
			t[name] = strings.Clone(value[:min(len(value), 253)]) // and not the whole object
		}
	}
	return t
}
