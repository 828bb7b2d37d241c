package why

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// because are the facts that a decision rests on, as far as they are kept; firstLinks are their links.
func (h *inquiry) because(f *fact.Fact) (all []*fact.Fact) {
	if f == nil {
		return nil
	}
	for _, id := range f.Because {
		if b, ok := h.Fact(id); ok {
			all = append(all, b)
		}
	}
	return all
}

func (h *inquiry) firstLinks(f *fact.Fact) []answer.Link { return links(h.because(f)...) }

// explainDone says why a container that ended well is not started again.
func (h *inquiry) explainDone(last *history.Run) answer.Verdict {
	e := newEnding(h, last)
	f := e.finds(answer.RestartPolicy, strong, last.Started).
		says("Container %s did its work and ended by itself with exit code 0%s; restartPolicy %s does not start it again.", last.Container, e.after(), h.podSpec().RestartPolicy)
	f.rule = "done"
	v := f.verdict(last.Container, nil)
	v.SayThen("Nothing has to be done.")
	if note, ok := h.noise(last); ok {
		v.RuledOut = append(v.RuledOut, note)
	}
	return v
}

// endOfPod is the pod's deletion, under way or done.
func (h *inquiry) endOfPod() []trouble {
	del, b, ok := h.Deletion()
	gone, _, isGone := fact.Latest[fact.ObjectGone](h.Facts)
	s := answer.Symptom{Kind: answer.Disappeared, Count: 1, Text: "the pod is gone"}
	switch {
	case !ok && isGone && h.FromAPI:
		s.First, s.Last = gone.When(), gone.When()
		return []trouble{{s, func() answer.Verdict {
			if evict, b, ok := fact.Latest[fact.Evict](h.Facts); ok {
				f := concluded(evictedFor(b.Signal), certain, evict, gone).says("The pod was evicted, and its object was deleted after that; who deleted it is not recorded.")
				f.rule = "act-inferred"
				return f.verdict("", nil)
			}
			return undecided("", "The pod is gone, and no event says who deleted it, or what was decided before.", nil, nil, "")
		}}}
	case !ok:
		return nil
	}
	s.First, s.Last = del.Seen, del.Seen
	if isGone {
		s.Last = gone.Seen
	} else if !b.Gone {
		s.Kind, s.Text, s.Last = answer.Terminating, "the pod is being deleted", h.Now
	}
	return []trouble{{s, func() answer.Verdict {
		f := h.deletionFinding()
		v := f.verdict("", nil)
		if open, ok := h.wantedByOwn(f); ok {
			v = open
		}
		h.slowEnd(&v)
		switch {
		case s.Kind != answer.Terminating:
		case h.keptByFinalizers():
			kubectl.Kept(&v, h.Object)
		default:
			h.stillEnds(&v, del.Seen)
		}
		return v
	}}}
}

// keptByFinalizers says whether all that a deleted pod ran has ended, and its object has
// finalizers: a node of its own lets go of it then, and the API server is asked for the rest.
func (h *inquiry) keptByFinalizers() bool {
	if h.Beside == "" || h.Object == nil || len(h.Object.Finalizers) == 0 {
		return false
	}
	runs := func(name string) bool { run := h.Last(name); return run != nil && run.Exit == nil }
	return !slices.ContainsFunc(h.Containers(), runs)
}

// endsSoon is the time after a deletion within which running containers are not mentioned.
const endsSoon = 5 * time.Second

// stillEnds adds which containers of a terminating pod still run, and when the grace period ends.
func (h *inquiry) stillEnds(v *answer.Verdict, since time.Time) {
	var still []string
	for _, name := range h.Containers() {
		if run := h.Last(name); run != nil && run.Started != nil && run.Exit == nil {
			still = append(still, name)
		}
	}
	took := h.Now.Sub(since)
	if len(still) == 0 || took < endsSoon || h.Object == nil || h.Object.DeletionTimestamp == nil || !h.Object.DeletionTimestamp.After(h.Now) {
		return
	}
	subject, killed := "Container "+still[0]+" still runs", "it"
	if len(still) > 1 {
		subject, killed = "Containers "+prose.Some(still)+" still run", "them"
	}
	v.SayThen(fmt.Sprintf("%s %s later; the node kills %s by %s (terminationGracePeriodSeconds).", subject, prose.Span(took), killed, h.Object.DeletionTimestamp.UTC().Format(time.TimeOnly)))
	v.AddFirst(h.specFix("make its main process end on SIGTERM, or set a shorter terminationGracePeriodSeconds"))
	v.AddFirst(answer.Fix{Text: "if it has nothing left to finish: end it now", Command: h.kubectl("delete pod %s --grace-period=1", h.Pod.Name), Risk: answer.Restarts})
}

// slowEnd says which containers used up their grace period.
func (h *inquiry) slowEnd(v *answer.Verdict) {
	for _, name := range h.Containers() {
		if run := h.Last(name); run != nil && run.Kill != nil && run.Exit != nil {
			if e := newEnding(h, run); e.killed() {
				e.howItWent(v, fact.Of[fact.Kill](run.Kill))
			}
		}
	}
}

// killFor is the first decision to end a container for some reason; nil where there was none.
func (h *inquiry) killFor(reason fact.KillReason) *fact.Fact {
	for k, b := range every[fact.Kill](h.Facts) {
		if b.Reason == reason {
			return k
		}
	}
	return nil
}

func (h *inquiry) deadlineFinding() finding {
	f := finding{cause: answer.ActiveDeadline, certainty: answer.Recorded, weight: certain}
	allowed := ""
	if s := h.podSpec().ActiveDeadlineSeconds; s != nil {
		allowed = fmt.Sprintf(" (%d s)", *s)
	}
	f.text = fmt.Sprintf("The pod was active for longer than its activeDeadlineSeconds%s allow, so the node ended it.", allowed)
	k := h.killFor(fact.KillDeadline)
	f.chain = append(links(k), h.firstLinks(k)...)
	f.fixes = []answer.Fix{h.specFix("raise activeDeadlineSeconds, or make the work shorter")}
	return f
}

// refusal says why the node did not take the pod in.
func (h *inquiry) refusal(at *fact.Fact, b fact.Refused) finding {
	f := finding{certainty: answer.Recorded, weight: certain, chain: append(links(at, h.ConditionFact(v1.PodReady)), h.firstLinks(at)...)}
	f.text = fmt.Sprintf("The node refused the pod: %s.", strings.TrimSuffix(prose.Brief(b.Message, 200), "."))
	pressures := fact.PressuresIn(b.Message)
	if len(pressures) == 0 && !strings.HasPrefix(b.Reason, "OutOf") { // what room there was explains nothing
		f.chain = slices.DeleteFunc(f.chain, func(l answer.Link) bool { return l.Kind == (fact.RoomSeen{}).Kind() })
	}
	switch {
	case len(pressures) > 0:
		if f.cause, f.text = answer.UnderPressure(pressures); f.cause == answer.CauseUnknown {
			f.certainty = answer.Unknown
		}
		see := "kubectl get nodes"
		if node := h.podSpec().NodeName; node != "" {
			see = kubectl.Command("", "why node/%s", node)
		}
		f.fixes = []answer.Fix{h.inspect("see how the node is, and which pods went for it", see)}
	case strings.HasPrefix(b.Reason, "OutOf"):
		f.cause = answer.InsufficientResources
	case b.Reason == "NodeName", b.Reason == "NodePorts", b.Reason == "NodeAffinity", b.Reason == "PodOSSelectorNodeLabelDoesNotMatch", b.Reason == "PodOSNotSupported", b.Reason == "Taint":
		f.cause = answer.NoMatchingNode
	case strings.Contains(b.Reason, "Sysctl"):
		f.cause = answer.SecurityRefused
		f.fixes = []answer.Fix{h.specFix("take it out of securityContext.sysctls, or have the node allow it (allowedUnsafeSysctls of its kubelet), and make the pod anew")}
	case b.Reason == fact.ShutdownReason:
		f.cause = answer.NodeRestarted
	case strings.Contains(b.Reason, "AppArmor"), strings.Contains(b.Reason, "Security"):
		f.cause = answer.SecurityRefused
	default:
		f.cause, f.certainty = answer.CauseUnknown, answer.Unknown
	}
	f.because = append(f.because, "A node does not try a pod again that it refused.")
	if len(f.fixes) == 0 {
		f.fixes = []answer.Fix{h.describeFix()}
	}
	return f
}

// shutdownTrouble returns the end of a pod whose machine shut down, if it had one.
func (h *inquiry) shutdownTrouble(status v1.PodStatus) []trouble {
	at, _, ended := fact.Latest[fact.NodeShutdown](h.Facts)
	reason, message := fact.EndedFor(status)
	if !ended && (reason != "Terminated" || !strings.Contains(message, "node shutdown")) {
		return nil
	}
	s := answer.Symptom{Kind: answer.Failed, First: h.LastSeen(), Last: h.LastSeen(), Count: 1, Text: "the pod was ended because its node shut down"}
	if ended {
		s.First, s.Last = at.Seen, at.Seen
	}
	return []trouble{{s, func() answer.Verdict {
		v := h.shutdownFinding().verdict("", nil)
		h.slowEnd(&v)
		return v
	}}}
}

// shutdownFinding says that the pod ended because its machine shut down in order.
func (h *inquiry) shutdownFinding() finding {
	f := finding{
		cause: answer.NodeRestarted, certainty: answer.Recorded, weight: certain,
		text:  "The node's machine was shut down, so the node ended the pod",
		fixes: []answer.Fix{h.inspect("see who shut the machine down", "journalctl -b -1 -u systemd-logind -e")},
	}
	if at, b, ok := fact.Latest[fact.NodeShutdown](h.Facts); ok {
		f.text += fmt.Sprintf(" first, and gave it %s for that", prose.Span(time.Duration(b.GraceSeconds)*time.Second))
		f.chain = links(at)
	}
	f.text += "."
	f.chain = append(f.chain, links(h.killFor(fact.KillShutdown))...)
	if h.Object != nil && metav1.GetControllerOf(h.Object) == nil {
		f.because = append(f.because, "It has no controller, and a pod that failed is not started again, as with kubelet.")
		f.fix(h.specFix("make it from a Deployment or StatefulSet, which replaces it after each shutdown"))
	}
	return f
}

// resize says what keeps a change of a running pod's resources from taking effect
// (KEP-1287); nil where none is due. The containers run on with those they had.
func (h *inquiry) resize(conditions []v1.PodCondition) *finding {
	pending := conditionOf(conditions, v1.PodResizePending)
	if pending == nil {
		pending = conditionOf(conditions, v1.PodResizeInProgress)
	}
	if pending == nil || pending.Reason == "" {
		return nil // it is under way
	}
	failed := h.resizeFailed(pending.Type)
	if failed == nil {
		return nil
	}
	f := concluded(answer.InsufficientResources, certain, failed).recorded()
	f.container = failed.Container
	f.fixes = []answer.Fix{{Text: "ask for less, or for what it had", Command: h.kubectl("edit pod %s --subresource=resize", h.Pod.Name), Risk: answer.Limits}}
	sizes := knowledge.AboveMemory.Slots(pending.Message)
	if m := knowledge.AboveMemoryOf.Slots(pending.Message); m != nil {
		f.container, sizes = cmp.Or(f.container, m["name"]), m
	}
	if len(h.Object.Spec.Containers) == 1 {
		f.container = h.Object.Spec.Containers[0].Name
	}
	whose := prose.Whether(f.container != "", "container "+f.container, "the pod")
	said := quote(pending.Message, 160)
	switch pending.Reason {
	case v1.PodReasonDeferred:
		f.text = fmt.Sprintf("The new resources that its spec asks for do not fit on the node now, so it keeps running with the old ones until there is room: %s.", said)
		f.fix(h.inspect("see what is left", "kubectl describe nodes | grep -A8 'Allocated resources'"))
	case v1.PodReasonInfeasible:
		f.text = fmt.Sprintf("The node can never give it the new resources that its spec asks for, so it keeps running with the old ones: %s.", said)
	default:
		f.cause = answer.RuntimeFailed
		f.text = fmt.Sprintf("The new resources that its spec asks for could not be set, so %s runs on with the old ones: %s.", whose, said)
		if sizes != nil {
			f.text = fmt.Sprintf("%s uses more memory (%s) than the new limit that its spec asks for (%s), so it keeps running with the old one.", strings.ToUpper(whose[:1])+whose[1:], sizeOf(sizes["usage"]), sizeOf(sizes["limit"]))
			f.fixes[0].Text = "ask for a limit above what it uses, or have it use less"
		}
	}
	return f
}

// resizeFailed is the node's own word that a resize failed: its decision or, beside a kubelet,
// the newest of its conditions of that type.
func (h *inquiry) resizeFailed(kind v1.PodConditionType) *fact.Fact {
	if failed, _, ok := fact.Latest[fact.ResizeFailed](h.Facts); ok {
		return failed
	}
	for i := len(h.Facts) - 1; i >= 0 && h.Beside != ""; i-- {
		if b, ok := h.Facts[i].Body.(fact.SetCondition); ok && b.Condition.Type == kind {
			return &h.Facts[i]
		}
	}
	return nil
}

func sizeOf(bytes string) string {
	n, err := strconv.ParseInt(bytes, 10, 64)
	if err != nil {
		return bytes
	}
	return prose.Size(n)
}
