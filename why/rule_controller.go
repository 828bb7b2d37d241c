package why

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
)

// ownWord is the event in which its controller says that it deleted the pod; nil where it does
// not.
func (h *inquiry) ownWord() *fact.Fact {
	at, _, ok := h.Deletion()
	if kind, _ := h.Controller(); !ok || kind == "" {
		return nil
	}
	for _, f := range fact.All[fact.Said](h.Facts) {
		if b := fact.Of[fact.Said](f); fact.DeletedBy(b.Reason, b.Message, f.When(), h.Pod.Name, at.When()) {
			return f
		}
	}
	return nil
}

// ofNone says whether a pod's ReplicaSet is of no Deployment, nor of what is like one: then
// it deletes pods only to have fewer.
func (h *inquiry) ofNone() bool {
	if kind, _ := h.Controller(); kind != "ReplicaSet" {
		return false
	}
	for label := range h.Object.Labels {
		if strings.HasSuffix(label, "pod-template-hash") {
			return false
		}
	}
	return true
}

// rescaled are the words of a pod's Deployment about why the pod went.
func (h *inquiry) rescaled(at *fact.Fact, set string) (r fact.Rescaled, down, up *fact.Fact) {
	d := fact.Departure{Deleted: at.When()}
	if s := h.Object.Spec.TerminationGracePeriodSeconds; s != nil {
		d.Grace = time.Duration(*s) * time.Second
	}
	if gone, _, ok := fact.Latest[fact.ObjectGone](h.Facts); ok {
		d.Gone = gone.Seen
	}
	var all []fact.Scaling
	var said []*fact.Fact
	var read time.Time
	for f, b := range every[fact.Said](h.Facts) {
		s, ok := fact.ScalingIn(b.Message, f.When())
		if !ok || b.Reason != fact.ScaledSet {
			continue
		}
		all, said, read = append(all, s), append(said, f), f.Seen
	}
	if h.FromAPI {
		read = h.Now
	}
	r, _ = d.Rescaled(all, set, read)
	of := func(s *fact.Scaling) *fact.Fact {
		if i := slices.IndexFunc(all, func(one fact.Scaling) bool { return s != nil && one == *s }); i >= 0 {
			return said[i]
		}
		return nil
	}
	return r, of(r.Down), of(r.Up)
}

// deploymentScaled: its Deployment says what it wanted.
func deploymentScaled(h *inquiry) *finding {
	word := h.ownWord()
	if word == nil || h.byOther() {
		return nil
	}
	at, _, _ := h.Deletion()
	_, set := h.Controller()
	kind, name := fact.Workload(h.Object)
	_, target := h.disruption()
	r, down, up := h.rescaled(at, set)
	if kind != "Deployment" || target != nil || r.Down == nil {
		return nil
	}
	f := &finding{weight: strong, chain: links(up, down, word, at)}
	if r.Up != nil {
		f.cause = answer.RolledOut
		f.text = fmt.Sprintf("Deployment %s replaced the pod by one of another revision: it scaled up ReplicaSet %s, and %s down.", name, r.Up.Set, set)
		return f.fix(h.inspect("see what changed between the revisions", h.kubectl("rollout history %s", kubectl.Workload(h.Object))))
	}
	f.cause = answer.ScaledDown
	f.text = fmt.Sprintf("Deployment %s wanted fewer pods: it scaled ReplicaSet %s down%s, which deleted this one, and no other ReplicaSet of its came instead.", name, set, fromTo(r.Down))
	f.fixes = []answer.Fix{h.inspect("see how many are wanted now, and who changed that", h.kubectl("get %s --show-managed-fields -o yaml", kubectl.Workload(h.Object)))}
	return f
}

func fromTo(s *fact.Scaling) string {
	if s.From < 0 {
		return fmt.Sprintf(" to %d", s.To)
	}
	return fmt.Sprintf(" from %d to %d", s.From, s.To)
}

// byOwn is how it is known that its controller deleted the pod: by its own word, or by its
// request; nil where it is not.
func (h *inquiry) byOwn() *fact.Fact {
	if word := h.ownWord(); word != nil {
		return word
	}
	if request, _ := h.Requested(); request != nil && !h.byOther() {
		return request
	}
	return nil
}

// deletedByOwn: its controller deleted the pod.
func (h *inquiry) deletedByOwn(by, at *fact.Fact) *finding {
	kind, name := h.Controller()
	f := &finding{
		cause: answer.Deleted, weight: fair, certainty: answer.Recorded, chain: links(by, at),
		text:  fmt.Sprintf("%s %s, which had made the pod, deleted it, and says so itself.", kind, name),
		fixes: []answer.Fix{h.inspect("see what it says", h.kubectl("describe %s %s", strings.ToLower(kind), name))},
	}
	if b, ok := by.Body.(fact.Requested); ok {
		f.text = fmt.Sprintf("%s %s, which had made the pod, asked the API server to delete it.", kind, name)
		if b.Asked {
			f.certainty = answer.Inferred
		}
	}
	return f
}

// wantedByOwn is the verdict where its controller may have wanted the pod gone, or did for
// what is not known; ok is false where that is decided.
func (h *inquiry) wantedByOwn(id string, f finding) (v answer.Verdict, ok bool) {
	may := []finding{f, {cause: answer.ScaledDown, weight: weak}, {cause: answer.RolledOut, weight: weak}}
	kind, _ := h.Controller()
	switch by := h.byOwn(); {
	case f.cause != answer.Deleted || f.weight != fair:
	case by != nil && (kind == "ReplicaSet" || kind == "StatefulSet"):
		workload, _ := fact.Workload(h.Object)
		return undecided(id, "", f.text, f.chain, may[1:], "Whether fewer pods were wanted, or those of another revision, the events of its "+workload+" say as long as they are kept.", f.fixes...), true
	case by == nil && h.mayHaveBeenItsController():
		return undecided(id, "", f.text, f.chain, may,
			"Whether its controller wanted it gone shows on other nodes and in the controller's events; who deleted it otherwise, in the API server's audit log.", f.fixes...), true
	}
	return v, false
}
