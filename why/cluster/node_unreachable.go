package cluster

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// NodeUnreachable answers about a node that reports, and whose kubelet the API server cannot reach. node may be nil.
func NodeUnreachable(name string, node *v1.Node, reason string, now time.Time) answer.Answer {
	subject := answer.Subject{Kind: "Node", Name: name}
	if node != nil {
		subject.UID = node.UID
	}
	return single(subject, now, answer.UnknownNode, "the API server cannot reach it", unknown(
		fmt.Sprintf("The API server cannot reach the kubelet of node %s (%s). kubectl logs and kubectl exec fail for its pods as well.", name, prose.Brief(reason, kept)),
		"Whether the kubelet, its certificate or the network between them is at fault shows on the node.",
		kubectl.Inspect("see whether its kubelet answers", kubectl.Command("", "get --raw /api/v1/nodes/%s/proxy/healthz", name)),
		kubectl.OnNode("see whether its kubelet runs", "systemctl status kubelet"),
	))
}

// IsLost reports whether a node does not exist, or is not Ready.
func IsLost(node *v1.Node) bool {
	c := ready(node)
	return node == nil || c != nil && c.Status != v1.ConditionTrue
}
