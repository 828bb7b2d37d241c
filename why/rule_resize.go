package why

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

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
	f := &finding{cause: answer.InsufficientResources, weight: certain, certainty: answer.Recorded, chain: links(failed), container: failed.Container}
	f.fixes = []answer.Fix{{Text: "ask for less, or for what it had", Command: h.kubectl("edit pod %s --subresource=resize", h.Pod.Name), Risk: answer.Limits}}
	sizes := knowledge.AboveMemory.Slots(pending.Message)
	if m := knowledge.AboveMemoryOf.Slots(pending.Message); m != nil {
		f.container, sizes = cmp.Or(f.container, m["name"]), m
	}
	if len(h.Object.Spec.Containers) == 1 {
		f.container = h.Object.Spec.Containers[0].Name
	}
	whose := "the pod"
	if f.container != "" {
		whose = "container " + f.container
	}
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
