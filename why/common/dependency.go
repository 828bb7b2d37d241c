package common

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

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
