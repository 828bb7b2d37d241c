package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

const (
	rolloutBefore = 15 * time.Minute
	rolloutAfter  = 2 * time.Minute
	// replaces is how soon a controller makes up for a pod that somebody deleted.
	replaces = 10 * time.Second
)

func (h *inquiry) deletionFinding() finding {
	best, rest := deletedRules.hear(h).judge()
	if best == nil {
		return rest[0]
	}
	return *best
}

// deletion takes the object's own word.
func deletion(h *inquiry) *finding {
	f := &finding{cause: answer.Deleted, weight: fair, text: "The pod was deleted. The object does not record who deleted it."}
	at, b, ok := h.Deletion()
	if !ok {
		return f
	}
	f.chain = links(at)
	said, target := h.disruption()
	switch {
	case b.Reason == "Preempted" || target != nil && target.Reason == v1.PodReasonPreemptionByScheduler:
		f.cause, f.weight, f.text = answer.Preempted, certain, "The scheduler deleted the pod to make room for one of higher priority."
	case target != nil && target.Reason == "DeletionByTaintManager":
		f.weight, f.text = certain, "The pod was deleted because its node got a taint with the effect NoExecute that it does not tolerate, or not for longer. The node itself was well: somebody set that taint."
		f.fixes = []answer.Fix{h.inspect("see the node's taints", "kubectl get nodes -o custom-columns=NODE:.metadata.name,TAINTS:.spec.taints"), h.specFix("give the pod a toleration, if it should stay")}
		away := func(o Outage) bool {
			return o.From.Before(at.Seen) && (o.Until.IsZero() || o.Until.After(at.Seen.Add(-missed)))
		}
		if slices.ContainsFunc(Outages(h.Node), away) {
			f.cause, f.text = answer.NodeLost, "The pod was deleted because its node did not report for longer than the pod tolerates: "+prose.Brief(target.Message, kept)
		}
	case target != nil:
		f.weight, f.text = certain, fmt.Sprintf("The pod was deleted for what its condition DisruptionTarget says (%s): %s", target.Reason, prose.Brief(target.Message, kept))
		f.chain = links(said, at)
		if target.Reason == fact.EvictedByAPI {
			evicted(f, target, at.When())
		}
		if request, b := h.Requested(); request != nil && (b.Verb == "evict" || target.Reason != fact.EvictedByAPI) {
			f.chain, f.certainty = links(request, said, at), answer.Recorded
			if b.Asked {
				f.certainty = answer.Inferred
			}
			f.because = []string{fmt.Sprintf("It was %s who asked for it.", requester(b))}
		}
	case h.byOther():
		return h.deletedByOther(at)
	case h.byOwn() != nil:
		return h.deletedByOwn(h.byOwn(), at)
	case b.Gone && b.By != "":
		f.text = fmt.Sprintf("The manifest of the static pod was removed from %s.", b.By)
	}
	if heir := h.heir(); heir != nil && target == nil {
		f.chain = append(f.chain, kinLink(heir))
		f.text = fmt.Sprintf("The pod was deleted by somebody else than its controller, which made %s in its place.", fact.Of[fact.SpecSeen](heir).Object.Name)
	}
	if f.fixes == nil {
		f.fixes = []answer.Fix{h.inspect("see what its controller did", h.kubectl("get events --sort-by=.lastTimestamp"))}
	}
	return f
}

// disruption is the condition that was written because the pod was to be deleted, with the
// fact that has it; nil where there was none. kubelet ends pods and leaves their objects, and
// a condition that is newer than the deletion is about another request.
func (h *inquiry) disruption() (*fact.Fact, *v1.PodCondition) {
	at, _, ok := h.Deletion()
	if !ok {
		return nil, nil
	}
	said := lastThat(fact.All[fact.ConditionsSeen](h.Facts), func(f *fact.Fact) bool { return f.ID < at.ID })
	c := fact.Disruption(fact.Of[fact.ConditionsSeen](said).Conditions, at.When())
	if c == nil {
		return nil, nil
	}
	return said, c
}

// evicted says that somebody asked for an eviction: the API server writes so itself, right
// before it deletes the pod. A deletion that is much later may be another one.
func evicted(f *finding, c *v1.PodCondition, deleted time.Time) {
	f.text = "The pod was evicted: somebody asked the API server to evict it, as kubectl drain does."
	f.because = []string{"Who asked, the API server does not write into the pod: its audit log may tell, and the webhook for deletions would have."}
	if c.LastTransitionTime.Time.Before(deleted.Add(-follows)) {
		f.weight = strong
	} else {
		f.certainty = answer.Recorded
	}
}

// follows is how soon the API server deletes a pod that it has marked as evicted.
const follows = 10 * time.Second

// missed is how long before a deletion its node may have been away to be the reason: the
// control plane waits 40 s, and the pod's tolerations are for 5 minutes by default.
const missed = 10 * time.Minute

// replacedByRevision: a newer revision of its controller's template took its place.
func replacedByRevision(h *inquiry) *finding {
	at, _, ok := h.Deletion()
	if _, target := h.disruption(); !ok || target != nil || h.byOther() {
		return nil
	}
	others := h.kin(at.Seen.Add(-rolloutBefore), at.Seen.Add(rolloutAfter), func(o *v1.Pod) bool { return revision(o) != revision(h.Object) })
	if len(others) == 0 {
		return nil
	}
	newest := others[len(others)-1]
	object := fact.Of[fact.SpecSeen](newest).Object
	f := concluded(answer.RolledOut, strong, at).fix(h.inspectRollout()).
		says("Its controller replaced the pod by one of another revision: %s came (revision %s instead of %s).", object.Name, revision(object), revision(h.Object))
	f.chain = append(f.chain, kinLink(newest))
	return f
}

// kin are the other pods of the pod's workload that fit and were first seen in a time, and not before the pod itself.
func (h *inquiry) kin(after, before time.Time, fits func(*v1.Pod) bool) (all []*fact.Fact) {
	for k, b := range every[fact.SpecSeen](h.Kin) {
		if o := b.Object; o != nil && k.Pod.UID != h.Pod.UID && kubectl.Related(h.Object, o) && fits(o) && k.Seen.After(after) && k.Seen.Before(before) && !k.Seen.Before(h.FirstSeen()) {
			all = append(all, k)
		}
	}
	return all
}

func (h *inquiry) inspectRollout() answer.Fix {
	return h.inspect("see what changed between the revisions", h.kubectl("rollout history %s", kubectl.Workload(h.Object)))
}

// notReplaced: its controller did not want it any more.
func notReplaced(h *inquiry) *finding {
	at, _, ok := h.Deletion()
	kind, name := h.Controller()
	request, _ := h.Requested()
	word := h.ownWord()
	settled := ok && (request != nil && h.Beside == "" || (request != nil || word != nil) && h.ofNone() || h.Alone && h.Now.Sub(at.Seen) >= replaces)
	if _, target := h.disruption(); !settled || target != nil || kind != "ReplicaSet" && kind != "StatefulSet" || h.heir() != nil || h.byOther() {
		return nil
	}
	return concluded(answer.ScaledDown, strong, request, word, at).fix(h.inspectScale()).
		says("%s %s no longer wanted the pod: it was deleted and not replaced. It was scaled down, or removed itself.", kind, name)
}

func (h *inquiry) inspectScale() answer.Fix {
	return h.inspect("see how many are wanted now, and who changed that", h.kubectl("get %s --show-managed-fields -o yaml", kubectl.Workload(h.Object)))
}

// heir is the first pod of the same revision that came right after the deletion.
func (h *inquiry) heir() *fact.Fact {
	at, _, ok := h.Deletion()
	if kind, _ := h.Controller(); !ok || kind == "" || kind == "Job" {
		return nil
	}
	like := func(o *v1.Pod) bool { return revision(o) == revision(h.Object) }
	for _, k := range h.kin(at.Seen.Add(-time.Second), at.Seen.Add(replaces+h.graceful()), like) {
		return k
	}
	return nil
}

// graceful is how long a StatefulSet's next pod waits for this one to be gone.
func (h *inquiry) graceful() time.Duration {
	if kind, _ := h.Controller(); kind != "StatefulSet" {
		return 0
	}
	return time.Duration(ptr.Deref(h.Object.Spec.TerminationGracePeriodSeconds, 0)) * time.Second
}

// revision tells the templates of a workload apart.
func revision(pod *v1.Pod) string {
	if pod == nil {
		return ""
	}
	return cmp.Or(pod.Labels["pod-template-hash"], pod.Labels["controller-revision-hash"])
}

func kinLink(f *fact.Fact) answer.Link {
	l := link(f)
	l.Text = fmt.Sprintf("pod %s was seen first (revision %s)", fact.Of[fact.SpecSeen](f).Object.Name, revision(fact.Of[fact.SpecSeen](f).Object))
	return l
}

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
	done := prose.Whether(b.Verb == "evict", "evicted (as kubectl drain does)", "deleted")
	f := concluded(answer.Deleted, certain, request, at).recorded().says("The pod was %s by %s.", done, requester(b))
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
	d := fact.Departure{Deleted: at.When(), Grace: time.Duration(ptr.Deref(h.Object.Spec.TerminationGracePeriodSeconds, 0)) * time.Second}
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
		return f.fix(h.inspectRollout())
	}
	f.cause = answer.ScaledDown
	f.text = fmt.Sprintf("Deployment %s wanted fewer pods: it scaled ReplicaSet %s down%s to %d, which deleted this one, and no other ReplicaSet of its came instead.", name, set, prose.Whether(r.Down.From < 0, "", fmt.Sprintf(" from %d", r.Down.From)), r.Down.To)
	return f.fix(h.inspectScale())
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
	f := concluded(answer.Deleted, fair, by, at).recorded().
		says("%s %s, which had made the pod, deleted it, and says so itself.", kind, name).
		fix(h.inspect("see what it says", h.kubectl("describe %s %s", strings.ToLower(kind), name)))
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
func (h *inquiry) wantedByOwn(f finding) (v answer.Verdict, ok bool) {
	may := []finding{f, {cause: answer.ScaledDown, weight: weak}, {cause: answer.RolledOut, weight: weak}}
	kind, _ := h.Controller()
	request, _ := h.Requested()
	switch by := h.byOwn(); {
	case f.cause != answer.Deleted || f.weight != fair:
	case by != nil && (kind == "ReplicaSet" || kind == "StatefulSet"):
		workload, _ := fact.Workload(h.Object)
		return undecided("", f.text, f.chain, may[1:], "Whether fewer pods were wanted, or those of another revision, the events of its "+workload+" say as long as they are kept.", f.fixes...), true
	case by == nil && request == nil && kind != "" && !h.Alone && h.heir() == nil: // pods that took its place may be on other nodes
		return undecided("", f.text, f.chain, may,
			"Whether its controller wanted it gone shows on other nodes and in the controller's events; who deleted it otherwise, in the API server's audit log.", f.fixes...), true
	}
	return v, false
}
