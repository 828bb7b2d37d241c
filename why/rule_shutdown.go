package why

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

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
	return []trouble{{s, func(id string) answer.Verdict {
		v := h.shutdownFinding().verdict(id, "", nil)
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
	for _, k := range fact.All[fact.Kill](h.Facts) {
		if fact.Of[fact.Kill](k).Reason == fact.KillShutdown {
			f.chain = append(f.chain, link(k))
			break
		}
	}
	if h.Object != nil && metav1.GetControllerOf(h.Object) == nil {
		f.because = append(f.because, "It has no controller, and a pod that failed is not started again, as with kubelet.")
		f.fix(h.specFix("make it from a Deployment or StatefulSet, which replaces it after each shutdown"))
	}
	return f
}
