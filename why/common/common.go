package common

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
	"unique"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/prose"
)

// Maker is what made a pod: a workload, at one of its revisions.
type Maker struct {
	Namespace, Kind, Name string
	// Revision is the hash of the template.
	Revision string
}

func (m Maker) compare(other Maker) int {
	return cmp.Or(cmp.Compare(m.Namespace, other.Namespace), cmp.Compare(m.Kind, other.Kind), cmp.Compare(m.Name, other.Name), cmp.Compare(m.Revision, other.Revision))
}

// MakerOf reads what made a pod; the zero Maker where nothing did.
func MakerOf(pod *v1.Pod) Maker {
	kind, name := fact.Workload(pod)
	if name == "" {
		return Maker{}
	}
	return Maker{pod.Namespace, kind, name, cmp.Or(pod.Labels["pod-template-hash"], pod.Labels["controller-revision-hash"])}
}

// Workload is the maker at whatever revision.
func (m Maker) Workload() Maker {
	m.Revision = ""
	return m
}

// Fault is what a pod fails for. Of a cause that is not known the symptom says what is
// alike.
type Fault struct {
	Cause   answer.Cause
	Symptom answer.SymptomKind
}

// Pod is a pod as it is compared.
type Pod struct {
	UID             types.UID
	Namespace, Node string
	Maker           Maker
	// Faults are what it fails for; none: it does well. Apart is set where neither can be
	// said: it failed a while ago, or nobody knows.
	Faults []Fault
	Apart  bool
	// Asks are the places that it asks for something and that fail it, by its own words.
	Asks []string
}

// Crowd are pods of one maker that do well: of those it matters only where they are, and how
// many. A question would copy fifty thousand else.
type Crowd struct {
	Maker Maker
	On    []Share
}

// Share are those of them on one node.
type Share struct {
	Node Node
	Pods int
}

// Node is the name of one, which is found faster than by its letters.
type Node = unique.Handle[string]

// NodeOf is a node by its name.
func NodeOf(name string) Node { return unique.Make(name) }

func (c Crowd) pods() (n int) {
	for _, on := range c.On {
		n += on.Pods
	}
	return n
}

// Scene is what there is to compare.
type Scene struct {
	Pods []Pod
	// Crowds are pods beside those.
	Crowds []Crowd
	// Traits are what nodes can have in common, by node.
	Traits map[string]Traits
	// Asked are the pods that it is asked about: what others alone have in common is not
	// looked for. nil: all of them.
	Asked map[types.UID]bool
}

// Only removes the pods of all other namespaces. An asker who may see a single namespace must
// not learn even how many pods elsewhere fail alike: the number would confirm a guessed
// dependency of somebody else.
func (s *Scene) Only(namespace string) {
	s.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(p Pod) bool { return p.Namespace != namespace })
	s.Crowds = slices.DeleteFunc(slices.Clone(s.Crowds), func(c Crowd) bool { return c.Maker.Namespace != namespace })
}

// Finding is something that pods which fail alike have in common.
type Finding struct {
	answer.Common
	Fault Fault
	// Pods are those that fail so and have it.
	Pods map[types.UID]bool
	// Maker is set for a revision, Before to those of other revisions that do well.
	Maker  Maker
	Before []string

	// alone is set where all that fail are on one node on which no other pod that is
	// compared does well: then that may be why as well.
	alone bool
}

// noFaults are causes that somebody wanted.
var noFaults = []answer.Cause{answer.None, answer.Deleted, answer.RolledOut, answer.ScaledDown, answer.Suspended}

// past is how long ago an end may be for the pod to count as one that fails.
const past = time.Hour

// Judge puts into a pod what the answer about it says; nil: it does well.
func (p *Pod) Judge(a *answer.Answer) {
	p.Faults, p.Asks, p.Apart = nil, nil, false
	if a == nil {
		return
	}
	waits := false // it may fail for what it asks for
	for i, s := range a.Symptoms {
		v := a.Verdicts[i]
		switch {
		case answer.WellOrDone(s, v) || slices.Contains(noFaults, v.Cause):
			p.Apart = p.Apart || v.Certainty == answer.Unknown
		case s.Kind == answer.Terminating || s.Kind == answer.Disappeared, s.Kind == answer.Restarted && !s.Last.IsZero() && a.AsOf.Sub(s.Last) > past:
			p.Apart = true
		default:
			if f := FaultOf(s, v); !slices.Contains(p.Faults, f) {
				p.Faults = append(p.Faults, f)
			}
			waits = waits || cluster.MayLead(v) || v.Pod != ""
		}
	}
	p.Apart = p.Apart && len(p.Faults) == 0
	for _, r := range a.Reaches {
		if waits && r.How != answer.ReachOpen && !slices.Contains(p.Asks, r.Place) {
			p.Asks = append(p.Asks, r.Place)
		}
	}
}

// FaultOf is what a verdict stands for when pods are compared: where it leads to another pod,
// what the pod's own node said before it was followed there ([cluster.Lead]).
func FaultOf(s answer.Symptom, v answer.Verdict) Fault {
	cause := v.Cause
	if len(v.Hops) > 0 {
		cause = v.Own
	}
	if cause == answer.CauseUnknown {
		return Fault{cause, s.Kind}
	}
	return Fault{Cause: cause}
}

// fails says whether a pod fails so, and whether it can be compared: it does, or does well.
func (p *Pod) fails(f Fault) (so, compared bool) {
	so = slices.Contains(p.Faults, f)
	return so, so || len(p.Faults) == 0 && !p.Apart
}

// Find finds what pods that fail alike have in common, the most pods first.
func Find(s Scene) []Finding {
	var all []Finding
	for _, f := range s.faults() {
		all = append(all, s.revisions(f)...)
		all = append(all, s.nodes(f)...)
	}
	all = append(all, s.dependencies()...)
	slices.SortStableFunc(all, func(a, b Finding) int {
		return cmp.Or(-cmp.Compare(a.With.Failing, b.With.Failing), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// faults are those that any pod has, in an order that does not depend on that of the pods.
func (s Scene) faults() []Fault {
	var all []Fault
	for i := range s.Pods {
		if s.Asked != nil && !s.Asked[s.Pods[i].UID] {
			continue
		}
		for _, f := range s.Pods[i].Faults {
			if !slices.Contains(all, f) {
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.Symptom, b.Symptom))
	})
	return all
}

// workloads are those of the pods that it is asked about.
func (s Scene) workloads() map[Maker]bool {
	all := map[Maker]bool{}
	for i := range s.Pods {
		if s.Asked == nil || s.Asked[s.Pods[i].UID] {
			all[s.Pods[i].Maker.Workload()] = true
		}
	}
	return all
}

// share and verb word how many of some pods fail.
func share(t answer.Tally) string {
	return fmt.Sprintf("%d of %s", t.Failing, prose.Plural(t.All, "pod"))
}

func verb(n int) string {
	if n == 1 {
		return "fails"
	}
	return "fail"
}

// dependencies are the places that several pods ask for something and that fail them. How
// those do that ask there and are well is not known: a pod that is well says nothing.
func (s Scene) dependencies() []Finding {
	by := map[string][]*Pod{}
	for i := range s.Pods {
		p := &s.Pods[i]
		for _, place := range p.Asks {
			if len(p.Faults) > 0 && !slices.Contains(by[place], p) {
				by[place] = append(by[place], p)
			}
		}
	}
	var all []Finding
	for _, place := range slices.Sorted(maps.Keys(by)) {
		if pods := by[place]; len(pods) > 1 {
			all = append(all, dependency(place, pods))
		}
	}
	return all
}

func dependency(place string, pods []*Pod) Finding {
	f := Finding{Common: answer.Common{Kind: answer.CommonDependency, Name: place, Certainty: answer.Inferred, With: answer.Tally{Failing: len(pods), All: len(pods)}}, Pods: map[types.UID]bool{}}
	nodes := map[string]bool{}
	for _, p := range pods {
		f.Pods[p.UID] = true
		if p.Node != "" {
			nodes[p.Node] = true
		}
	}
	f.Nodes = len(nodes)
	f.Text = fmt.Sprintf("%s on %s fail, and say that %s fails them.", prose.Upper(prose.Plural(len(pods), "pod")), prose.Plural(f.Nodes, "node"), place)
	if f.Nodes < 2 {
		f.Certainty = answer.Unknown
		f.Text = fmt.Sprintf("%s fail, and say that %s fails them. All are on one node, so that the way from there may be why as well.", prose.Upper(prose.Plural(len(pods), "pod")), place)
	}
	return f
}
