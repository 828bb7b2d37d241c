package level0

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// notReady is about a pod whose containers run, and whose status says that it is not
// ready; ok is false where it is, or is done.
func (c *podCase) notReady() (told, bool) {
	ready := condition(c.Pod, v1.PodReady)
	if c.Pod.Status.Phase != v1.PodRunning || ready == nil || ready.Status == v1.ConditionTrue {
		return told{}, false
	}
	s := answer.Symptom{Kind: answer.NotReady, First: ready.LastTransitionTime.Time, Last: c.Now, Text: "not ready since " + prose.Span(max(c.Now.Sub(ready.LastTransitionTime.Time), 0))}
	if ready.Reason == "ReadinessGatesNotReady" {
		return told{s, because(answer.ReadinessGate, "api-readiness-gate", "", "Its containers are ready, and a readiness gate is not: "+strings.TrimSuffix(ready.Message, ".")+".", c.describe())}, true
	}
	for _, st := range c.Pod.Status.ContainerStatuses {
		if st.Ready || st.State.Running == nil {
			continue
		}
		s.Container = st.Name
		return told{s, c.notReadyContainer(st, ready.LastTransitionTime.Time)}, true
	}
	return told{s, unknown("", fmt.Sprintf("The pod is not ready: %s %s", orNothing(ready.Reason), ready.Message), "what its readiness waits for", c.describe())}, true
}

func (c *podCase) notReadyContainer(st v1.ContainerStatus, unready time.Time) answer.Verdict {
	since := st.State.Running.StartedAt.Time
	kind := "Readiness"
	if st.Started != nil && !*st.Started {
		kind = "Startup"
	}
	begins := fmt.Sprintf("Container %s runs, since %s, and its %s probe does not pass", st.Name, prose.Span(max(c.Now.Sub(since), 0)), strings.ToLower(kind))
	p := c.probe(st.Name, kind)
	if p == nil {
		return unknown(st.Name, fmt.Sprintf("Container %s runs, and its status does not say why it is not ready.", st.Name), "what its readiness waits for", c.describe())
	}
	if c.portUnknown(st.Name, p) != "" {
		v, _ := c.asksWrongly(st.Name, kind, begins, "")
		return v
	}
	e := c.unhealthy(st.Name, kind, c.Now.Add(-eventDelay), c.Now.Add(slack))
	if e == nil || last(*e).Before(since) {
		if e := c.metBefore(st.Name, kind, unready, since); e != nil {
			v := c.probeMet(st.Name, kind, begins, e)
			v.Text += fmt.Sprintf(" So it was %s ago: kubelet has written as many events of this pod as it does at once, and from then on writes one in five minutes.", prose.Span(c.Now.Sub(last(*e))))
			return v
		}
		if c.Now.Sub(since) < time.Duration(p.InitialDelaySeconds)*time.Second+2*c.period(st.Name, kind) {
			return unknown(st.Name, begins+": it was started a moment ago, and has not been asked often enough.", "each attempt", c.describe())
		}
		return unknown(st.Name, begins+", and what it met is not there any more.", "each attempt, and why it failed", c.describe())
	}
	return c.probeMet(st.Name, kind, begins, e)
}

// metBefore is kubelet's newest word of a failed attempt since a container is not ready and
// since it was started, where it gives up most of them by now; nil where there is none.
func (c *podCase) metBefore(name, kind string, unready, since time.Time) *v1.Event {
	e := c.unhealthy(name, kind, c.Now.Add(-refill), c.Now.Add(slack))
	if e == nil || !c.spent() || last(*e).Before(unready) || last(*e).Before(since) {
		return nil
	}
	return e
}

// eventDelay is how late an event's count may be brought up to date while the failures
// go on: events of one kind are merged, and after 25 of them one in five minutes is
// written (client-go tools/record).
const eventDelay = 10 * time.Second
