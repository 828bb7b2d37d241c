package cluster

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/prose"
)

// asksOfNodes are the labels that a pod requires of its node: its nodeSelector, and the node affinity that is required.
// Of several terms of affinity one is enough.
func asksOfNodes(pod *v1.Pod) (all []v1.NodeSelectorRequirement, anyTerm bool) {
	for key, value := range pod.Spec.NodeSelector {
		all = append(all, v1.NodeSelectorRequirement{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}})
	}
	slices.SortFunc(all, func(a, b v1.NodeSelectorRequirement) int { return strings.Compare(a.Key, b.Key) })
	if a := pod.Spec.Affinity; a != nil && a.NodeAffinity != nil && a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil {
		terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		anyTerm = len(terms) > 1
		for _, term := range terms {
			all = append(all, term.MatchExpressions...)
		}
	}
	return all, anyTerm
}

func asksForLabels(pod *v1.Pod) bool {
	all, _ := asksOfNodes(pod)
	return len(all) > 0
}

// requires writes a requirement as kubectl does.
func requires(r v1.NodeSelectorRequirement) string {
	switch {
	case r.Operator == v1.NodeSelectorOpIn && len(r.Values) == 1:
		return r.Key + "=" + r.Values[0]
	case len(r.Values) == 0:
		return fmt.Sprintf("%s %s", r.Key, r.Operator)
	}
	return fmt.Sprintf("%s %s (%s)", r.Key, r.Operator, prose.Some(r.Values))
}

// labelled says which labels a pod requires of its node, in brackets, and which of them no node has, with what
// nodes have in their place. Where the nodes are not known it says only the first.
func (a Around) labelled(pod *v1.Pod) (asks, none string) {
	var wanted, lacking []string
	all, anyTerm := asksOfNodes(pod)
	for _, r := range all {
		wanted = append(wanted, requires(r))
		if anyTerm || a.Within {
			continue
		}
		if said := a.without(r); said != "" && !slices.Contains(lacking, said) {
			lacking = append(lacking, said)
		}
	}
	if len(wanted) == 0 {
		return "", ""
	}
	return fmt.Sprintf(" (%s)", strings.Join(wanted, ", ")), strings.Join(lacking, "; ")
}

// without says that no node has what a requirement asks for; empty where one has it, or nobody knows.
func (a Around) without(r v1.NodeSelectorRequirement) string {
	if len(a.Nodes) == 0 || r.Operator != v1.NodeSelectorOpIn && r.Operator != v1.NodeSelectorOpExists {
		return ""
	}
	var keys, values []string
	for i := range a.Nodes {
		for key, value := range a.Nodes[i].Labels {
			keys = append(keys, key)
			if key == r.Key {
				values = append(values, value)
			}
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	switch {
	case len(values) == 0:
		said := fmt.Sprintf("no node has the label %s", r.Key)
		if near := prose.Nearest(r.Key, keys); near != "" {
			said += fmt.Sprintf("; did you mean %s?", near)
		}
		return said
	case r.Operator == v1.NodeSelectorOpExists, slices.ContainsFunc(r.Values, func(v string) bool { return slices.Contains(values, v) }):
		return ""
	}
	said := fmt.Sprintf("no node has %s: nodes have %s=%s", requires(r), r.Key, prose.Some(values))
	if near := prose.Nearest(r.Values[0], values); near != "" && len(values) > 1 {
		said += fmt.Sprintf("; did you mean %s?", near)
	}
	return said
}
