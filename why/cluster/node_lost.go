package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// NodeLostAnswer answers for a pod whose node does not answer: ok is false when
// the node is there and Ready, and the question failed for another reason.
func NodeLostAnswer(pod *v1.Pod, node *v1.Node, now time.Time) (a answer.Answer, ok bool) {
	a = answer.New(SubjectOf("Pod", pod), now, answer.Coverage{})
	f := inferred(answer.NodeLost, "node-not-ready", fmt.Sprintf("Node %s does not exist any more.", pod.Spec.NodeName),
		kubectl.Inspect("see whether the machine lives", kubectl.Command("", "describe node %s", pod.Spec.NodeName)))
	s := answer.Symptom{Kind: answer.UnknownNode, Count: 1, Last: now, Text: "its state is not known"}
	if c := ready(node); c != nil && node.Name != "" {
		if c.Status == v1.ConditionTrue {
			return a, false
		}
		s.First = c.LastTransitionTime.Time
		ago, says := prose.Span(now.Sub(s.First)), strings.TrimSuffix(prose.Brief(c.Message, kept), ".")
		f.Text = fmt.Sprintf("Node %s stopped reporting %s ago (last heard %s): %s.", node.Name, ago, c.LastHeartbeatTime.Format(time.TimeOnly), says)
		if c.Status == v1.ConditionFalse {
			s.Kind, s.Text = answer.NotReady, "the node is NotReady"
			f = saysNotReady(node.Name, ago, c.Message)
		}
	}
	if never, ok := neverTaken(pod, node); ok {
		s.Kind, s.First, s.Text, f = answer.Pending, pod.CreationTimestamp.Time, "no node has taken it", never
	}
	a.Put(s, f)
	return a, true
}

// LacksNetwork reports whether a node is not Ready because no network plugin works there.
func LacksNetwork(node *v1.Node) bool {
	c := ready(node)
	return c != nil && c.Status == v1.ConditionFalse && (strings.Contains(c.Message, "NetworkReady=false") || strings.Contains(c.Message, "network plugin"))
}

// ready is the condition Ready of a node; nil where it has none, or there is no node.
func ready(node *v1.Node) *v1.NodeCondition {
	if node == nil {
		return nil
	}
	return first(node.Status.Conditions, func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady })
}

// FailsByItself reports whether a pod on a node that is not Ready has failures of its own: the node's kubelet reports
// them still, so the node is up, and containers that ran had what the node lacks.
func FailsByItself(pod *v1.Pod, node *v1.Node) bool {
	c := ready(node)
	return c != nil && c.Status == v1.ConditionFalse && slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), func(c v1.ContainerStatus) bool {
		return c.RestartCount > 0 && (c.State.Waiting != nil || c.State.Terminated != nil && c.State.Terminated.ExitCode != 0)
	})
}

// cniFolders are where the container runtime looks for network plugins and their configuration.
var cniFolders = []string{"/etc/cni", "/opt/cni"}

// NetworkPods are the pods of network plugins that are not Ready: pods of DaemonSets in their node's own network that
// mount a folder of CNI.
func NetworkPods(pods []v1.Pod) []v1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p v1.Pod) bool {
		owner := metav1.GetControllerOfNoCopy(&p)
		mounts := slices.ContainsFunc(p.Spec.Volumes, func(v v1.Volume) bool {
			return v.HostPath != nil && slices.ContainsFunc(cniFolders, func(f string) bool { return strings.HasPrefix(v.HostPath.Path, f) })
		})
		return !p.Spec.HostNetwork || owner == nil || owner.Kind != "DaemonSet" || LooksWell(&p) || !mounts
	})
}

// saysNotReady is about a node whose kubelet reports, and reports that it is not Ready (kubelet's
// nodestatus.ReadyCondition has the reasons).
func saysNotReady(node, ago, message string) answer.Verdict {
	f := answer.Verdict{
		Cause: answer.NodeLost, Rule: "node-not-ready", Certainty: answer.Recorded,
		Text:  fmt.Sprintf("Node %s has been NotReady for %s. Its kubelet says: %s.", node, ago, strings.TrimSuffix(prose.Brief(message, kept), ".")),
		Fixes: []answer.Fix{kubectl.Inspect("see all that it reports", kubectl.Command("", "describe node %s", node))},
	}
	switch {
	case strings.Contains(message, "network"):
		f.Cause = answer.RuntimeFailed
		f.Fixes = append(f.Fixes, kubectl.Inspect("see how the pods of its network plugin are", kubectl.Command("", "get pods -A -o wide --field-selector spec.nodeName=%s", node)),
			answer.Fix{Text: "if none is there, or it fails: install the network plugin, or mend what kubectl why says of its pod", Risk: answer.Safe})
	case strings.Contains(message, "runtime"), strings.Contains(message, "PLEG"):
		f.Cause = answer.RuntimeFailed
		f.Fixes = append(f.Fixes, kubectl.OnNode("see whether the container runtime runs, and why not", "systemctl status containerd crio; crictl info"),
			answer.Fix{Text: "if it does not run: mend what its log names, and start it; the node then becomes Ready by itself", Risk: answer.Safe})
	}
	return f
}

// neverTaken is about a pod whose own spec names a node that is not there. A pod
// that a scheduler placed has its condition, one that a node took has a start.
func neverTaken(pod *v1.Pod, node *v1.Node) (answer.Verdict, bool) {
	if node != nil && node.Name != "" || pod.Status.StartTime != nil || conditionOf(pod, v1.PodScheduled) != nil {
		return answer.Verdict{}, false
	}
	return inferred(answer.NoMatchingNode, "not-scheduled", fmt.Sprintf("The pod's own nodeName asks for node %s, and there is none of that name.", pod.Spec.NodeName),
		kubectl.EditTemplate(pod.Namespace, pod, "correct nodeName, or leave it out, for the scheduler to choose"), kubectl.Inspect("see which nodes there are", "kubectl get nodes")), true
}

// StillThere corrects what a node says of a pod that it has let go, and whose
// object its finalizers keep.
func StillThere(a *answer.Answer, pod *v1.Pod) {
	if pod.UID != a.Subject.UID || pod.DeletionTimestamp == nil || len(pod.Finalizers) == 0 {
		return
	}
	for i := range a.Symptoms {
		if a.Symptoms[i].Kind != answer.Disappeared {
			continue
		}
		a.Symptoms[i].Kind, a.Symptoms[i].Text = answer.Terminating, "its node is done with it, and the object is still there"
		kubectl.Kept(&a.Verdicts[i], pod)
	}
}

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
