package health

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
)

// Resources of a node that can run short without being in Kubernetes' own lists
// (kubelet: eviction/helpers.go, resourceInodes and resourcePids).
const (
	ResourceInodes v1.ResourceName = "inodes"
	ResourcePIDs   v1.ResourceName = "pids"
)

// Candidate is a pod that could go so that the node gets a resource back.
type Candidate struct {
	Pod      fact.Pod
	QoS      v1.PodQOSClass
	Priority int32
	// Measured says that Usage is known.
	Measured bool
	// Usage is what the pod uses of the resource that is short, Request what it
	// asked for: bytes, inodes or processes. For inodes and processes nothing can
	// be asked for.
	Usage, Request int64
	// Critical pods never go, see [Critical].
	Critical bool
}

// over is how much the pod uses beyond what it asked for.
func (c Candidate) over() int64 { return c.Usage - c.Request }

// MeasuredPod is a pod that runs, measured for what is short.
type MeasuredPod struct {
	Candidate
	Object *v1.Pod
	// Whole is set for a pod with requests of its own; Containers are those that
	// could be measured.
	Whole      *ContainerUse
	Containers []ContainerUse
}

// Need is what makes a pod go.
type Need struct {
	// Signal is the node signal (memory.available…).
	Signal string
	Shortage
	// Seen is the same as it is kept.
	Seen fact.Shortage
	// Hard is set for a threshold at which pods go at once; SoftGrace is the most
	// time, in seconds, that they have for another.
	Hard      bool
	SoftGrace int64
}

// hardGrace is the time in seconds that a pod has to end for a hard threshold
// (kubelet: immediateEvictionGracePeriodSeconds).
const hardGrace = 1

// ChooseToEvict decides which pod goes for what a node is short of, and gives all that
// this rests on; false where none may go. The pod's own machine decides its end by it.
func ChooseToEvict(n Need, pods []MeasuredPod) (fact.Pod, fact.EvictionNeeded, bool) {
	candidates := make([]Candidate, 0, len(pods))
	for i := range pods {
		candidates = append(candidates, pods[i].Candidate)
	}
	ranked := Rank(n.Resource, candidates)
	if len(ranked) == 0 {
		return fact.Pod{}, fact.EvictionNeeded{}, false
	}
	victim := ranked[0].Pod
	p := pods[slices.IndexFunc(pods, func(p MeasuredPod) bool { return p.Pod == victim })]
	return victim, fact.EvictionNeeded{
		Reason: "Evicted", Message: EvictionMessage(n.Shortage, p.Object, p.Whole, p.Containers), Signal: n.Signal,
		GraceSeconds: n.grace(p.Object), Ranking: Ranking(ranked), Shortage: &n.Seen,
	}, true
}

// grace is how long the pod may take to end, in seconds.
func (n Need) grace(pod *v1.Pod) int64 {
	if n.Hard {
		return hardGrace
	}
	if own := pod.Spec.TerminationGracePeriodSeconds; own != nil {
		return min(n.SoftGrace, *own)
	}
	return n.SoftGrace
}

// Critical says that a pod is never evicted: a static pod would not come back,
// and what has a system priority keeps the node or the cluster alive (kubelet:
// types/pod_update.go, IsCriticalPod).
func Critical(pod *v1.Pod, static bool) bool {
	const systemCritical = 2 * 1000000000 // pkg/apis/scheduling/types.go
	if _, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]; mirror || static {
		return true
	}
	return pod.Spec.Priority != nil && *pod.Spec.Priority >= systemCritical
}

// Rank orders those who may go for want of a resource, first to go first.
//
// For memory and disk: who uses more than it asked for, then lower priority, then
// larger use beyond the request. For processes: lower priority, then larger use.
// A pod that could not be measured goes before all that were (kubelet:
// eviction/helpers.go, rankMemoryPressure, rankDiskPressureFunc,
// rankPIDPressure). Two things are better defined than there: pods that are equal
// in all this are ordered by name, and a request of bytes is not subtracted from
// a number of inodes.
func Rank(short v1.ResourceName, candidates []Candidate) []Candidate {
	ranked := slices.DeleteFunc(slices.Clone(candidates), func(c Candidate) bool { return c.Critical })
	slices.SortFunc(ranked, func(a, b Candidate) int {
		return cmp.Or(
			compareWant(short, a, b),
			cmp.Compare(a.Pod.Namespace, b.Pod.Namespace), cmp.Compare(a.Pod.Name, b.Pod.Name), cmp.Compare(a.Pod.UID, b.Pod.UID),
		)
	})
	return ranked
}

// compareWant is negative if a goes before b. As in kubelet a measurement only
// counts where both pods were measured, and priority comes before it for
// processes.
func compareWant(short v1.ResourceName, a, b Candidate) int {
	unmeasured := yesFirst(!a.Measured, !b.Measured)
	if short == ResourcePIDs {
		return cmp.Or(cmp.Compare(a.Priority, b.Priority), unmeasured, cmp.Compare(b.Usage, a.Usage))
	}
	return cmp.Or(unmeasured,
		yesFirst(a.over() > 0, b.over() > 0),
		cmp.Compare(a.Priority, b.Priority),
		cmp.Compare(b.over(), a.over()))
}

func yesFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// maxRanked bounds the ranking that is kept with an eviction.
const maxRanked = 10

// Ranking is the order in the form in which an eviction keeps it.
func Ranking(ranked []Candidate) []fact.Ranked {
	kept := make([]fact.Ranked, 0, min(len(ranked), maxRanked))
	for _, c := range ranked[:min(len(ranked), maxRanked)] {
		kept = append(kept, fact.Ranked{Pod: c.Pod, QoS: string(c.QoS), Priority: c.Priority, Usage: c.Usage, Request: c.Request})
	}
	return kept
}

// Shortage is what a node is short of, for the message of an eviction.
type Shortage struct {
	Resource v1.ResourceName
	// Threshold is how much should be left, Available how much is.
	Threshold, Available *resource.Quantity
}

// ContainerUse is what a container uses of the resource, where it was measured.
type ContainerUse struct {
	Name           string
	Usage, Request resource.Quantity
}

// EvictionMessage says why the pod goes, in kubelet's words (eviction/helpers.go,
// evictionMessage). Whole is the use of a pod that has requests of its own
// (KEP 2837), nil for others; each are its containers. Those that use no more
// than they asked for are not named.
func EvictionMessage(s Shortage, pod *v1.Pod, whole *ContainerUse, each []ContainerUse) string {
	text := fmt.Sprintf("The node was low on resource: %v. ", s.Resource)
	if s.Threshold != nil && s.Available != nil {
		text += fmt.Sprintf("Threshold quantity: %v, available: %v. ", s.Threshold, s.Available)
	}
	if whole != nil {
		text += fmt.Sprintf("Pod %s was using %s, request is %s, has larger consumption of %v. ",
			pod.Name, whole.Usage.String(), whole.Request.String(), s.Resource)
	}
	for _, c := range each {
		if c.Usage.Cmp(c.Request) > 0 {
			text += fmt.Sprintf("Container %s was using %s, request is %s, has larger consumption of %v. ",
				c.Name, c.Usage.String(), c.Request.String(), s.Resource)
		}
	}
	return text
}
