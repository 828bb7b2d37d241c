package fromapi

import (
	"slices"
	"time"

	"whylet.dev/whylet/observe/reported"
	"whylet.dev/whylet/shadow"
)

// Kubelet writes 25 events of one pod, and then one more each five minutes (client-go
// tools/record, defaultSpamBurst); they are kept for an hour (kube-apiserver,
// --event-ttl).
const (
	burst    = 25
	refill   = 5 * time.Minute
	keptFor  = 25 * time.Minute
	fewWords = 2
	// atOnce is how many events of one pod kubelet writes at least before it gives any up.
	atOnce = 20
)

// silent says that kubelet did not order the end of a run, as its word for it is not
// there, though it would be: nothing in the pod's spec could have made it order one, or it
// could still write of the next run, within the time in which it may write one event more
// than at the end.
func (t *teller) silent(container string, r run) bool {
	if t.Pod.DeletionTimestamp != nil || t.sandboxAnew(r) || t.killed(container, func(e reported.Event, at time.Time) bool { return t.attempt(e, at) == r.attempt }) > 0 {
		return false
	}
	if !t.mayBeEnded(container) || t.heardAll(container) {
		return true
	}
	// It has ordered several ends of this container: of this one its word may have been lost,
	// as when there were too many, or it was restarted.
	if t.killed(container, func(reported.Event, time.Time) bool { return true }) > 1 {
		return false
	}
	after := 0
	for _, e := range t.events {
		about := e.Last.Sub(r.until)
		if e.Container == container && slices.Contains([]string{"Pulled", "Created", "Started", "BackOff"}, e.Reason) && about >= -slack && about < refill-t.grace() {
			after++
		}
	}
	return after >= fewWords && t.Now.Sub(r.until) < keptFor
}

// sandboxAnew says whether the pod got another sandbox after a run had begun: what was in
// the first ended with it.
func (t *teller) sandboxAnew(r run) bool {
	up := condition(t.Pod, "PodReadyToStartContainers")
	return up != nil && up.Status == "True" && up.LastTransitionTime.Sub(r.from) > anew
}

// killed counts kubelet's words that it ends a container, of those times that are meant.
func (t *teller) killed(container string, meant func(e reported.Event, at time.Time) bool) (n int64) {
	for _, e := range t.events {
		if e.Reason == shadow.SaidKilling && e.Container == container && (meant(e, e.Last) || meant(e, e.First)) {
			n += max(e.New, 1)
		}
	}
	return n
}

// heardAll says that no word of kubelet about a container's ends can be missing: those
// about its pod are fewer than it writes at once, the oldest event of all, which is not
// written again, is still there, and each order is told with a time of its own.
func (t *teller) heardAll(container string) bool {
	count, oldest := int64(0), false
	for _, e := range t.events {
		switch {
		case e.Reason == "Scheduled":
			oldest = !e.Last.After(t.Pod.CreationTimestamp.Add(refill))
		case e.Reason == shadow.SaidKilling && e.Container == container && e.New > 1:
			return false
		default:
			count += max(e.New, 1)
		}
	}
	return oldest && count <= atOnce
}

// mayBeEnded says whether something in the pod's spec makes kubelet end a container: a
// probe, a hook, or that the spec was changed.
func (t *teller) mayBeEnded(container string) bool {
	k := t.spec(container)
	return k == nil || k.LivenessProbe != nil || k.StartupProbe != nil || k.Lifecycle != nil && k.Lifecycle.PostStart != nil || t.Pod.Generation > 1
}
