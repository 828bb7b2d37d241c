package why

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// evictionFinding says what made the node evict the pod, and by which rank.
func (h *inquiry) evictionFinding() finding {
	at, b, ok := fact.Latest[fact.Evict](h.Facts)
	f := finding{cause: answer.CauseUnknown, certainty: answer.Recorded, weight: certain, chain: append(links(at), h.firstLinks(at)...)}
	if !ok {
		f.certainty = answer.Unknown
		f.text = "The pod was evicted; the decision is not kept."
		return f
	}
	message := strings.TrimSpace(prose.Brief(b.Message, 200))
	f.cause = evictedFor(b.Signal)
	if len(b.Ranking) == 0 && b.Shortage == nil && !strings.HasSuffix(b.Signal, ".available") && !strings.HasSuffix(b.Signal, "inodesFree") { // not for the node
		f.text = fmt.Sprintf("The node evicted the pod because it exceeded a storage limit of its own: %s", message)
		which := "the limit of the volume or of ephemeral-storage"
		if m := ofVolume.FindStringSubmatch(message); m != nil {
			which = fmt.Sprintf("sizeLimit of volume %s (an emptyDir)", m[1])
		}
		f.fixes = []answer.Fix{h.specFix("raise " + which + ", or write less there")}
		return f
	}
	f.text = fmt.Sprintf("%s, and this pod was the first to be evicted: %s", ranShort(b), message)
	most := h.heldMost(b, &f)
	f.fixes = []answer.Fix{h.nodeFix()}
	if fix, ok := elsewhere(b); ok {
		f.text = fmt.Sprintf("%s, and this pod was the first to be evicted. %s", ranShort(b), podsHold(b))
		f.first(fix)
	} else {
		of := map[answer.Cause]string{answer.EvictedMemory: "memory", answer.EvictedDisk: "ephemeral-storage"}[f.cause]
		f.first(h.specFix("have " + cmp.Or(most, "the pod") + " use less, or set its request of " + cmp.Or(of, "pods") + " to what it really uses: pods above their requests are evicted first"))
	}
	if len(b.Ranking) > 0 {
		f.notes = []answer.Note{evictedInOrder(at, b)}
	}
	if worst, ok := heaviest(b.Ranking, h.Pod); ok {
		f.notes = append(f.notes, answer.Note{Cause: f.cause, Text: fmt.Sprintf("pod %s used most: %s", worst.Pod, answer.Amount(b.Signal)(worst.Usage)), Facts: []fact.ID{at.ID}})
	}
	return f
}

func evictedInOrder(at *fact.Fact, b fact.Evict) answer.Note {
	return answer.Note{Cause: evictedFor(b.Signal), Text: "the order of eviction was: " + answer.EvictionOrder(b.Signal, b.Ranking), Facts: []fact.ID{at.ID}}
}

// used fits what kubelet says of each container that used more than it requests (pkg/kubelet/eviction,
// helpers.go, containerMessageFmt).
var used = regexp.MustCompile(`Container (\S+) was using (\S+), request is (\S+), has larger consumption of \S+\.`)

// heldMost says in a finding how much each container held by kubelet's own message, the largest first, and returns
// the largest; empty where the message has none.
func (h *inquiry) heldMost(b fact.Evict, f *finding) string {
	type use struct {
		container, request string
		held               resource.Quantity
	}
	var all []use
	for _, m := range used.FindAllStringSubmatch(b.Message, -1) {
		if held, err := resource.ParseQuantity(m[2]); err == nil && len(m[2]) < 32 {
			all = append(all, use{m[1], m[3], held})
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.SortStableFunc(all, func(a, b use) int { return b.held.Cmp(a.held) })
	var said []string
	for _, u := range all {
		said = append(said, fmt.Sprintf("container %s held %s, and requests %s", u.container, answer.Amount(b.Signal)(u.held.Value()), u.request))
	}
	message, _, _ := strings.Cut(b.Message, " Container ")
	f.text = fmt.Sprintf("%s, and kubelet chose this pod first: %s. Kubelet says: %s", ranShort(b), prose.Some(said), prose.Brief(message, 200))
	return "container " + all[0].container
}

// ofVolume fits whose limit kubelet says that was exceeded (pkg/kubelet/eviction).
var ofVolume = regexp.MustCompile(`EmptyDir volume "([^"]+)"`)

// ranShort says of what, and how much there was.
func ranShort(b fact.Evict) string {
	if b.Shortage == nil {
		return fmt.Sprintf("The node ran short (%s)", b.Signal)
	}
	n := answer.Amount(b.Signal)
	return fmt.Sprintf("The node ran short (%s: %s of %s left, where it keeps %s)", b.Signal, n(b.Shortage.Available), n(b.Shortage.Capacity), n(b.Shortage.Threshold))
}

// elsewhere is what to look for where the pods hold so little of what ran short that
// without all of them it would be as short: less than a tenth of what is in use.
// What is left below the pods' own limit is always theirs.
func elsewhere(b fact.Evict) (answer.Fix, bool) {
	s := b.Shortage
	if s == nil || strings.HasPrefix(b.Signal, "allocatable") || s.Pods >= (s.Capacity-s.Available)/10 {
		return answer.Fix{}, false
	}
	look := map[answer.Cause]answer.Fix{
		answer.EvictedMemory: kubectl.OnNode("find the program outside of all pods that takes the memory", "ps -eo rss,pid,comm --sort=-rss | head"),
		answer.EvictedDisk:   kubectl.OnNode("find what fills the disk, and make room", "du -xh --max-depth=2 / | sort -h | tail -20"),
		answer.EvictedPIDs:   kubectl.OnNode("find the program outside of all pods that has so many processes", "ps -eo comm | sort | uniq -c | sort -n | tail"),
	}
	return look[evictedFor(b.Signal)], true
}

// podsHold says why what ran short is not to be looked for among the pods.
func podsHold(b fact.Evict) string {
	return fmt.Sprintf("When they were last measured, all pods together held only %s of it: what takes the rest is most likely none of them.", answer.Amount(b.Signal)(b.Shortage.Pods))
}

// heaviest is the pod of a ranking that used most, if it is not the one at hand.
func heaviest(ranking []fact.Ranked, but fact.Pod) (fact.Ranked, bool) {
	var worst fact.Ranked
	for _, r := range ranking {
		if r.Usage > worst.Usage {
			worst = r
		}
	}
	return worst, worst.Usage > 0 && worst.Pod.UID != but.UID
}

// putEvictions puts into an answer the newest evictions for want of the node's resources, with the order that was used.
func putEvictions(a *answer.Answer, pods []fact.Fact, o Options) {
	n := 0
	for f, b := range newest[fact.Evict](fact.All[fact.Evict](pods)) {
		if len(b.Ranking) == 0 || n >= maxOutages || f.Seen.Before(o.Since) {
			continue
		}
		n++
		why := concluded(evictedFor(b.Signal), certain, f).recorded().
			says("%s and evicted pod %s, which was first of %s in the order of eviction.", ranShort(b), f.Pod, prose.Plural(len(b.Ranking), "pod"))
		why.notes = []answer.Note{evictedInOrder(f, b)}
		if fix, ok := elsewhere(b); ok {
			why.text += " " + podsHold(b)
			why.fixes = []answer.Fix{fix}
		}
		a.Put(answer.Symptom{Kind: answer.Evicted, Count: 1, First: f.Seen, Last: f.Seen, Pod: f.Pod.String(), Text: "pod " + f.Pod.String()}, why.verdict("", nil))
	}
}

func evictedFor(signal string) answer.Cause {
	switch {
	case strings.Contains(strings.ToLower(signal), "memory"):
		return answer.EvictedMemory
	case strings.HasPrefix(signal, "pid"):
		return answer.EvictedPIDs
	}
	return answer.EvictedDisk
}
