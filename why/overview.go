package why

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/prose"
)

// Overview writes many answers for people: a line for each symptom that asks for
// somebody, in the given order, and how many pods have none.
func Overview(all []Answer, s Style) string {
	var w strings.Builder
	well := 0
	for _, a := range all {
		name := a.Subject.Namespace + "/" + a.Subject.Name
		before := w.Len()
		for _, v := range a.Verdicts {
			sym := a.symptom(v.Symptom)
			if asItShould(sym, v) {
				continue
			}
			if w.Len() > before {
				name = ""
			}
			fmt.Fprintf(&w, "%-40s %-12s %-28s %s\n", name, s.paint("bad", string(sym.Kind)), v.Cause, brief(v.Text, 110))
		}
		if w.Len() == before {
			well++
		}
	}
	switch {
	case len(all) == 0:
		w.WriteString("There are no pods.\n")
	case w.Len() == 0:
		fmt.Fprintf(&w, "All %s are well or done.\n", plural(well, "pod"))
	case well > 0:
		fmt.Fprintf(&w, "%s\n", s.paint("dim", plural(well, "other pod")+" well or done."))
	}
	return w.String()
}

// NodeLostAnswer answers for a pod whose node does not answer: ok is false when
// the node is there and Ready, and the question failed for another reason.
func NodeLostAnswer(pod *v1.Pod, node *v1.Node, now time.Time) (a Answer, ok bool) {
	a = Answer{
		APIVersion: APIVersion, Kind: Kind, AsOf: now,
		Subject: Subject{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
	}
	text := fmt.Sprintf("Node %s does not exist any more.", pod.Spec.NodeName)
	s := Symptom{ID: "s1", Kind: UnknownNode, Count: 1, Last: now, Text: "nobody knows how it is"}
	if node != nil && node.Name != "" {
		for _, c := range node.Status.Conditions {
			if c.Type != v1.NodeReady {
				continue
			}
			if c.Status == v1.ConditionTrue {
				return a, false
			}
			s.First = c.LastTransitionTime.Time
			text = fmt.Sprintf("Node %s stopped reporting %s ago (last heard %s): %s", node.Name, prose.Span(now.Sub(s.First)), c.LastHeartbeatTime.Format(time.TimeOnly), brief(c.Message, kept))
		}
	}
	if f, ok := neverTaken(pod, node); ok {
		s.Kind, s.First, s.Text = Pending, pod.CreationTimestamp.Time, "no node has taken it"
		a.Symptoms, a.Verdicts = []Symptom{s}, []Verdict{f.verdict("s1", "", nil)}
		return a, true
	}
	f := finding{
		cause: NodeLost, rule: "node-not-ready", weight: strong, text: text,
		fixes: []Fix{{Text: "see whether the machine lives", Command: "kubectl describe node " + pod.Spec.NodeName, Risk: Inspect}},
	}
	a.Symptoms, a.Verdicts = []Symptom{s}, []Verdict{f.verdict("s1", "", nil)}
	return a, true
}

// neverTaken is about a pod whose own spec names a node that is not there. A pod
// that a scheduler placed has its condition, one that a node took has a start.
func neverTaken(pod *v1.Pod, node *v1.Node) (finding, bool) {
	if node != nil && node.Name != "" || pod.Status.StartTime != nil || conditionOf(pod.Status.Conditions, v1.PodScheduled) != nil {
		return finding{}, false
	}
	return finding{
		cause: NoMatchingNode, rule: "node-never-was", weight: strong,
		text: fmt.Sprintf("The pod's own nodeName asks for node %s, and there is none of that name.", pod.Spec.NodeName),
		fixes: []Fix{
			{Text: "see which nodes there are", Command: "kubectl get nodes", Risk: Inspect},
			{Text: "correct nodeName, or leave it to the scheduler", Risk: Restarts},
		},
	}, true
}

// StillThere corrects what a node says of a pod that it has let go, and whose
// object its finalizers keep.
func StillThere(a *Answer, pod *v1.Pod) {
	if pod.UID != a.Subject.UID || pod.DeletionTimestamp == nil || len(pod.Finalizers) == 0 {
		return
	}
	for i := range a.Symptoms {
		if a.Symptoms[i].Kind != Disappeared {
			continue
		}
		a.Symptoms[i].Kind, a.Symptoms[i].Text = Terminating, "its node has let it go, and the object is still there"
		v := &a.Verdicts[i]
		v.Text += fmt.Sprintf(" What keeps the object is its finalizers (%s), which nobody has taken away.", strings.Join(pod.Finalizers, ", "))
		v.Fixes = append([]Fix{
			{Text: "find out which controller is to remove them, and whether it runs", Command: fmt.Sprintf("kubectl -n %s get pod %s -o jsonpath='{.metadata.finalizers}'", pod.Namespace, pod.Name), Risk: Inspect},
			{Text: "remove them by hand where nobody will, and what they protect is done", Command: fmt.Sprintf("kubectl -n %s patch pod %s --type=merge -p '{\"metadata\":{\"finalizers\":null}}'", pod.Namespace, pod.Name), Risk: Destructive},
		}, v.Fixes...)
	}
}
