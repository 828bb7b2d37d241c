package health

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

func (t *turn) beginAt(at time.Time) {
	if t.StartTime.IsZero() {
		t.StartTime = at.Truncate(time.Second)
	}
}

// adoptedStatus takes over what the API server remembers of a pod whose journal
// was lost: restart counts, the last ends, since when conditions hold, and
// whether containers were started and ready, which a restarted agent must not
// take back (prober/worker.go and prober_manager.go: what happens on a kubelet
// restart). What runs is told by facts of its own.
func (t *turn) adoptedStatus(s v1.PodStatus) {
	if t.Object == nil || t.Admission == rejected {
		return
	}
	t.AdoptedAt = t.now
	if s.StartTime != nil {
		t.beginAt(s.StartTime.Time)
	}
	for _, statuses := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range statuses {
			if c := t.find(statuses[i].Name); c != nil && c.Stage == idle {
				t.adopt(c, &statuses[i])
			}
		}
	}
	for _, cond := range s.Conditions {
		if cond.Reason == sandboxNotReady {
			cond.Reason, cond.Message = "", "" // the status adds them
		}
		if ownCondition(cond.Type) {
			t.Conditions = append(t.Conditions, cond)
		} else {
			t.Foreign = replaceCondition(t.Foreign, cond)
		}
	}
	if s.Phase == v1.PodSucceeded || s.Phase == v1.PodFailed {
		t.Phase, t.Reason, t.Message = s.Phase, s.Reason, s.Message
		t.end(ending{Reason: s.Reason, Message: s.Message, Fails: s.Phase == v1.PodFailed}, 0)
	}
}

func (t *turn) adopt(c *container, s *v1.ContainerStatus) {
	c.Attempt = s.RestartCount
	c.Run = run{ID: s.ContainerID, Image: s.Image, ImageID: s.ImageID, VolumeMounts: s.VolumeMounts}
	c.Last = s.LastTerminationState.Terminated
	c.Ready, c.Started = s.Ready, s.Started != nil && *s.Started
	if c.Last != nil {
		c.Before = c.Last.FinishedAt.Time
	}
	switch {
	case s.State.Terminated != nil:
		c.Stage, c.Begun = ended, true
		c.Run.Ended, c.Run.FinishedAt, c.Run.End = s.State.Terminated, s.State.Terminated.FinishedAt.Time, t.fact.ID
	case s.State.Waiting != nil && c.Last != nil:
		c.Stage, c.Begun = ended, true
		c.Run.Ended, c.Run.FinishedAt, c.Run.End = c.Last, c.Last.FinishedAt.Time, t.fact.ID
		c.Last = nil
	}
}

// unseen says that only the API server told of a run so far: whether it goes on
// is for the runtime to say.
func (c *container) unseen() bool { return c.Stage == idle && c.Run.ID != "" }

// giveUpUnseen ends the memory of runs that the runtime says nothing about, once
// the pod is admitted or some time later: they are gone, and nobody saw how
// (kubelet_pods.go, convertToAPIContainerStatuses).
func (t *turn) giveUpUnseen() {
	for i := range t.Containers {
		if c := &t.Containers[i]; c.unseen() {
			t.endRun(c, fact.Exited{ContainerID: c.Run.ID, Vanished: true})
			c.Begun = t.Sandbox.Stage == sandboxUp
		}
	}
}

// adoptRun notes a container that an earlier agent left running.
func (t *turn) adoptRun(c *container, b fact.Started) {
	wasReady, wasStarted := c.Ready, c.Started
	c.Asked = t.asks(c)
	c.begin(t.fact.Attempt, b, t.when(), t.fact.ID)
	c.Stage, c.Begun = running, true
	if wasStarted {
		c.Startup.Result = fact.Success
		c.Startup.Held = true
	}
	if wasReady {
		c.Readiness.Result = fact.Success
	}
}
