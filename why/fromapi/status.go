package fromapi

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/prose"
)

// statuses tells of the pod's status as it is now, and as it was at earlier times as far as it shows that
// itself: before it was deleted, when its readiness changed last, and before that.
func (t *teller) statuses() {
	p := t.Pod
	if up := condition(p, v1.PodReadyToStartContainers); up != nil && up.Status == v1.ConditionTrue {
		t.setUp(up.LastTransitionTime.Time)
	} else if at := t.firstStart(); up == nil && len(p.Status.PodIPs) > 0 && !at.IsZero() {
		t.setUp(at)
	}
	if ready := condition(p, v1.PodReady); ready != nil {
		changed := ready.LastTransitionTime.Time
		for _, c := range p.Status.ContainerStatuses {
			if r := c.State.Running; r != nil && changed.After(r.StartedAt.Add(slack)) {
				t.seen(r.StartedAt.Time)
			}
		}
		t.seen(changed)
	}
	if at, ok := t.deleted(); ok {
		t.seen(at.Add(-time.Millisecond))
	}
	t.tell(t.lastChange(), "", 0, fact.StatusSeen{Status: *p.Status.DeepCopy()})
}

// setUp tells that the pod's volumes and sandbox stand. Its condition is set soon after the first
// containers run: one that is much later is of another sandbox.
func (t *teller) setUp(at time.Time) {
	var ips []string
	for _, ip := range t.Pod.Status.PodIPs {
		ips = append(ips, ip.IP)
	}
	if first := t.firstStart(); !first.IsZero() && at.After(first) {
		if at.Sub(first) > anew {
			t.tell(at, "", 0, fact.SandboxLost{Message: "the pod got a new sandbox, long after its first containers had begun"})
		}
		at = first
	}
	t.tell(at, "", 0, fact.SetUpDone{IPs: ips})
}

// anew is how much later than a container a sandbox begins that is not the one that it began in.
const anew = 10 * time.Second

// firstStart is when the first run began that the status shows; zero for none.
func (t *teller) firstStart() (first time.Time) {
	for _, c := range states(&t.Pod.Status) {
		for _, r := range runs(&c) {
			if first.IsZero() || !r.from.IsZero() && r.from.Before(first) {
				first = r.from
			}
		}
	}
	return first
}

// lastChange is when the status was written: now, but of a pod that is over when the last of it was.
func (t *teller) lastChange() time.Time {
	s := &t.Pod.Status
	if s.Phase != v1.PodFailed && s.Phase != v1.PodSucceeded {
		return t.Now
	}
	at := t.Pod.CreationTimestamp.Time
	for _, c := range s.Conditions {
		at = latest(at, c.LastTransitionTime.Time)
	}
	for _, c := range states(s) {
		for _, r := range over(&c) {
			at = latest(at, r.until)
		}
	}
	return at
}

func condition(p *v1.Pod, kind v1.PodConditionType) *v1.PodCondition {
	return first(p.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == kind })
}

// first is the first of some that fits; nil where none does.
func first[T any](all []T, fits func(T) bool) *T {
	if i := slices.IndexFunc(all, fits); i >= 0 {
		return &all[i]
	}
	return nil
}

// seen tells of the status as it was at an earlier time.
func (t *teller) seen(at time.Time) {
	if !at.Before(t.lastChange()) {
		return
	}
	s := t.Pod.Status.DeepCopy()
	s.Phase, s.Reason, s.Message = v1.PodRunning, "", ""
	before := false
	if ready := condition(t.Pod, v1.PodReady); ready != nil && at.Before(ready.LastTransitionTime.Time) {
		before = true
		was := prose.Whether(ready.Status == v1.ConditionTrue, v1.ConditionFalse, v1.ConditionTrue)
		for i := range s.Conditions {
			if c := &s.Conditions[i]; c.Type == v1.PodReady || c.Type == v1.ContainersReady {
				c.Status, c.Reason, c.Message, c.LastTransitionTime.Time = was, "", "", at
			}
		}
	}
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c v1.PodCondition) bool { return c.LastTransitionTime.After(at) })
	for _, all := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range all {
			t.asItWas(&all[i], at, before)
		}
	}
	t.tell(at, "", 0, fact.StatusSeen{Status: *s})
}

// asItWas puts a container's status back to an earlier time; before says that the pod's readiness has changed since.
func (t *teller) asItWas(c *v1.ContainerStatus, at time.Time, before bool) {
	ready := c.Ready
	if before {
		p := condition(t.Pod, v1.PodReady)
		ready = p.Status == v1.ConditionFalse || t.probe(c.Name, fact.Readiness) == nil
	}
	for _, r := range runs(c) {
		if r.from.IsZero() || at.Before(r.from) || !r.until.IsZero() && !at.Before(r.until) {
			continue
		}
		var from v1.ContainerState
		from.Running = &v1.ContainerStateRunning{}
		from.Running.StartedAt.Time = r.from
		if started := true; c.State.Running == nil {
			c.Started = &started
		}
		c.State, c.LastTerminationState, c.RestartCount, c.Ready = from, v1.ContainerState{}, r.attempt, ready
		return
	}
	c.Ready = false
}
