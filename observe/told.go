package observe

import (
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/reported"
	"whylet.dev/whylet/pods"
)

// usual are events of a calm life, of which status and runtime tell more.
var usual = map[string]bool{"Scheduled": true, "Pulling": true, "Pulled": true, "Created": true, "Started": true}

// told makes facts of an event about a pod: the word itself, and what it tells of.
func (a *Agent) told(pod pods.Pod, t reported.Event) []fact.Fact {
	if t.Last.Before(a.before.Truncate(second)) || usual[t.Reason] {
		return nil // an earlier agent told of it, or others tell it better
	}
	at := t.Last
	if !t.First.IsZero() {
		at = t.First
	}
	envelope := fact.Fact{At: at, Pod: pod.Key, Container: t.Container}
	if t.Container != "" {
		// Of a row of equal events the newest is the one whose run may still be known.
		attempt, ok := a.loop.runs.at(pod.Key.UID, t.Container, t.Last)
		if !ok {
			for _, c := range pod.Status.ContainerStatuses {
				if c.Name == t.Container {
					attempt = c.RestartCount
				}
			}
		}
		envelope.Attempt = attempt
	}
	if kind, output, errored, ok := reported.Unhealthy(t.Message); ok && (t.Reason == "Unhealthy") {
		if a.quieter(pod.Key.UID, t.Container, kind) {
			return nil
		}
		b := reported.Attempt(kind, probeOf(pod, t.Container, kind), output, errored)
		b = a.execs.withCode(b, pod, a.loop.runs.id(pod.Key.UID, t.Container, envelope.Attempt), t.Container, at, t.Last)
		b.Count, b.Until = t.New, t.Last
		if t.New <= 1 {
			b.Count = 0
		}
		envelope.Body = b
		return []fact.Fact{envelope}
	}
	var all []fact.Fact
	for _, body := range t.Bodies() {
		f := envelope
		f.Body = body
		all = append(all, f)
	}
	return all
}

// probeOf is the spec of a container's probe; nil where it is not known.
func probeOf(pod pods.Pod, container string, kind fact.ProbeKind) *v1.Probe {
	c, ok := pod.Spec(container)
	if !ok {
		return nil
	}
	return fact.ProbeOf(c, kind)
}
