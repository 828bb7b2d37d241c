package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/shell"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// Unscheduled answers for a pod that no node has been chosen for: no node has
// facts about it, and all there is to know is the scheduler's own condition, and
// what is around it.
func Unscheduled(pod *v1.Pod, around Around, now time.Time) answer.Answer {
	a := answer.New(SubjectOf("Pod", pod), now, answer.Coverage{Complete: true})
	since := pod.CreationTimestamp.Time
	a.Put(answer.Symptom{Kind: answer.Pending, Count: 1, First: since, Last: now, Text: "it has not been scheduled for " + prose.Span(max(now.Sub(since), 0))}, pending(pod, around, now))
	return a
}

// pending reads the scheduler's message: "0/3 nodes are available: 1 Insufficient
// cpu, 2 node(s) didn't match Pod's node affinity/selector." It is made for
// people, and there is nothing else (scheduler framework, types.go, FitError).
func pending(pod *v1.Pod, around Around, now time.Time) answer.Verdict {
	c := conditionOf(pod, v1.PodScheduled)
	if c == nil || c.Message == "" {
		if f, ok := foreignScheduler(pod, now); ok {
			return f
		}
		if f, ok := noScheduler(pod, around, now); ok {
			return f
		}
		return unknown("The pod has no node, and the scheduler has not said why.", "Is the scheduler running?", kubectl.Inspect("see whether it runs", "kubectl get events -A --field-selector source=default-scheduler"))
	}
	message := prose.Brief(words.Scheduler(c.Message), 240)
	says := func(one ...*knowledge.Known) bool { return knowledge.Any(message, one...) }
	f := inferred("", "not-scheduled", fmt.Sprintf("No node can take the pod: %s", message), describe(pod))
	switch {
	case c.Reason == v1.PodReasonSchedulingGated:
		gated(&f, pod)
	case says(knowledge.VolumeElsewhere):
		f.Cause, f.Text = answer.VolumeUnbound, "The volume of one of the pod's claims is on another node than those that could take the pod: "+message
		f.Fixes = []answer.Fix{kubectl.Inspect("see where it is", kubectl.Command(pod.Namespace, "describe pvc,pv"))}
	case says(knowledge.ClaimWaits):
		f.Cause, f.Text = answer.VolumeUnbound, "A volume claim of the pod is missing or not bound, so it gets no node: "
		if claims := around.Storage.unbound(pod); claims != "" {
			f.Text += claims + ". The scheduler says: "
		}
		f.Text += message
		f.Fixes = append(around.Storage.steps(pod), seeClaims(pod.Namespace))
	case says(knowledge.NoRoom):
		noRoom(&f, pod, around, message)
	case says(knowledge.PortTaken):
		portTaken(&f, pod, around, message)
	case says(knowledge.TopologySpread):
		unspread(&f, pod, message)
	case says(knowledge.Cordoned) && !says(knowledge.LabelsDiffer, knowledge.Tainted):
		f.Cause, f.Text = answer.NoMatchingNode, "The nodes that could take the pod are cordoned, so no new pods are placed there: "+message
		f.Fixes = []answer.Fix{{Text: "let pods be placed on the cordoned nodes again", Command: uncordon(around.Nodes), Risk: answer.Safe}, kubectl.Inspect("see which nodes are cordoned", "kubectl get nodes")}
	case says(knowledge.VolumeLimit):
		f.Cause, f.Text = answer.InsufficientResources, "The nodes that could take the pod have as many volumes attached as they may: "+message
		f.Fixes = []answer.Fix{{Text: "add a node, or delete pods with volumes that are not needed: each node has a limit of its own (allocatable.count of its CSINode)", Risk: answer.Limits}, kubectl.Inspect("see how many each node has", "kubectl get volumeattachments -o custom-columns='NODE:.spec.nodeName' --no-headers | sort | uniq -c")}
	case says(knowledge.Tainted) && !says(knowledge.LabelsDiffer):
		keptOut(&f, pod, around, message)
	case says(knowledge.LabelsDiffer, knowledge.Tainted, knowledge.NodesDiffer):
		asks, none := around.labelled(pod)
		if knowledge.AntiAffinity.In(message) && asks == "" {
			f.Cause, f.Text = answer.NoMatchingNode, "The pod's podAntiAffinity keeps it from every node, because pods that it may not run beside are there: "+message
			f.Fixes = []answer.Fix{kubectl.EditTemplate(pod.Namespace, pod, "run no more replicas than nodes, add a node, or make the podAntiAffinity preferred instead of required"), kubectl.Inspect("see on which nodes the other pods run", kubectl.Command(pod.Namespace, "get pods -o wide"))}
			break
		}
		f.Cause, f.Text = answer.NoMatchingNode, "No node matches what the pod asks for"+asks+": "
		if none != "" {
			f.Text += none + ". The scheduler says: "
		}
		f.Text += message
		f.Fixes = []answer.Fix{kubectl.EditTemplate(pod.Namespace, pod, "correct the pod's nodeSelector, affinity or tolerations, or label a node"), kubectl.Inspect("see the labels of all nodes", "kubectl get nodes --show-labels")}
	default:
		return unknown(fmt.Sprintf("No node can take the pod: %s", message), "The scheduler's words fit no cause that is known here.", describe(pod))
	}
	return f
}

// unspread is about topologySpreadConstraints that no node satisfies.
func unspread(f *answer.Verdict, pod *v1.Pod, message string) {
	var keys []string
	for _, c := range pod.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable == v1.DoNotSchedule && !slices.Contains(keys, c.TopologyKey) {
			keys = append(keys, c.TopologyKey)
		}
	}
	over := strings.Join(keys, " and ")
	soften := kubectl.EditTemplate(pod.Namespace, pod, "set whenUnsatisfiable of that constraint to ScheduleAnyway, or raise its maxSkew")
	f.Cause = answer.NoMatchingNode
	if knowledge.NoTopologyLabel.In(message) && len(keys) > 0 {
		f.Text = fmt.Sprintf("The pod has to be spread over %s (topologySpreadConstraints), and the nodes that could take it lack that label: %s", over, message)
		f.Fixes = []answer.Fix{
			kubectl.Inspect("see which nodes have the label", kubectl.Command("", "get nodes -L %s", strings.Join(keys, ","))),
			{Text: "label the nodes with their " + over, Risk: answer.Safe},
			soften,
		}
		return
	}
	f.Text = fmt.Sprintf("On any node the pod would exceed maxSkew over %s (topologySpreadConstraints): %s", cmp.Or(over, "its topology"), message)
	f.Fixes = []answer.Fix{kubectl.Inspect("see where its other pods run", kubectl.Command(pod.Namespace, "get pods -o wide")), soften}
}

// gated is about a pod's scheduling gates, each of which a controller set that is to remove it.
func gated(f *answer.Verdict, pod *v1.Pod) {
	gates := prose.Each(pod.Spec.SchedulingGates, func(g v1.PodSchedulingGate) string { return g.Name })
	f.Cause, f.Text = answer.SchedulingGate, fmt.Sprintf("The scheduler leaves the pod alone until its scheduling gate is removed: %s. The controller that set it has not done so.", prose.Some(gates))
	f.Fixes = append(f.Fixes, answer.Fix{
		Text:    "if that controller does not run any more: remove the gate yourself",
		Command: kubectl.Command(pod.Namespace, "patch pod %s --type=json -p %s", pod.Name, `[{"op":"remove","path":"/spec/schedulingGates"}]`), Risk: answer.Safe,
	})
}

// uncordon is the command for the nodes that are cordoned; empty where none is known.
func uncordon(nodes []v1.Node) string {
	command := ""
	for i := range nodes {
		if nodes[i].Spec.Unschedulable {
			command = cmp.Or(command, "kubectl uncordon") + string(shell.Linef(" %s", nodes[i].Name))
		}
	}
	return command
}

// keptOut is about taints. Those of a node that is short of something go by themselves.
func keptOut(f *answer.Verdict, pod *v1.Pod, around Around, message string) {
	taints, sick := around.tainted(pod)
	f.Cause, f.Text = answer.NoMatchingNode, "The nodes that could take the pod have a taint that it does not tolerate: "
	if taints != "" {
		f.Text += taints + ". The scheduler says: "
	}
	f.Text += message
	if sick != "" {
		f.Fixes = []answer.Fix{{Text: "find out what is wrong with the node; pods are placed there again when that is over", Command: kubectl.Command("", "why node/%s", sick), Risk: answer.Inspect}}
		return
	}
	f.Fixes = []answer.Fix{kubectl.Inspect("see the taints", "kubectl describe nodes | grep -A3 Taints"), kubectl.EditTemplate(pod.Namespace, pod, "add a toleration, or take the taint from the node")}
}

// heard is how long a scheduler may take to say something about a pod.
const heard = 10 * time.Second

// foreignScheduler is about a pod that asks for a scheduler of its own.
func foreignScheduler(pod *v1.Pod, now time.Time) (answer.Verdict, bool) {
	name := pod.Spec.SchedulerName
	if name == "" || name == v1.DefaultSchedulerName || now.Sub(pod.CreationTimestamp.Time) < heard {
		return answer.Verdict{}, false
	}
	return inferred(answer.SchedulerMissing, "not-scheduled", fmt.Sprintf("The pod asks for the scheduler %s, and none of that name has said anything about it.", name),
		kubectl.EditTemplate(pod.Namespace, pod, "leave schedulerName out, or start a scheduler of that name")), true
}

// silent is the longest time that a running scheduler takes to set a condition of a pod, even if thousands wait. idle is
// the same if it has scheduled no other pod meanwhile.
const silent, idle = 5 * time.Minute, time.Minute

// noScheduler returns the verdict about a pod without any condition, which Kubernetes' own scheduler has never tried to place.
func noScheduler(pod *v1.Pod, around Around, now time.Time) (answer.Verdict, bool) {
	waits := now.Sub(pod.CreationTimestamp.Time)
	if len(pod.Status.Conditions) > 0 || waits < idle || waits < silent && around.scheduledSince(pod.CreationTimestamp.Time) || len(pod.Spec.ResourceClaims) > 0 { // pods wait unseen for claims that are not made yet
		return answer.Verdict{}, false
	}
	return inferred(answer.SchedulerMissing, "not-scheduled",
		fmt.Sprintf("No scheduler has looked at the pod in the %s since it was made: kube-scheduler does not run, or does not reach the API server.", prose.Span(waits)),
		kubectl.Inspect("see whether it runs", "kubectl -n kube-system get pods -l component=kube-scheduler"),
		kubectl.Inspect("see when it last renewed its lease", "kubectl -n kube-system get lease kube-scheduler"),
		answer.Fix{Text: "if it does not run: start it (kubeadm has it in /etc/kubernetes/manifests/kube-scheduler.yaml of a control plane's node); the pod is then scheduled by itself", Risk: answer.Safe}), true
}

// SubjectOf is what an answer about an object is about.
func SubjectOf(kind string, o metav1.Object) answer.Subject {
	return answer.Subject{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()}
}

// Key is how answers name an object of a namespace: NAMESPACE/NAME.
func Key(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

func describe(pod *v1.Pod) answer.Fix {
	return kubectl.Inspect("see what Kubernetes shows", kubectl.Command(pod.Namespace, "describe pod %s", pod.Name))
}

func conditionOf(pod *v1.Pod, kind v1.PodConditionType) *v1.PodCondition {
	return first(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == kind })
}

// first is the first of some that fits; nil where none does.
func first[T any](all []T, fits func(T) bool) *T {
	if i := slices.IndexFunc(all, fits); i >= 0 {
		return &all[i]
	}
	return nil
}

// inferred is the verdict of a rule.
func inferred(cause answer.Cause, rule, text string, fixes ...answer.Fix) answer.Verdict {
	return answer.Verdict{Cause: cause, Rule: rule, Certainty: answer.Inferred, Text: text, Fixes: fixes}
}

// unknown is the verdict where what is there does not say why: missing is what would.
func unknown(text, missing string, fixes ...answer.Fix) answer.Verdict {
	return answer.Verdict{
		Cause: answer.CauseUnknown, Certainty: answer.Unknown, Missing: missing, Fixes: fixes,
		Text: strings.TrimSpace(text + " " + missing),
	}
}
