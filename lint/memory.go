package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
)

// memory checks one workload for itself.
func memory(w Workload) []Finding {
	var found []Finding
	podLimit := w.Pod.Spec.Resources != nil && !w.Pod.Spec.Resources.Limits.Memory().IsZero()
	for _, c := range w.longLived() {
		if c.Resources.Limits.Memory().IsZero() && !podLimit {
			found = append(found, w.about(c.Name, "resources", Finding{
				Rule: "no-memory-limit", Severity: Warning,
				Text:   "has no memory limit",
				Reason: "it can use all of the node's memory; then other pods are evicted",
				Fix:    "set resources.limits.memory to the most that it needs, and resources.requests.memory to what it usually needs",
			}))
		}
		found = append(found, w.memoryVolumes(c)...)
	}
	return found
}

// memoryVolumes finds volumes in memory that can fill a container's limit, alone or
// together.
func (w Workload) memoryVolumes(c *v1.Container) []Finding {
	limit := c.Resources.Limits.Memory()
	if limit.IsZero() {
		return nil
	}
	var names []string
	var sum int64
	for _, mount := range c.VolumeMounts {
		for i := range w.Pod.Spec.Volumes {
			v := &w.Pod.Spec.Volumes[i]
			if v.Name != mount.Name || v.EmptyDir == nil || v.EmptyDir.Medium != v1.StorageMediumMemory || slices.Contains(names, v.Name) {
				continue
			}
			names = append(names, v.Name)
			if size := v.EmptyDir.SizeLimit; size != nil && size.Sign() > 0 {
				sum += min(size.Value(), limit.Value())
			} else {
				sum += limit.Value()
			}
		}
	}
	if sum < limit.Value() || len(names) == 0 {
		return nil
	}
	return []Finding{w.about(c.Name, "volumeMounts", Finding{
		Rule: "memory-volume-within-limit", Severity: Warning,
		Text:   fmt.Sprintf("files in the memory-backed volume %s may grow to the container's memory limit of %s", strings.Join(names, " and "), limit),
		Reason: "these files count as the container's memory: when the volume fills up, its processes are OOM-killed",
		Fix:    "set emptyDir.sizeLimit well below limits.memory, or raise the limit by the size of the volume",
	})}
}

func (w Workload) ask() health.Ask { return health.MemoryAsk(&w.Pod.Spec) }

// together compares the sums over all pods with the node.
func together(workloads []Workload, node Node) []Finding {
	if node.Memory <= 0 {
		return nil
	}
	var requests, limits int64
	unlimited := 0
	for _, w := range workloads {
		a := w.ask()
		requests += a.Request * w.Replicas
		limits += a.Limit * w.Replicas
		if a.Unlimited && w.Replicas > 0 {
			unlimited++
		}
	}
	var found []Finding
	for _, w := range workloads {
		if a := w.ask(); node.Largest > 0 && a.Request > node.Largest && w.Replicas > 0 {
			found = append(found, w.about("", "", Finding{
				Rule: "larger-than-any-node", Severity: Error,
				Text:   fmt.Sprintf("requests %s of memory, and the largest node has %s for pods", size(a.Request), size(node.Largest)),
				Reason: "no node can take the pod: it stays Pending",
				Fix:    "lower resources.requests.memory, or add a larger node",
			}))
		}
	}
	if requests > node.Memory {
		found = append(found, Finding{
			Rule: "memory-requests-beyond-node", Severity: Error,
			Text:   fmt.Sprintf("memory requests add up to %s, %d %% of the %s that pods may have", size(requests), percent(requests, node.Memory), size(node.Memory)),
			Reason: "the scheduler places no more than fits: some pods stay Pending",
			Fix:    "lower requests to what the pods use, run fewer replicas, or take a larger node",
		})
	}
	if limits > node.Memory || unlimited > 0 {
		found = append(found, overcommitted(workloads, node, limits, unlimited))
	}
	return found
}

func overcommitted(workloads []Workload, node Node, limits int64, unlimited int) Finding {
	f := Finding{
		Rule: "memory-overcommitted", Severity: Warning,
		Text: fmt.Sprintf("memory limits add up to %s, %d %% of the %s that pods may have", size(limits), percent(limits, node.Memory), size(node.Memory)),
		Fix:  "set limits whose sum fits, and requests close to the limits for pods that must stay",
	}
	if unlimited > 0 {
		f.Text += fmt.Sprintf("; %d of %d workloads have no limit at all", unlimited, len(workloads))
	}
	f.Reason = "if all pods used their limits, some would be evicted"
	largest := slices.MaxFunc(workloads, func(a, b Workload) int {
		return cmp.Compare(a.ask().Most(node.Memory)*a.Replicas, b.ask().Most(node.Memory)*b.Replicas)
	})
	f.File, f.Line = largest.File, largest.line("")
	if fit := whatFits(workloads, node); fit != "" {
		f.Fix = "set limits whose sum fits, for instance " + fit + "; and requests close to the limits for pods that must stay"
	}
	if len(node.Recorded) > 0 {
		f.Reason = "if memory ran short, some pods would be evicted"
	}
	if order := evictionOrder(workloads, node); len(order) > 0 {
		f.Reason += ", in this order: " + strings.Join(order, ", ")
	}
	if safe := cannotGo(workloads); len(safe) > 0 {
		f.Reason += "; pods that use more than they request push out others, but not " + strings.Join(safe, ", ")
	}
	return f
}

// whatFits proposes limits for the pods that may use more than they ask for, empty
// where there are none that would do.
func whatFits(workloads []Workload, node Node) string {
	var asks []health.Ask
	var of []Workload // of each ask
	for _, w := range workloads {
		ask := w.ask()
		for range min(w.Replicas, maxProposed) {
			asks, of = append(asks, ask), append(of, w)
		}
	}
	fit := health.Fit(asks, node.Memory)
	var each []string
	for i, limit := range fit {
		if limit = limit >> 20 << 20; limit <= asks[i].Request || i > 0 && of[i].String() == of[i-1].String() {
			continue
		}
		each = append(each, fmt.Sprintf("%s for a pod of %s", size(limit), of[i].Kind+"/"+of[i].Name))
	}
	return strings.Join(each, ", ")
}

// maxProposed bounds how many pods of a workload are counted for a proposal: beyond,
// it is a mistake that other findings name.
const maxProposed = 1000

// evictionOrder is who would go first if every pod used all that it may.
func evictionOrder(workloads []Workload, node Node) []string {
	var candidates []health.Candidate
	for _, w := range workloads {
		a := w.ask()
		most := a.Most(node.Memory)
		if seen := node.Recorded.needs(w); seen > 0 {
			most = seen
		}
		c := health.Candidate{
			Pod:      fact.Pod{Namespace: w.Namespace, Name: w.Kind + "/" + w.Name},
			Measured: true, Usage: most, Request: a.Request,
			Critical: health.Critical(&v1.Pod{ObjectMeta: w.Pod.ObjectMeta, Spec: w.Pod.Spec}, false),
		}
		if w.Pod.Spec.Priority != nil {
			c.Priority = *w.Pod.Spec.Priority
		}
		if w.Replicas > 0 {
			candidates = append(candidates, c)
		}
	}
	var names []string
	for _, c := range health.Rank(v1.ResourceMemory, candidates) {
		if c.Usage > c.Request {
			names = append(names, c.Pod.Name)
		}
	}
	return names
}

// cannotGo are those that can never use more than they asked for.
func cannotGo(workloads []Workload) []string {
	var names []string
	for _, w := range workloads {
		if a := w.ask(); !a.Unlimited && a.Limit <= a.Request && w.Replicas > 0 {
			names = append(names, w.Kind+"/"+w.Name)
		}
	}
	return names
}

func size(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }

func percent(part, whole int64) int64 { return int64(float64(part) / float64(whole) * 100) }
