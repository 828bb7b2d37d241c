package level0

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// well is the answer where there is nothing to explain: the pod is Ready by its status,
// or done, or nobody has taken it up yet.
func (c *podCase) well() told {
	if len(c.Pod.Status.ContainerStatuses) == 0 && c.Pod.Status.Phase == v1.PodPending {
		since := c.Now.Sub(c.Pod.CreationTimestamp.Time)
		return told{
			answer.Symptom{Kind: answer.Pending, Last: c.Now, First: c.Pod.CreationTimestamp.Time, Text: "no status yet, for " + prose.Span(max(since, 0))},
			unknown("", fmt.Sprintf("Node %s was chosen, and its kubelet has not said anything of the pod.", c.Pod.Spec.NodeName), "whether its kubelet took the pod up", c.describe()),
		}
	}
	if ready := condition(c.Pod, v1.PodReady); c.Pod.Status.Phase != v1.PodRunning || ready == nil || ready.Status != v1.ConditionTrue {
		return told{
			answer.Symptom{Kind: answer.NotReady, Last: c.Now, First: started(c.Pod), Text: "its status does not say Ready"},
			unknown("", fmt.Sprintf("The pod's phase is %s, and nothing in its status says what it waits for.", c.Pod.Status.Phase), "what it waits for", c.describe()),
		}
	}
	if e := c.failedLately(); e != nil {
		if v, ok := c.cannotBeMade(e); ok {
			return told{answer.Symptom{Kind: answer.Healthy, Container: v.Container, First: started(c.Pod), Last: c.Now, Text: "its status says Ready, and a probe cannot be made"}, v}
		}
		if c.comesAndGoes(e) {
			return told{
				answer.Symptom{Kind: answer.Healthy, First: started(c.Pod), Last: c.Now, Text: "its status says Ready, and attempts of a probe failed"},
				nothing(fmt.Sprintf("All its containers run, and its status has said Ready for %s. Attempts of a probe have failed for so long that some must have passed between them, never so many in a row that it counts: %s.", prose.Span(c.Now.Sub(condition(c.Pod, v1.PodReady).LastTransitionTime.Time)), strings.TrimSuffix(short(e.Message), "."))),
			}
		}
		return told{
			answer.Symptom{Kind: answer.Healthy, First: started(c.Pod), Last: c.Now, Text: "its status says Ready, and a probe failed lately"},
			unknown("", fmt.Sprintf("All its containers run, and its status says Ready. A probe failed %s ago, or could not be made: %s.", prose.Span(max(c.Now.Sub(last(*e)), 0)), strings.TrimSuffix(short(e.Message), ".")), "each attempt, and why it failed", c.describe()),
		}
	}
	healthy := answer.Symptom{Kind: answer.Healthy, First: started(c.Pod), Last: c.Now}
	if v, ok := c.notLong(); ok {
		return told{healthy, v}
	}
	return told{healthy, nothing("All its containers run, and its status says Ready. What goes on inside them, and brings no restart and no failed probe, it does not tell.")}
}

// comesAndGoes says whether failures of a probe have gone on for longer than it takes to count
// for something, and its container was not restarted and its pod ready all the while.
func (c *podCase) comesAndGoes(e *v1.Event) bool {
	kind, _, _ := strings.Cut(e.Message, " ")
	ready := condition(c.Pod, v1.PodReady)
	for _, st := range c.Pod.Status.ContainerStatuses {
		p := c.probe(st.Name, kind)
		if !of(*e, st.Name) || p == nil || st.State.Running == nil {
			continue
		}
		began := first(*e)
		for _, since := range []time.Time{ready.LastTransitionTime.Time, st.State.Running.StartedAt.Time} {
			if since.After(began) {
				began = since
			}
		}
		row := time.Duration(max(p.FailureThreshold, 1)+1) * c.period(st.Name, kind)
		return e.Count > 1 && last(*e).Sub(began) > row
	}
	return false
}

// cannotBeMade is about a probe of a pod that is well whose command cannot be run: kubelet
// does not count that as a failure.
func (c *podCase) cannotBeMade(e *v1.Event) (answer.Verdict, bool) {
	kind, _, _ := strings.Cut(e.Message, " ")
	for _, k := range c.Pod.Spec.Containers {
		if !of(*e, k.Name) || !strings.Contains(e.Message, " probe errored") || c.probe(k.Name, kind) == nil {
			continue
		}
		_, met, _ := strings.Cut(e.Message, ": ")
		v, ok := c.asksWrongly(k.Name, kind, fmt.Sprintf("The %s probe of container %s cannot be made, which counts for no failure: %s", strings.ToLower(kind), k.Name, strings.TrimSuffix(short(met), ".")), e.Message)
		v.Chain = []answer.Link{link(last(*e), fromEvent, e.Message)}
		return v, ok
	}
	return answer.Verdict{}, false
}

// nothing is the verdict that nothing is amiss, of which no status can be sure.
func nothing(text string) answer.Verdict {
	return answer.Verdict{Cause: answer.None, Certainty: answer.Unknown, Text: text}
}

// A pod that is Ready later than its probes would have it by lateReady was in trouble
// meanwhile, or is slow; that is told for as long as readySince.
const (
	lateReady  = 15 * time.Second
	readySince = 5 * time.Minute
)

// notLong is about a pod that is Ready since a moment, long after its containers had
// started, and about one whose change of resources is not done.
func (c *podCase) notLong() (answer.Verdict, bool) {
	for _, kind := range []v1.PodConditionType{v1.PodResizePending, v1.PodResizeInProgress} {
		if r := condition(c.Pod, kind); r != nil && r.Status == v1.ConditionTrue {
			if v, ok := c.resizeRefused(r); ok {
				return v, true
			}
			return unknown("", fmt.Sprintf("All its containers run, and its status says Ready. A change of its resources is not done: %s.", strings.TrimSuffix(strings.TrimSpace(r.Reason+" "+short(r.Message)), ".")), "what keeps it from being done", c.describe()), true
		}
	}
	ready, began, due := condition(c.Pod, v1.PodReady).LastTransitionTime.Time, time.Time{}, time.Duration(0)
	for _, st := range c.Pod.Status.ContainerStatuses {
		if r := st.State.Running; r != nil && r.StartedAt.After(began) {
			began = r.StartedAt.Time
		}
		if p := c.probe(st.Name, "Readiness"); p != nil {
			due = max(due, time.Duration(p.InitialDelaySeconds)*time.Second+time.Duration(max(p.SuccessThreshold, 1))*c.period(st.Name, "Readiness"))
		}
	}
	if ready.IsZero() || began.IsZero() || ready.Sub(began.Add(due)) < lateReady || c.Now.Sub(ready) >= readySince {
		return answer.Verdict{}, false
	}
	return unknown("", fmt.Sprintf("All its containers run, and its status says Ready, but only for %s, and they have run for %s. Whether they were not ready in between or took so long to start, and why, is not there any more.", prose.Span(max(c.Now.Sub(ready), 0)), prose.Span(c.Now.Sub(began))),
		"each attempt of its probes, and why some failed", c.describe()), true
}

// resizeRefused is about a change of a running pod's resources that kubelet says it does not
// make, and why.
func (c *podCase) resizeRefused(r *v1.PodCondition) (answer.Verdict, bool) {
	begins := "All its containers run on with the resources that they had, and its status says Ready. The new ones that its spec asks for "
	fix := answer.Fix{Text: "ask for less, or for what it had", Command: fmt.Sprintf("kubectl -n %s edit pod %s --subresource=resize", c.Pod.Namespace, c.Pod.Name), Risk: answer.Limits}
	said := strings.TrimSuffix(short(r.Message), ".")
	m := knowledge.AboveMemory.Slots(r.Message)
	switch {
	case r.Reason == v1.PodReasonDeferred:
		return because(answer.InsufficientResources, "api-resize", "", begins+"do not fit on the node now: "+said+".", fix, c.describe()), true
	case r.Reason == v1.PodReasonInfeasible:
		return because(answer.InsufficientResources, "api-resize", "", begins+"can never be had on this node: "+said+".", fix, c.describe()), true
	case r.Reason == v1.PodReasonError && len(m) > 1:
		fix.Text = "ask for a limit above what it uses, or have it use less"
		return because(answer.RuntimeFailed, "api-resize", c.only(), fmt.Sprintf("%scould not be set: it uses more memory (%s bytes) than the new limit (%s bytes).", begins, m["usage"], m["limit"]), fix, c.describe()), true
	}
	return answer.Verdict{}, false
}

// only is the name of a pod's one container; empty where it has several.
func (c *podCase) only() string {
	if len(c.Pod.Spec.Containers) != 1 {
		return ""
	}
	return c.Pod.Spec.Containers[0].Name
}

// lately is how long a failed probe stands against what a status says, and longLately how
// long several do, as kubelet gives up most of its events: what comes and goes looks well
// in between.
const (
	lately     = time.Minute
	longLately = 10 * time.Minute
)

// redirected is kubelet's word for an answer that leads to another host: it counts as a
// success (pkg/probe/http, DoHTTPProbe).
const redirected = "Probe terminated redirects"

// failedLately is kubelet's newest word of a probe that failed not long ago, after its
// container had had the time to start.
func (c *podCase) failedLately() *v1.Event {
	var best *v1.Event
	for i := range c.events {
		if e := &c.events[i]; (e.Reason == "Unhealthy" || e.Reason == "ProbeWarning" && !strings.Contains(e.Message, redirected)) && (best == nil || last(*e).After(last(*best))) {
			best = e
		}
	}
	if best == nil {
		return nil
	}
	ready, age := condition(c.Pod, v1.PodReady), c.Now.Sub(last(*best))
	since := ready == nil || last(*best).After(ready.LastTransitionTime.Time)
	if age < lately && (since || best.Count > 1) || age < longLately && since && best.Count > 2 {
		return best
	}
	return nil // it only started, or it is over
}
