package cluster

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Around is what the API server knows around a pod that has no node; a part is nil
// where nobody looked, or might not.
type Around struct {
	Storage Storage
	Nodes   []v1.Node
	// Within is set for who may see one namespace alone: the labels of nodes are not shown.
	Within bool
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
			if t.Effect == v1.TaintEffectPreferNoSchedule || slices.ContainsFunc(pod.Spec.Tolerations, func(k v1.Toleration) bool { return tolerates(k, t) }) {
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

// tolerates is a toleration of a taint by its words; the numeric operators of
// KEP 5471 count as not tolerating.
func tolerates(k v1.Toleration, t v1.Taint) bool {
	return (k.Effect == "" || k.Effect == t.Effect) && (k.Key == "" || k.Key == t.Key) &&
		(k.Operator == v1.TolerationOpExists || k.Operator != v1.TolerationOpGt && k.Operator != v1.TolerationOpLt && k.Value == t.Value)
}
