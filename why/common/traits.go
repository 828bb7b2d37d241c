package common

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

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
