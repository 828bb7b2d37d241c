package level0

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// Departed answers about a pod that does not exist any more from the events that are left
// of a namespace: they are kept for an hour. ok is false where none is about it.
func Departed(namespace, name string, events []v1.Event, reason string, now time.Time) (a answer.Answer, ok bool) {
	var own []v1.Event
	for _, e := range events {
		if e.InvolvedObject.Kind == "Pod" && e.InvolvedObject.Name == name {
			own = append(own, e)
		}
	}
	if len(own) == 0 {
		return a, false
	}
	newest := slices.MaxFunc(own, func(a, b v1.Event) int { return last(a).Compare(last(b)) })
	// What is known of it is its name, and of its containers those that events name.
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID = namespace, name, newest.InvolvedObject.UID
	c := &podCase{Seen: Seen{Pod: pod, Now: now}, events: relevant(own, pod)}
	a = answer.New(answer.Subject{Kind: "Pod", Namespace: namespace, Name: name, UID: pod.UID}, now, answer.Coverage{
		Gaps: []answer.Gap{{Reason: Sight + reason + "; of a pod that is gone these are its events of the last hour"}},
	})
	all := append(append(c.neverBegan(), c.wasIll()...), told{
		answer.Symptom{Kind: answer.Disappeared, Last: last(newest), Text: "the pod is gone"}, c.wentFor(events),
	})
	for _, t := range all {
		t.symptom.ID = fmt.Sprintf("s%d", len(a.Symptoms)+1)
		t.why.Symptom = t.symptom.ID
		a.Symptoms, a.Verdicts = append(a.Symptoms, t.symptom), append(a.Verdicts, t.why)
	}
	return a, true
}

// wentFor says why the pod is gone, as far as others said it of it.
func (c *podCase) wentFor(all []v1.Event) answer.Verdict {
	if e := c.newestEvent("", "Preempted"); e != nil {
		v := because(answer.Preempted, "api-events", "", "The scheduler deleted the pod to make room for one of higher priority: "+strings.TrimSuffix(short(e.Message), ".")+".")
		v.Chain = []answer.Link{link(last(*e), fromEvent, e.Message)}
		return v
	}
	for _, e := range all {
		if e.Reason == "SuccessfulDelete" && e.InvolvedObject.Kind != "Pod" && slices.Contains(strings.Fields(e.Message), c.Pod.Name) {
			return c.byItsMaker(all, e)
		}
	}
	stop := c.newestEvent("", "Killing")
	if stop == nil || !strings.HasPrefix(stop.Message, "Stopping container ") || c.newestEvent("", "Evicted", "Preempting", "DeadlineExceeded", "TaintManagerEviction") != nil {
		return unknown("", "The pod is gone, and no event says who deleted it, or what was decided before.", "what was decided, and from what")
	}
	v := because(answer.Deleted, "api-events", "", "Kubelet stopped the pod's containers, and then it was gone: somebody deleted it, or had it evicted. No controller says that it did. Who it was is in the API server's audit log, if there is one."+c.before())
	v.Chain = []answer.Link{link(last(*stop), fromEvent, stop.Message)}
	if hook := c.newestEvent("", "FailedPreStopHook"); hook != nil && !last(*hook).Before(last(*stop)) {
		v.Contributing = []answer.Note{{Cause: answer.HookFailed, Text: "its preStop hook failed, or used up the grace period"}}
		v.Chain = append(v.Chain, link(last(*hook), fromEvent, hook.Message))
	}
	return v
}

// before says whether events tell how the pod was before it went: its oldest may be gone.
func (c *podCase) before() string {
	if c.newestEvent("", "Scheduled") != nil {
		return ""
	}
	return " Whether it was well before its events do not tell: the oldest of them are gone."
}

// byItsMaker is about a pod that its controller deleted: where a Deployment says of the
// ReplicaSet that it scaled it down, and whether another one of its came in the meantime, it
// says why.
func (c *podCase) byItsMaker(all []v1.Event, e v1.Event) answer.Verdict {
	maker := e.InvolvedObject
	v := unknown("", fmt.Sprintf("%s %s deleted the pod, which it had made.", maker.Kind, maker.Name), "how its containers took it")
	v.Possible = []answer.Cause{answer.ScaledDown, answer.RolledOut}
	chain := []answer.Link{link(last(e), fromEvent, e.Message)}
	deployment := maker.Name[:max(0, strings.LastIndexByte(maker.Name, '-'))]
	r, _ := fact.Departure{Deleted: last(e), Gone: last(e), Grace: c.grace()}.Rescaled(scalings(all, deployment), maker.Name, c.Now)
	switch {
	case r.Down == nil:
	case r.Up != nil:
		v = because(answer.RolledOut, "api-scaling", "", fmt.Sprintf("Deployment %s replaced the pod by one of another revision: %s, and %s.", deployment, lower(r.Up.Message), lower(r.Down.Message)),
			answer.Fix{Text: "see what changed between the revisions", Command: fmt.Sprintf("kubectl -n %s rollout history deployment/%s", c.Pod.Namespace, deployment), Risk: answer.Inspect})
		chain = append(chain, link(r.Up.At, fromEvent, r.Up.Message), link(r.Down.At, fromEvent, r.Down.Message))
	default:
		v = because(answer.ScaledDown, "api-scaling", "", fmt.Sprintf("Deployment %s no longer wanted the pod: %s, and no other ReplicaSet of its came instead.", deployment, lower(r.Down.Message)),
			answer.Fix{Text: "see how many are wanted now, and who changed that", Command: fmt.Sprintf("kubectl -n %s get deployment %s --show-managed-fields -o yaml", c.Pod.Namespace, deployment), Risk: answer.Inspect})
		chain = append(chain, link(r.Down.At, fromEvent, r.Down.Message))
	}
	v.Chain = chain
	return v
}

// lower begins a message with a small letter, to stand in a sentence.
func lower(message string) string {
	return strings.ToLower(message[:min(len(message), 1)]) + message[min(len(message), 1):]
}

// scalings are what a Deployment said of its ReplicaSets.
func scalings(events []v1.Event, deployment string) []fact.Scaling {
	var all []fact.Scaling
	for _, e := range events {
		if e.Reason != fact.ScaledSet || e.InvolvedObject.Kind != "Deployment" || e.InvolvedObject.Name != deployment {
			continue
		}
		if s, ok := fact.ScalingIn(e.Message, last(e)); ok {
			all = append(all, s)
		}
	}
	return all
}

// neverBegan is what kept a container from being started to the last: events say that
// whatever became of the status. One that was created and started since is left out.
func (c *podCase) neverBegan() []told {
	e := c.newestEvent("", "Failed", "FailedMount", "FailedAttachVolume", "FailedMapVolume", "InspectFailed", "ErrImageNeverPull")
	began := c.newestEvent("", "Started")
	if e == nil || began != nil && !last(*began).Before(last(*e)) {
		return nil
	}
	_, name, _ := strings.Cut(strings.TrimSuffix(e.InvolvedObject.FieldPath, "}"), "{")
	s := answer.Symptom{Kind: answer.NotStarting, Container: name, Last: last(*e), Text: "it had not been started when it went"}
	begins := fmt.Sprintf("Until the pod went, it could not be started: %s.", strings.TrimSuffix(short(e.Message), "."))
	cause, ok := c.failedFor(e)
	if !ok {
		return nil
	}
	v := because(cause, "api-events", name, begins)
	v.Chain = []answer.Link{link(last(*e), fromEvent, e.Message)}
	return []told{{s, v}}
}

// wasIll is what events tell of its containers before: that there was trouble, and not of what.
func (c *podCase) wasIll() []told {
	s := answer.Symptom{Kind: answer.Restarted, Text: "a container was restarted before it went"}
	e := c.newestEvent("", "Killing")
	if e == nil || strings.HasPrefix(e.Message, "Stopping container ") {
		e = c.newestEvent("", "BackOff")
	}
	if e == nil || !strings.Contains(e.Message, "restart") { // of an image it says "pulling"
		e = c.newestEvent("", "SandboxChanged")
	}
	if e == nil {
		e = c.startedAgain()
	}
	if e == nil {
		s = answer.Symptom{Kind: answer.NotReady, Text: "a probe failed before it went"}
		if e = c.newestEvent("", "Unhealthy"); e == nil {
			return nil
		}
	}
	_, s.Container, _ = strings.Cut(strings.TrimSuffix(e.InvolvedObject.FieldPath, "}"), "{")
	s.First, s.Last = first(*e), last(*e)
	v := unknown(s.Container, fmt.Sprintf("Before the pod went, kubelet said: %s.", strings.TrimSuffix(short(e.Message), ".")), "why that was")
	v.Chain = []answer.Link{link(last(*e), fromEvent, e.Message)}
	return []told{{s, v}}
}

// startedAgain is the start of a container that had been started before.
func (c *podCase) startedAgain() *v1.Event {
	times := map[string]int32{}
	for i := range c.events {
		e := &c.events[i]
		if e.Reason != "Started" {
			continue
		}
		if times[e.InvolvedObject.FieldPath] += max(e.Count, 1); times[e.InvolvedObject.FieldPath] > 1 {
			return e
		}
	}
	return nil
}

// failedFor reads kubelet's event about a start that failed. "Error: ImagePullBackOff" and
// the like only follow from others.
func (c *podCase) failedFor(e *v1.Event) (answer.Cause, bool) {
	if e.Reason != "Failed" && e.Reason != "InspectFailed" && e.Reason != "ErrImageNeverPull" {
		v := c.held("", e)
		return v.Cause, v.Cause != answer.CauseUnknown
	}
	for _, one := range c.events {
		_, image, pull := strings.Cut(one.Message, "Failed to pull image ")
		if !pull || one.InvolvedObject.FieldPath != e.InvolvedObject.FieldPath {
			continue
		}
		image, _, _ = strings.Cut(strings.TrimPrefix(image, `"`), `"`)
		if cause, ok := noImageBy(image, "", one.Message); ok {
			return cause, true
		}
	}
	message := strings.TrimPrefix(e.Message, "Error: ")
	if e.Reason == "ErrImageNeverPull" || strings.HasPrefix(message, "ErrImageNeverPull") {
		return answer.ImagePolicyNever, true
	}
	if cause, ok := notConfiguredBy(message); ok {
		return cause, true
	}
	return notRunBy(c.Pod, nil, message)
}
