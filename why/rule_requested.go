package why

import (
	"fmt"
	"strings"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// byOther says whether it is known that the deletion was not its controller's wish.
func (h *inquiry) byOther() bool {
	f, b := h.Requested()
	if f == nil || b.Asked && h.ownWord() != nil {
		return false // that one was refused
	}
	kind, _ := h.Controller()
	own := strings.ReplaceAll(part(b), "-", "")
	return kind == "" || own != strings.ToLower(kind)+"controller"
}

// part is which of the controllers of Kubernetes it was that asked; "" for others.
// All of them have one user, and append their name to that of their client, unless
// each has a service account.
func part(b fact.Requested) string {
	if name, ok := strings.CutPrefix(b.User, "system:serviceaccount:kube-system:"); ok {
		return name
	}
	if b.User == "system:kube-controller-manager" {
		return b.Agent[strings.LastIndexByte(b.Agent, '/')+1:]
	}
	return ""
}

// requester words who asked, and with what.
func requester(b fact.Requested) string {
	if name := part(b); name != "" {
		return name
	}
	who := prose.Brief(b.User, 80)
	if b.As != "" {
		who = fmt.Sprintf("%s as %s", who, prose.Brief(b.As, 80))
	}
	client, _, _ := strings.Cut(b.Agent, " ")
	return who + inBrackets("", prose.Brief(client, 60))
}

// reasons are why controllers delete pods that are not theirs.
var reasons = map[string]string{
	"generic-garbage-collector":     "what owned it is gone",
	"namespace-controller":          "its namespace is deleted",
	"pod-garbage-collector":         "its node is gone, or it had ended long ago",
	"ttl-after-finished-controller": "the time for which finished jobs are kept is over",
}

// deletedByOther: the control plane told who asked, and it was not its controller.
func (h *inquiry) deletedByOther(at *fact.Fact) *finding {
	request, b := h.Requested()
	done := "deleted"
	if b.Verb == "evict" {
		done = "evicted (as kubectl drain does)"
	}
	f := &finding{cause: answer.Deleted, weight: certain, certainty: answer.Recorded, chain: links(request, at)}
	f.text = fmt.Sprintf("The pod was %s by %s.", done, requester(b))
	if b.Asked {
		f.weight, f.certainty = strong, answer.Inferred
		f.text = fmt.Sprintf("The pod was %s at the request of %s, which the API server told of right before.", done, requester(b))
	}
	if why := reasons[part(b)]; why != "" {
		f.because = []string{why + "."}
	}
	if heir := h.heir(); heir != nil {
		f.chain = append(f.chain, kinLink(heir))
		f.then = []string{fmt.Sprintf("Its controller made %s in its place.", fact.Of[fact.SpecSeen](heir).Object.Name)}
	}
	f.fixes = []answer.Fix{h.inspect("see what happened around it", h.kubectl("get events --sort-by=.lastTimestamp"))}
	return f
}
