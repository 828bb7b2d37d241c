package common

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// unlikely is how likely chance may be at most for a revision to be why: one is compared,
// and it brought something.
const unlikely = 0.05

// revisions finds workloads of which the pods of one revision all fail so and those of
// the others do not.
func (s Scene) revisions(f Fault) []Finding {
	of, workloads := map[Maker]map[string]answer.Tally{}, s.workloads() // by workload and revision
	count := func(m Maker, more answer.Tally) {
		w := m.Workload()
		if more.All == 0 || m.Revision == "" || !workloads[w] {
			return
		}
		if of[w] == nil {
			of[w] = map[string]answer.Tally{}
		}
		t := of[w][m.Revision]
		add(&t, more)
		of[w][m.Revision] = t
	}
	for i := range s.Pods {
		switch so, compared := s.Pods[i].fails(f); {
		case so:
			count(s.Pods[i].Maker, answer.Tally{Failing: 1, All: 1})
		case compared:
			count(s.Pods[i].Maker, answer.Tally{All: 1})
		}
	}
	for _, c := range s.Crowds {
		count(c.Maker, answer.Tally{All: c.pods()})
	}
	var all []Finding
	for w, revisions := range of {
		if one, ok := s.revision(f, w, revisions); ok {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Finding) int { return a.Maker.compare(b.Maker) })
	return all
}

// revision is the one revision of a workload whose pods all fail so, while none of the
// others do.
func (s Scene) revision(f Fault, w Maker, revisions map[string]answer.Tally) (Finding, bool) {
	found := Finding{Fault: f, Pods: map[types.UID]bool{}}
	for _, name := range slices.Sorted(maps.Keys(revisions)) {
		switch t := revisions[name]; {
		case t.Failing == t.All && found.Maker == (Maker{}):
			found.Maker = Maker{w.Namespace, w.Kind, w.Name, name}
			found.With = t
		case t.Failing > 0:
			return found, false // it fails with several, or not always with this one
		default:
			found.Before = append(found.Before, name)
			found.Without.All += t.All
		}
	}
	if found.With.All == 0 || found.Without.All == 0 {
		return found, false
	}
	found.Kind = answer.CommonRevision
	well, nodes := map[string]bool{}, map[string]bool{}
	for i := range s.Pods {
		p := &s.Pods[i]
		switch so, compared := p.fails(f); {
		case so && p.Maker == found.Maker:
			found.Pods[p.UID], nodes[p.Node] = true, true
		case compared && !so:
			well[p.Node] = true
		}
	}
	found.Nodes = len(nodes)
	for node := range nodes {
		found.alone = len(nodes) == 1 && !well[node] && !s.crowded(NodeOf(node))
	}
	found.Settle("", nil)
	return found, true
}

// crowded says whether pods of a crowd are on a node.
func (s Scene) crowded(node Node) bool {
	return slices.ContainsFunc(s.Crowds, func(c Crowd) bool {
		return slices.ContainsFunc(c.On, func(on Share) bool { return on.Node == node })
	})
}

// Settle words what is found of a revision once it is known what people call it, and what
// it changed.
func (f *Finding) Settle(number string, changes []Change) {
	which := "template " + f.Maker.Revision
	if number != "" {
		which = "revision " + number
	}
	f.Name = fmt.Sprintf("%s/%s, %s", strings.ToLower(f.Maker.Kind), f.Maker.Name, which)
	f.Certainty, f.Changes = answer.Unknown, nil
	verdict := "too few to say that it came with " + which
	fits := slices.ContainsFunc(changes, func(c Change) bool { return slices.Contains(c.fits, f.Fault.Cause) })
	switch likely := chance([]stratum{{f.With, f.Without}}) <= unlikely; {
	case fits || likely && !f.alone:
		f.Certainty, verdict = answer.Inferred, "it came with "+which
	case likely:
		verdict = "all are on one node on which no other does well, which may be why as well as " + which
	}
	f.Text = fmt.Sprintf("%s of %s %s so, and %d of %d of other revisions: %s.", share(f.With), which, verb(f.With.Failing), f.Without.Failing, f.Without.All, verdict)
	for _, c := range changes {
		f.Changes = append(f.Changes, c.Text)
	}
	if len(f.Changes) > 0 {
		f.Text += " What changed: " + prose.Some(f.Changes) + "."
	}
}
