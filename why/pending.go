package why

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// Unscheduled answers for a pod that no node has been chosen for: no node has
// facts about it, and all there is to know is the scheduler's own condition, and
// what is around it.
func Unscheduled(pod *v1.Pod, around Around, now time.Time) answer.Answer {
	h := NewHistory(fact.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, nil, nil, nil)
	h.Object, h.now = pod, now
	a := answer.Answer{
		APIVersion: answer.APIVersion, Kind: answer.Kind, AsOf: now, Journal: answer.Coverage{Complete: true},
		Subject: answer.Subject{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	since := pod.CreationTimestamp.Time
	s := answer.Symptom{ID: "s1", Kind: answer.Pending, Count: 1, First: since, Last: now, Text: "it has no node, since " + prose.Span(max(now.Sub(since), 0))}
	a.Symptoms = []answer.Symptom{s}
	v := h.pending(conditionOf(pod.Status.Conditions, v1.PodScheduled), around)
	v.Text += v.Missing
	a.Verdicts = []answer.Verdict{v}
	return a
}

// pending reads the scheduler's message: "0/3 nodes are available: 1 Insufficient
// cpu, 2 node(s) didn't match Pod's node affinity/selector." It is made for
// people, and there is nothing else (scheduler framework, types.go, FitError).
func (h *History) pending(c *v1.PodCondition, around Around) answer.Verdict {
	if c == nil || c.Message == "" {
		if f, ok := h.foreignScheduler(); ok {
			return f.verdict("s1", "", nil)
		}
		return undecided("s1", "", "The pod has no node, and the scheduler has not said why.", nil, nil, "Is the scheduler running?", h.inspect("see whether it runs", "kubectl get events -A --field-selector source=default-scheduler"))
	}
	// What follows is about preemption, which could not help either.
	message, _, _ := strings.Cut(c.Message, " no new claims to deallocate")
	message, _, _ = strings.Cut(message, " preemption:")
	message = prose.Brief(message, 240)
	says := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(message, p) {
				return true
			}
		}
		return false
	}
	f := finding{rule: "scheduler-message", weight: strong, text: fmt.Sprintf("No node can take the pod: %s", message)}
	f.fixes = []answer.Fix{h.describeFix()}
	switch {
	case c.Reason == v1.PodReasonSchedulingGated:
		f.cause, f.text = answer.SchedulingGate, "The pod has a scheduling gate that nobody has removed: "+message
	case says("volume node affinity"):
		f.cause, f.text = answer.VolumeUnbound, "The volume of one of the pod's claims is on another node than those that could take the pod: "+message
		f.fixes = []answer.Fix{h.inspect("see where it is", h.kubectl("describe pvc,pv"))}
	case says("persistentvolumeclaim", "unbound immediate", "didn't find available persistent volumes", "StorageClass"):
		f.cause, f.text = answer.VolumeUnbound, "A volume claim of the pod is missing or not bound, so it gets no node: "
		if words := around.Storage.unbound(h.Object); words != "" {
			f.text += words + ". The scheduler says: "
		}
		f.text += message
		f.fixes = []answer.Fix{h.inspect("see the claims", h.kubectl("get pvc,pv,storageclass")), {Text: "create the claim, or a volume that fits it, or the StorageClass that is to make one", Risk: answer.Safe}}
	case says("Insufficient", "Too many pods"):
		f.cause, f.text = answer.InsufficientResources, "No node has room for what the pod requests: "+message
		f.fixes = []answer.Fix{h.inspect("see what is left", "kubectl describe nodes | grep -A8 'Allocated resources'"), h.specFix("request less, or add a node")}
	case says("free ports"):
		f.cause, f.text = answer.NoMatchingNode, "No node has the host port free that the pod asks for: "+message
		f.fixes = []answer.Fix{h.inspect("see who has it", `kubectl get pods -A -o custom-columns=NS:.metadata.namespace,NAME:.metadata.name,PORTS:.spec.containers[*].ports[*].hostPort`), h.specFix("do without hostPort (a Service needs none), or choose another")}
	case says("were unschedulable") && !says("affinity", "selector", "taint"):
		f.cause, f.text = answer.NoMatchingNode, "The nodes that could take the pod are cordoned, so no new pods are placed there: "+message
		f.fixes = []answer.Fix{h.inspect("see which", "kubectl get nodes"), {Text: "let pods be placed there again", Command: "kubectl uncordon NODE", Risk: answer.Safe}}
	case says("taint") && !says("affinity", "selector"):
		h.keptOut(&f, around, message)
	case says("affinity", "selector", "taint", "unschedulable", "didn't match", "topology spread"):
		f.cause, f.text = answer.NoMatchingNode, "No node matches what the pod asks for: "+message
		f.fixes = []answer.Fix{h.inspect("compare labels and taints", "kubectl get nodes --show-labels"), h.specFix("correct nodeSelector, affinity or tolerations, or label a node")}
	default:
		return undecided("s1", "", f.text, nil, nil, "The scheduler's words fit no cause that is known here.", h.describeFix())
	}
	return f.verdict("s1", "", nil)
}

// keptOut is about taints. Those of a node that is short of something go by themselves.
func (h *History) keptOut(f *finding, around Around, message string) {
	words, sick := around.tainted(h.Object)
	f.cause, f.text = answer.NoMatchingNode, "The nodes that could take the pod have a taint that it does not tolerate: "
	if words != "" {
		f.text += words + ". The scheduler says: "
	}
	f.text += message
	if sick != "" {
		f.fixes = []answer.Fix{{Text: "find out what is the matter with the node; pods come when it is over", Command: "kubectl why node/" + sick, Risk: answer.Inspect}}
		return
	}
	f.fixes = []answer.Fix{h.inspect("see the taints", "kubectl describe nodes | grep -A3 Taints"), h.specFix("add a toleration, or take the taint from the node")}
}

// heard is how long a scheduler may take to say something about a pod.
const heard = 10 * time.Second

// foreignScheduler is about a pod that asks for a scheduler of its own.
func (h *History) foreignScheduler() (finding, bool) {
	name := h.Object.Spec.SchedulerName
	if name == "" || name == v1.DefaultSchedulerName || h.now.Sub(h.Object.CreationTimestamp.Time) < heard {
		return finding{}, false
	}
	return finding{
		cause: answer.SchedulerMissing, rule: "foreign-scheduler", weight: strong,
		text:  fmt.Sprintf("The pod asks for the scheduler %s, and none of that name has said anything about it.", name),
		fixes: []answer.Fix{h.specFix("leave schedulerName out, or start a scheduler of that name")},
	}, true
}
