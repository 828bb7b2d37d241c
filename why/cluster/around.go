package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"whylet.dev/whylet/why/prose"
)

// Around is what the API server knows around a pod that has no node; a part is nil
// where nobody looked, or might not.
type Around struct {
	Storage Storage
	Nodes   []v1.Node
	// Pods lists the pods of all namespaces; nil if they are unknown. It is called only if the scheduler reports a lack of
	// resources or a host port in use, or nothing at all.
	Pods func() []v1.Pod
	// Within is set for who may see one namespace alone: the labels of nodes are not shown.
	Within bool
}

// scheduledSince reports whether any pod has been scheduled since a time. It is true if the pods are unknown.
func (a Around) scheduledSince(since time.Time) bool {
	pods := a.pods()
	return pods == nil || slices.ContainsFunc(pods, func(p v1.Pod) bool {
		c := conditionOf(&p, v1.PodScheduled)
		return c != nil && c.LastTransitionTime.After(since)
	})
}

func (a Around) pods() []v1.Pod {
	if a.Pods == nil {
		return nil
	}
	return a.Pods()
}

// ownTaints are those that the node lifecycle controller sets for a node's conditions,
// in words (k8s.io/api/core/v1, well_known_taints.go).
var ownTaints = map[string]string{
	v1.TaintNodeDiskPressure:       "is short of disk",
	v1.TaintNodeMemoryPressure:     "is short of memory",
	v1.TaintNodePIDPressure:        "is short of process ids",
	v1.TaintNodeNotReady:           "is not ready",
	v1.TaintNodeUnreachable:        "does not report",
	v1.TaintNodeNetworkUnavailable: "has no network",
	v1.TaintNodeOutOfService:       "is out of service",
}

// tainted says which taints keep a pod from which node, and a node that keeps pods
// out by itself; both are empty where the nodes are not known.
func (a Around) tainted(pod *v1.Pod) (words, sick string) {
	var all []string
	for i := range a.Nodes {
		n := &a.Nodes[i]
		for _, t := range n.Spec.Taints {
			if t.Effect == v1.TaintEffectPreferNoSchedule || corev1helpers.TolerationsTolerateTaint(logr.Discard(), pod.Spec.Tolerations, &t, false) {
				continue
			}
			own, ok := ownTaints[t.Key]
			if !ok {
				all = append(all, fmt.Sprintf("node %s has the taint %s", n.Name, t.ToString()))
				continue
			}
			all, sick = append(all, fmt.Sprintf("node %s %s", n.Name, own)), n.Name
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if len(all) > 5 {
		all = append(all[:5], "and more")
	}
	return strings.Join(all, ", "), sick
}

// KeepsOut says which taints keep pods of a template from the nodes that have the labels that they require; empty where
// none does.
func (a Around) KeepsOut(template *v1.PodTemplateSpec) string {
	pod := &v1.Pod{Spec: template.Spec}
	required := nodeaffinity.GetRequiredNodeAffinity(pod)
	var fit Around
	for i := range a.Nodes {
		if ok, err := required.Match(&a.Nodes[i]); ok && err == nil {
			fit.Nodes = append(fit.Nodes, a.Nodes[i])
		}
	}
	taints, _ := fit.tainted(pod)
	return taints
}

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
