package observe

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/observe/kubelet"
	"whylet.dev/whylet/pods"
)

// ranked takes the order in which kubelet would evict pods for what its node ran short of.
// The first that may go at all goes. What each used, kubelet does not say: it is measured
// now, a moment later, where it still can be.
func (a *Agent) ranked(word kubelet.Word, short string) {
	now := time.Since(word.At) < stillSo
	var victim fact.Pod
	var order []health.Candidate
	unmeasured := map[fact.Pod]bool{}
	for _, name := range word.Ranked {
		pod, ok := a.loop.pods.Named(name.Namespace, name.Name, word.At)
		if !ok || pod.Object == nil {
			continue
		}
		_, static := pod.Object.Annotations[v1.MirrorPodAnnotationKey]
		if health.Critical(pod.Object, static) {
			continue
		}
		c := health.Candidate{Pod: pod.Key, QoS: pod.Status.QOSClass}
		if pod.Object.Spec.Priority != nil {
			c.Priority = *pod.Object.Spec.Priority
		}
		c.Usage, c.Request, c.Measured = a.uses(pod, short, now)
		unmeasured[pod.Key] = !c.Measured
		if order = append(order, c); victim.UID == "" {
			victim = pod.Key
		}
	}
	if victim.UID == "" {
		return
	}
	b := fact.EvictionNeeded{Reason: "Evicted", Signal: signals[short], Ranking: health.Ranking(order)}
	for i := range b.Ranking {
		b.Ranking[i].Unmeasured = unmeasured[b.Ranking[i].Pod]
	}
	a.loop.submit(fact.Fact{At: word.At, Pod: victim, Body: b})
}

// signals are those of what kubelet says that it reclaims.
var signals = map[string]string{"memory": "memory.available", "ephemeral-storage": "nodefs.available", "inodes": "nodefs.inodesFree", "pids": "pid.available"}

// stillSo is for how long after kubelet's word what is measured is like what it measured.
const stillSo = 5 * time.Second

// uses is how much a pod uses of a resource now, and what it asked for.
func (a *Agent) uses(pod pods.Pod, resource string, now bool) (usage, request int64, ok bool) {
	if resource == "memory" {
		request = health.MemoryAsk(&pod.Object.Spec).Request
	}
	if !now || a.kernel.groups == nil || resource != "memory" && !strings.HasPrefix(resource, "pid") {
		return 0, request, false
	}
	group, ok := a.kernel.groups.Path(pod.Key.UID, "")
	if !ok {
		return 0, request, false
	}
	s, err := group.Read()
	if err != nil {
		return 0, request, false
	}
	if resource == "memory" {
		return s.WorkingSet, request, true
	}
	return s.PIDs, request, true
}
