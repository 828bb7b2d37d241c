package health

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
)

// exited notes the end of a run. The runtime may tell of an end before anybody
// told of the start, tell it twice, or tell of a container that only it
// remembers.
func (t *turn) exited(c *container, b fact.Exited) news {
	switch {
	case b.ContainerID == c.Run.ID && c.Run.ID != "":
		if c.Run.Ended != nil {
			return nothing
		}
	case c.Last != nil && c.Last.ContainerID == b.ContainerID:
		return nothing
	case t.underWay(c) && !c.Hooking && (c.Made == "" || c.Made == b.ContainerID):
		t.drop(c, c.begin(c.Try, fact.Started{ContainerID: b.ContainerID}, b.StartedAt.Round(0), t.fact.ID))
	case !c.alive() && (c.Run.ID == "" || t.fact.Attempt > c.Attempt):
		c.begin(t.fact.Attempt, fact.Started{ContainerID: b.ContainerID}, b.StartedAt.Round(0), t.fact.ID)
	default:
		return nothing
	}
	if c.Kill == nil || c.Kill.Reason != fact.KillHook {
		c.Wait = wait{}
	}
	t.endRun(c, b)
	return aChange
}

// drop asks for the removal of a container that is no longer needed.
func (t *turn) drop(c *container, id string) {
	if id != "" {
		t.decide(c.Name, max(0, c.Attempt-2), fact.Remove{ContainerID: id})
	}
}

func (t *turn) endRun(c *container, b fact.Exited) {
	r := &c.Run
	if r.StartedAt.IsZero() {
		r.StartedAt = b.StartedAt.Round(0)
	}
	r.FinishedAt, r.End = t.when(), t.fact.ID
	r.Killed, r.Exit = c.Kill, b
	if k := c.Kill; k != nil && !t.fact.At.IsZero() && r.FinishedAt.Before(k.At) {
		r.Killed = nil // it had ended before it was to be
	}
	c.Kill, c.Pause, c.Hooking, c.Made, c.Resizing = nil, nil, false, "", false
	c.Stage, c.Begun = ended, true
	r.Ended = t.terminated(c, b)
}

// terminated is the end as the API tells it.
func (t *turn) terminated(c *container, b fact.Exited) *v1.ContainerStateTerminated {
	end := &v1.ContainerStateTerminated{
		// Signal stays empty, as with kubelet; the message says it where it is known.
		ExitCode: b.ExitCode, Message: t.bounded(b.Message), ContainerID: b.ContainerID,
		StartedAt: apiTime(c.Run.StartedAt), FinishedAt: apiTime(c.Run.FinishedAt),
	}
	if b.Vanished {
		// Nobody saw how it ended. The API has no word for an unknown exit code; these
		// are Kubernetes' own for it (kubelet_pods.go, convertToAPIContainerStatuses).
		end.Reason, end.ExitCode = "ContainerStatusUnknown", 137
		end.FinishedAt = metav1.Time{}
		if end.Message == "" {
			end.Message = "The container could not be located when the pod was terminated"
		}
		return end
	}
	end.Reason = c.endReason(b)
	if end.Message == "" {
		end.Message = c.endCause(b)
	}
	return end
}

// bounded cuts a termination message: the containers of a pod share 12 KiB
// (status/status_manager.go, normalizeStatus).
func (t *turn) bounded(message string) string {
	most := 12 << 10 / max(1, len(t.Containers))
	return message[:min(len(message), most)]
}

// apiTime cuts a time to what the API keeps of it: whole seconds.
func apiTime(at time.Time) metav1.Time {
	if at.IsZero() {
		return metav1.Time{}
	}
	return metav1.Time{Time: at.UTC().Truncate(time.Second)}
}

// hookRan ends the start of a container with a postStart hook, or ends the
// container because of it (kuberuntime/kuberuntime_container.go, startContainer).
func (t *turn) hookRan(c *container, b fact.HookRan) {
	if b.Hook != fact.PostStart || !c.Hooking || !t.underWay(c) {
		return
	}
	if b.Error == "" {
		t.running(c)
		return
	}
	c.Hooking = false
	c.Wait = wait{"PostStartHookError", b.Error}
	if c.Kill == nil {
		t.kill(c, kill{
			Reason: fact.KillHook, Message: "FailedPostStartHook", Grace: t.grace(c, fact.KillHook),
			Cause: "its postStart hook failed (" + b.Error + ")", Facts: []fact.ID{t.fact.ID},
		})
	}
}
