package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// NodeCase is a node with what is known of its pods now.
type NodeCase struct {
	Node *v1.Node
	Pods []v1.Pod
	// Usage is each pod's working set in bytes; nil, or without an entry, where
	// nobody measured it.
	Usage map[types.UID]int64
	// Memory is the answer from the node's own memory, nil where it gave none.
	Memory *answer.Answer
	// Each are the answers about its pods.
	Each []answer.Answer
}

// Own says whether a node is one of Whylet's own, which answers itself what it is asked.
// Its version says so (object.KubeletVersion).
func Own(n *v1.Node) bool { return strings.Contains(n.Status.NodeInfo.KubeletVersion, "+whylet") }

// NodeAnswer answers about a node: whether it is lost, under pressure or promised
// to more pods than it can hold, when it was away, and what is wrong with its pods.
func NodeAnswer(c NodeCase, journal answer.Coverage, now time.Time) answer.Answer {
	subject := answer.Subject{Kind: "Node", Name: c.Node.Name, UID: c.Node.UID}
	if lost, ok := NodeLostAnswer(&v1.Pod{Spec: v1.PodSpec{NodeName: c.Node.Name}}, c.Node, now); ok {
		lost.Subject = subject
		lost.Verdicts[0].Text += " " + boundWords(c.Pods)
		return lost
	}
	a := answer.New(subject, now, journal)
	for _, p := range pressures {
		if f, ok := c.pressure(p); ok {
			a.Put(answer.Symptom{Kind: answer.NotReady, Count: 1, Text: "it is under " + string(p)}, f)
		}
	}
	a.Join(c.Memory)
	group := Group(subject, c.Each, now)
	if group.Verdicts[0].Cause != answer.None {
		a.Join(&group)
	}
	f := c.promised()
	a.Put(answer.Symptom{Kind: answer.Healthy, Count: len(c.Pods), Text: prose.Plural(len(c.Pods), "pod")}, f)
	return a
}

// boundWords says what a lost node holds.
func boundWords(pods []v1.Pod) string {
	running := 0
	for i := range pods {
		if pods[i].Status.Phase == v1.PodRunning {
			running++
		}
	}
	if running == 0 {
		return "No running pod is bound to it."
	}
	return fmt.Sprintf("%s bound to it ran when it last reported; while the machine is up they keep running, and the node takes them over again when it is back. "+
		"Pods without a toleration of their own are deleted after 5 min.", prose.Upper(prose.Plural(running, "pod")))
}

var pressures = []v1.NodeConditionType{v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure}

func (c NodeCase) pressure(kind v1.NodeConditionType) (answer.Verdict, bool) {
	for _, condition := range c.Node.Status.Conditions {
		if condition.Type != kind || condition.Status != v1.ConditionTrue {
			continue
		}
		f := answer.Verdict{Certainty: answer.Recorded, Text: fmt.Sprintf("The node says so since %s: %s", prose.Clock(condition.LastTransitionTime.Time), prose.Brief(condition.Message, kept))}
		switch kind {
		case v1.NodeMemoryPressure:
			f.Cause = answer.EvictedMemory
			f.Text += ". Until that is over, pods that asked for no memory are not admitted."
			f.Contributing = c.orderNotes(c.candidates(c.measured))
		case v1.NodeDiskPressure:
			f.Cause, f.Text = answer.EvictedDisk, f.Text+". Until that is over, no new pods are admitted."
		default:
			f.Cause, f.Text = answer.EvictedPIDs, f.Text+". Until that is over, no new pods are admitted."
		}
		f.Fixes = []answer.Fix{{Text: "see which pods went for it", Command: "kubectl get events -A --field-selector reason=Evicted", Risk: answer.Inspect}}
		return f, true
	}
	return answer.Verdict{}, false
}

// living are the pods that can use memory.
func (c NodeCase) living() []*v1.Pod {
	var all []*v1.Pod
	for i := range c.Pods {
		if p := &c.Pods[i]; p.Status.Phase != v1.PodFailed && p.Status.Phase != v1.PodSucceeded {
			all = append(all, p)
		}
	}
	return all
}

// measured is what a pod uses now; known is false where nobody measured it.
func (c NodeCase) measured(p *v1.Pod) (usage int64, known bool) {
	usage, known = c.Usage[p.UID]
	return usage, known
}

func (c NodeCase) most(p *v1.Pod) (int64, bool) {
	return health.MemoryAsk(&p.Spec).Most(c.allocatable()), true
}

func (c NodeCase) allocatable() int64 { return c.Node.Status.Allocatable.Memory().Value() }

// candidates are the pods in the order in which they would go.
func (c NodeCase) candidates(usage func(*v1.Pod) (int64, bool)) []health.Candidate {
	var all []health.Candidate
	for _, p := range c.living() {
		_, static := p.Annotations["kubernetes.io/config.mirror"]
		k := health.Candidate{
			Pod: fact.Pod{Namespace: p.Namespace, Name: p.Name, UID: p.UID}, QoS: p.Status.QOSClass,
			Request: health.MemoryAsk(&p.Spec).Request, Critical: health.Critical(p, static),
		}
		k.Usage, k.Measured = usage(p)
		if p.Spec.Priority != nil {
			k.Priority = *p.Spec.Priority
		}
		all = append(all, k)
	}
	return health.Rank(v1.ResourceMemory, all)
}

// orderNotes say who would go now, if it were known who uses what.
func (c NodeCase) orderNotes(ranked []health.Candidate) []answer.Note {
	if len(c.Usage) == 0 || len(ranked) == 0 {
		return nil
	}
	return []answer.Note{{Cause: answer.EvictedMemory, Text: "if memory ran short now, pods would go in this order: " + answer.EvictionOrder("memory.available", health.Ranking(ranked))}}
}

// promised compares what pods asked for and may use with what the node gives.
func (c NodeCase) promised() answer.Verdict {
	var requests, limits int64
	var pushers, pushed, unlimited []string
	for _, p := range c.living() {
		ask := health.MemoryAsk(&p.Spec)
		requests, limits = requests+ask.Request, limits+ask.Limit
		name := p.Namespace + "/" + p.Name
		if ask.Unlimited {
			unlimited = append(unlimited, name)
		}
		if ask.Most(c.allocatable()) > ask.Request {
			pushers = append(pushers, name)
		} else {
			pushed = append(pushed, name)
		}
	}
	all := c.allocatable()
	f := answer.Verdict{Cause: answer.None, Rule: "promised-memory", Certainty: answer.Inferred}
	if all <= 0 {
		f.Text = "How much memory its pods may have is not known."
		return f
	}
	f.Text = fmt.Sprintf("Of the %s that pods may have, they asked for %s (%d %%), and their limits add up to %s (%d %%).",
		prose.Size(all), prose.Size(requests), requests*100/all, prose.Size(limits), limits*100/all)
	if limits <= all && len(unlimited) == 0 {
		f.Text = "No pod can push another one out. " + f.Text
		return f
	}
	if limits > all {
		f.Cause = answer.NodeOvercommitted
	}
	f.Text += prose.Whether(len(unlimited) > 0, fmt.Sprintf(" %s no limit at all.", has(len(unlimited))), "")
	f.Text = "That is enough as long as the pods do not use all that they may. " + f.Text
	f.Contributing = append(f.Contributing, answer.Note{Cause: answer.NodeOvercommitted, Text: "these may use more than they asked for, and so push out others: " + prose.Some(pushers)})
	if len(pushed) > 0 {
		f.Contributing = append(f.Contributing, answer.Note{Cause: answer.NodeOvercommitted, Text: "these never use more than they asked for, and go last: " + prose.Some(pushed)})
	}
	if now := c.orderNotes(c.candidates(c.measured)); now != nil {
		f.Contributing = append(f.Contributing, now...)
	} else if order := c.candidates(c.most); len(order) > 0 {
		f.Contributing = append(f.Contributing, answer.Note{Cause: answer.EvictedMemory, Text: "if all used what they may, they would go in this order: " + prose.Some(prose.Each(order, func(k health.Candidate) string { return k.Pod.String() }))})
	}
	f.Fixes = c.limitFixes(unlimited)
	return f
}

func has(n int) string {
	return prose.Whether(n == 1, "1 pod has", fmt.Sprintf("%d pods have", n))
}

// limitFixes say what to set, from what pods use where that is known.
func (c NodeCase) limitFixes(unlimited []string) []answer.Fix {
	var fixes []answer.Fix
	for _, p := range c.living() {
		name := p.Namespace + "/" + p.Name
		if len(fixes) >= 3 || !slices.Contains(unlimited, name) {
			continue
		}
		text := fmt.Sprintf("give %s a memory limit and request", name)
		if used, known := c.measured(p); known && used > 0 {
			text = fmt.Sprintf("give %s a memory request of what it uses (%s now) and a limit somewhat above it", name, prose.Size(used))
		}
		fixes = append(fixes, answer.Fix{Text: text, Command: setCommand(p), Risk: answer.Limits})
	}
	if len(fixes) == 0 {
		fixes = c.lowerLimits()
	}
	return append(fixes, answer.Fix{Text: "see the sums", Command: kubectl.Command("", "describe node %s", c.Node.Name), Risk: answer.Inspect})
}

// lowerLimits proposes limits whose sum fits, for those who could give up most.
func (c NodeCase) lowerLimits() []answer.Fix {
	pods := c.living()
	asks := make([]health.Ask, len(pods))
	for i, p := range pods {
		asks[i] = health.MemoryAsk(&p.Spec)
	}
	fit := health.Fit(asks, c.allocatable())
	order := make([]int, len(fit))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(asks[b].Limit-fit[b], asks[a].Limit-fit[a]) })
	var fixes []answer.Fix
	for _, i := range order[:min(len(order), 3)] {
		if limit := fit[i] >> 20 << 20; limit > asks[i].Request && limit < asks[i].Limit {
			fixes = append(fixes, answer.Fix{
				Text:    fmt.Sprintf("lower the memory limit of %s/%s from %s to %s; with all others lowered in the same way the sum fits", pods[i].Namespace, pods[i].Name, prose.Size(asks[i].Limit), prose.Size(limit)),
				Command: setCommand(pods[i]), Risk: answer.Limits,
			})
		}
	}
	return append(fixes, answer.Fix{Text: "set requests near to the limits of what must not go", Risk: answer.Limits})
}

// setCommand changes the resources of what made the pod; empty where that cannot be changed.
func setCommand(p *v1.Pod) string {
	workload := kubectl.Editable(p)
	if workload == "" {
		return ""
	}
	return kubectl.Command(p.Namespace, "set resources %s --requests=memory=… --limits=memory=…", workload)
}
