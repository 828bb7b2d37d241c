package why

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
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
func (h *inquiry) explainDone(last *history.Run, id string) answer.Verdict {
	e := newEnding(h, last)
	f := finding{
		cause: answer.RestartPolicy, rule: "done", weight: strong, chain: e.chain(last.Started),
		text: fmt.Sprintf("Container %s did its work and ended by itself with exit code 0%s; restartPolicy %s does not start it again.", last.Container, e.after(), h.podSpec().RestartPolicy),
	}
	v := f.verdict(id, last.Container, nil)
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
		return []trouble{{s, func(id string) answer.Verdict {
			if evict, b, ok := fact.Latest[fact.Evict](h.Facts); ok {
				return finding{
					cause: evictedFor(b.Signal), certainty: answer.Inferred, rule: "act-inferred", weight: certain, chain: links(evict, gone),
					text: "The pod was evicted, and its object was deleted after that; who deleted it is not recorded.",
				}.verdict(id, "", nil)
			}
			return undecided(id, "", "The pod is gone, and no event says who deleted it, or what was decided before.", nil, nil, "")
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
	return []trouble{{s, func(id string) answer.Verdict {
		f := h.deletionFinding()
		v := f.verdict(id, "", nil)
		if open, ok := h.wantedByOwn(id, f); ok {
			v = open
		}
		h.slowEnd(&v)
		if s.Kind == answer.Terminating && h.keptByFinalizers() {
			kubectl.Kept(&v, h.Object)
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

// deadlineFinding is about activeDeadlineSeconds.
func (h *inquiry) deadlineFinding() finding {
	f := finding{cause: answer.ActiveDeadline, certainty: answer.Recorded, weight: certain}
	allowed := ""
	if s := h.podSpec().ActiveDeadlineSeconds; s != nil {
		allowed = fmt.Sprintf(" (%d s)", *s)
	}
	f.text = fmt.Sprintf("The pod was active for longer than its activeDeadlineSeconds%s allow, so the node ended it.", allowed)
	for _, k := range fact.All[fact.Kill](h.Facts) {
		if fact.Of[fact.Kill](k).Reason == fact.KillDeadline {
			f.chain = append(links(k), h.firstLinks(k)...)
			break
		}
	}
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
