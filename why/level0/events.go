package level0

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// combined is what client-go writes before the newest message of events that differ in little
// (tools/record, EventAggregatorByReasonMessageFunc).
const combined = "(combined from similar events): "

// relevant are the events about this very pod: one of the same name before it had
// another uid.
func relevant(events []v1.Event, pod *v1.Pod) []v1.Event {
	var own []v1.Event
	for _, e := range events {
		if e.InvolvedObject.UID == pod.UID && pod.UID != "" {
			e.Message = strings.TrimPrefix(e.Message, combined)
			own = append(own, e)
		}
	}
	return own
}

// last is when an event was seen last.
func last(e v1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.FirstTimestamp.Time
}

// first is when an event was seen first.
func first(e v1.Event) time.Time {
	switch {
	case !e.FirstTimestamp.IsZero():
		return e.FirstTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return last(e)
}

// of says whether an event is about a container: kubelet writes it into the field path,
// as spec.containers{web} (k8s.io/kubernetes pkg/kubelet/container/ref.go).
func of(e v1.Event, container string) bool {
	return strings.HasSuffix(e.InvolvedObject.FieldPath, "{"+container+"}")
}

// newestEvent is the event of one of some reasons that was seen last; nil where there
// is none. An empty container takes those about the pod, too.
func (c *podCase) newestEvent(container string, reasons ...string) *v1.Event {
	var best *v1.Event
	for i := range c.events {
		e := &c.events[i]
		if container != "" && !of(*e, container) {
			continue
		}
		for _, r := range reasons {
			if e.Reason == r && (best == nil || last(*e).After(last(*best))) {
				best = e
			}
		}
	}
	return best
}

// slack is how far kubelet's events and the runtime's times of one moment may be apart:
// both are whole seconds.
const slack = 2 * time.Second

// ordered is kubelet's word that it ended the run of a container that ended at the given
// time: a Killing event between the end and a grace period before, as it was then. An event
// that is told again keeps the times of the first and of the last. What is ordered in a run
// ends it, however long a busy node takes for that.
func (c *podCase) ordered(container string, ended time.Time) *v1.Event {
	e := c.newestEvent(container, "Killing")
	if e == nil {
		return nil
	}
	began, known := c.began(container, ended)
	for _, at := range []time.Time{last(*e), first(*e)} {
		if at.After(ended.Add(slack)) || at.Before(ended.Add(-c.grace()-slack)) && (!known || !at.After(began)) {
			continue
		}
		then := *e
		then.Series, then.LastTimestamp, then.EventTime = nil, metav1.NewTime(at), metav1.MicroTime{}
		return &then
	}
	return nil
}

// began is when the run of a container began that ended at the given time.
func (c *podCase) began(container string, ended time.Time) (time.Time, bool) {
	for _, all := range [][]v1.ContainerStatus{c.Pod.Status.ContainerStatuses, c.Pod.Status.InitContainerStatuses} {
		for _, st := range all {
			for _, t := range []*v1.ContainerStateTerminated{st.State.Terminated, st.LastTerminationState.Terminated} {
				if st.Name == container && t != nil && t.FinishedAt.Time.Equal(ended) && !t.StartedAt.IsZero() {
					return t.StartedAt.Time, true
				}
			}
		}
	}
	return time.Time{}, false
}

// grace is the longest that kubelet lets a container of this pod end by itself.
func (c *podCase) grace() time.Duration {
	grace := int64(30)
	if g := c.Pod.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = *g
	}
	for _, k := range c.Pod.Spec.Containers {
		for _, p := range []*v1.Probe{k.LivenessProbe, k.StartupProbe} {
			if p != nil && p.TerminationGracePeriodSeconds != nil {
				grace = max(grace, *p.TerminationGracePeriodSeconds)
			}
		}
	}
	return time.Duration(grace) * time.Second
}

// Kubelet writes 25 events of one pod, and then one more each five minutes (client-go
// tools/record, defaultSpamBurst); they are kept for an hour (kube-apiserver,
// --event-ttl).
const (
	refill   = 5 * time.Minute
	burst    = 25
	keptFor  = 25 * time.Minute
	fewWords = 2
)

// silent says that kubelet did not order the end of a run, as its word for it is not
// there, though it would be: nothing in the pod's spec could have made it order one, or it
// could still write of the next run, within the time in which it may write one event more
// than at the end.
func (c *podCase) silent(container string, ended time.Time) bool {
	if c.Pod.DeletionTimestamp != nil || c.ordered(container, ended) != nil {
		return false
	}
	if !c.mayBeEnded(container) || c.heardAll(container) {
		return true
	}
	// It has ordered several ends of this container: of this one its word may have been lost,
	// as when there were too many, or it was restarted.
	orders := int32(0)
	for _, e := range c.events {
		if e.Reason == "Killing" && of(e, container) {
			orders += max(e.Count, 1)
		}
	}
	if orders > 1 {
		return false
	}
	after := 0
	for _, e := range c.events {
		about := last(e).Sub(ended)
		if of(e, container) && slices.Contains([]string{"Pulled", "Created", "Started", "BackOff"}, e.Reason) && about >= -slack && about < refill-c.grace() {
			after++
		}
	}
	return after >= fewWords && c.Now.Sub(ended) < keptFor
}

// spent says whether kubelet has written as many events of this pod as it does before it
// gives any up.
func (c *podCase) spent() bool {
	count := int32(0)
	for _, e := range c.events {
		if e.Source.Component == "kubelet" {
			count += max(e.Count, 1)
		}
	}
	return count >= burst
}

// atOnce is how many events of one pod kubelet writes at least before it gives any up.
const atOnce = 20

// heardAll says that no word of kubelet about a container's ends can be missing: those
// about its pod are fewer than it writes at once, the oldest event of all, which is not
// written again, is still there, and each order is told with a time of its own.
func (c *podCase) heardAll(container string) bool {
	count, oldest := int32(0), false
	for _, e := range c.events {
		switch {
		case e.Reason == "Scheduled":
			oldest = !last(e).After(c.Pod.CreationTimestamp.Add(refill))
		case e.Reason == "Killing" && of(e, container) && e.Count > 1:
			return false
		default:
			count += max(e.Count, 1)
		}
	}
	return oldest && count <= atOnce
}

// mayBeEnded says whether something in the pod's spec makes kubelet end a container: a
// probe, a hook, or that the spec was changed.
func (c *podCase) mayBeEnded(container string) bool {
	k := c.container(container)
	return k == nil || k.LivenessProbe != nil || k.StartupProbe != nil || k.Lifecycle != nil && k.Lifecycle.PostStart != nil || c.Pod.Generation > 1
}

func (c *podCase) container(name string) *v1.Container {
	for _, list := range [][]v1.Container{c.Pod.Spec.Containers, c.Pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
