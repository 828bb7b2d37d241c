package level0

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// relevant are the events about this very pod: one of the same name before it had
// another uid.
func relevant(events []v1.Event, pod *v1.Pod) []v1.Event {
	var own []v1.Event
	for _, e := range events {
		if e.InvolvedObject.UID == pod.UID && pod.UID != "" {
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
// time: a Killing event between the end and a grace period before.
func (c *podCase) ordered(container string, ended time.Time) *v1.Event {
	e := c.newestEvent(container, "Killing")
	if e == nil || last(*e).After(ended.Add(slack)) || last(*e).Before(ended.Add(-c.grace()-slack)) {
		return nil
	}
	return e
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

// Events beyond this many of one pod are dropped by who would write them (client-go
// tools/record, defaultSpamBurst is 25, and one more each five minutes).
const spam = 20

// silent says that kubelet did not order the end of a run, as its word for it is not
// there, though it would be: none can have ordered it without a probe, or a word of the
// same minute is there, and so few were written that none was dropped.
func (c *podCase) silent(container string, ended time.Time) bool {
	if c.Pod.DeletionTimestamp != nil || c.ordered(container, ended) != nil {
		return false
	}
	if k := c.container(container); k != nil && k.LivenessProbe == nil && k.StartupProbe == nil {
		return true
	}
	count, kept := int32(0), false
	for _, e := range c.events {
		count += max(e.Count, 1)
		if e.Series != nil {
			count += e.Series.Count
		}
		about := last(e).Sub(ended)
		if of(e, container) && (e.Reason == "Started" || e.Reason == "Created" || e.Reason == "BackOff") && about > -slack && about < time.Minute {
			kept = true
		}
	}
	return kept && count < spam
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
