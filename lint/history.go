package lint

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// Recorded is what a journal tells of a container of a workload, over all pods of
// it that it remembers.
type Recorded struct {
	// Most is the most memory that it was seen to need: its working set, in bytes.
	Most int64
	// OOMKills counts kills of its processes at its own memory limit, and those of
	// which nobody can tell whose limit it was.
	OOMKills int
	// Start is the longest that it took from its start until it was ready.
	Start time.Duration
}

// History is what a journal tells of workloads. A nil one tells nothing.
type History map[place]Recorded

// place is a container of a workload.
type place struct{ namespace, workload, container string }

// Remember gathers a history from a journal's facts: SpecSeen, Sampled, OOMKilled,
// Started and Marked; others are passed over.
func Remember(facts []fact.Fact) History {
	h := History{}
	pods := map[types.UID]*v1.Pod{}
	started := map[place]time.Time{} // of a pod, in place of its workload
	for _, f := range facts {
		if b, ok := f.Body.(fact.SpecSeen); ok && b.Object != nil {
			pods[f.Pod.UID] = b.Object
		}
		pod, known := pods[f.Pod.UID]
		if !known || f.Container == "" {
			continue
		}
		at := place{f.Pod.Namespace, ownerOf(pod), f.Container}
		life := place{f.Pod.Namespace, string(f.Pod.UID), f.Container}
		r := h[at]
		switch b := f.Body.(type) {
		case fact.Sampled:
			r.Most = max(r.Most, b.WorkingSet)
		case fact.OOMKilled:
			if scope := b.Scope(pod, f.Container); scope == fact.OfContainer || scope == "" {
				r.OOMKills++
			}
		case fact.Started:
			started[life] = f.When()
			continue
		case fact.Marked:
			if since, running := started[life]; running && b.Ready {
				r.Start = max(r.Start, f.When().Sub(since))
				delete(started, life)
			}
		default:
			continue
		}
		h[at] = r
	}
	return h
}

// ownerOf names what made a pod as its manifest does: Deployment/web.
func ownerOf(pod *v1.Pod) string {
	kind, name := fact.Workload(pod)
	if kind == "" {
		return "Pod/" + pod.Name
	}
	return kind + "/" + name
}

// of finds what is recorded of a container of a workload.
func (h History) of(w Workload, container string) (Recorded, bool) {
	namespace := w.Namespace
	if namespace == "" {
		namespace = metaDefault
	}
	r, ok := h[place{namespace, w.Kind + "/" + w.Name, container}]
	return r, ok
}

// metaDefault is where objects go that name no namespace.
const metaDefault = "default"

// needs is what the pods of a workload were seen to need, in bytes; 0 where
// nothing is recorded of a container of theirs.
func (h History) needs(w Workload) int64 {
	var sum int64
	for _, c := range w.longLived() {
		r, ok := h.of(w, c.Name)
		if !ok || r.Most == 0 {
			return 0
		}
		sum += r.Most
	}
	return sum
}

// recorded compares what a workload says of its memory with what was seen.
func (h History) recorded(w Workload) []Finding {
	var found []Finding
	for _, c := range w.longLived() {
		r, ok := h.of(w, c.Name)
		if !ok {
			continue
		}
		limit, request := c.Resources.Limits.Memory().Value(), c.Resources.Requests.Memory().Value()
		switch {
		case limit > 0 && r.OOMKills > 0:
			found = append(found, w.about(c.Name, "resources", Finding{
				Rule: "memory-limit-was-hit", Severity: Error,
				Text:   fmt.Sprintf("was OOM-killed %d times, and its memory limit is %s", r.OOMKills, size(limit)),
				Reason: "the node's journal has these kills; with such a limit it will be OOM-killed again",
				Fix:    fmt.Sprintf("raise resources.limits.memory (kubectl why -n %s %s/%s shows what it used), or bound what the application takes", cmp.Or(w.Namespace, metaDefault), strings.ToLower(w.Kind), w.Name),
			}))
		case limit > 0 && r.Most > limit/10*9:
			found = append(found, w.about(c.Name, "resources", Finding{
				Rule: "memory-limit-near-use", Severity: Warning,
				Text:   fmt.Sprintf("used up to %s, and its memory limit is %s", size(r.Most), size(limit)),
				Reason: "with a little more load the kernel OOM-kills one of its processes",
				Fix:    fmt.Sprintf("set resources.limits.memory to %s or more", size(r.Most/4*5)),
			}))
		}
		if r.Most > request && w.Pod.Spec.Resources == nil {
			found = append(found, w.about(c.Name, "resources", Finding{
				Rule: "memory-request-below-use", Severity: Note,
				Text:   fmt.Sprintf("used up to %s, and requests %s", size(r.Most), size(request)),
				Reason: "other pods may get the difference; when memory runs short, pods that use more than they request are evicted first",
				Fix:    fmt.Sprintf("set resources.requests.memory to %s", size(r.Most)),
			}))
		}
	}
	return found
}
