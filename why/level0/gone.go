package level0

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// ended is about a pod that is over for good: who ended it wrote that into its status.
func (c *podCase) ended() (told, bool) {
	st := c.Pod.Status
	reason, message := fact.EndedFor(st)
	s := answer.Symptom{Count: 1, Text: strings.TrimSpace(reason)}
	switch {
	case st.Phase == v1.PodSucceeded && reason == "":
		return c.completed(), true
	case st.Phase == v1.PodSucceeded: // as its containers took their stop signal well
		s.Kind = answer.Completed
	case st.Phase == v1.PodFailed:
		s.Kind = answer.Failed
	default:
		return told{}, false
	}
	pressures := fact.PressuresIn(message)
	message = strings.TrimSuffix(short(message), ".")
	v := answer.Verdict{}
	switch reason {
	case "Evicted":
		if len(pressures) > 0 {
			v = c.underPressure(pressures)
			break
		}
		s.Kind = answer.Evicted
		v = c.evicted(message)
	case "DeadlineExceeded":
		v = because(answer.ActiveDeadline, "api-status", "", "The pod was active for longer than its activeDeadlineSeconds allow.", answer.Fix{Text: "raise activeDeadlineSeconds, or find out what takes so long", Risk: answer.Restarts})
	case "Preempting", "Preempted":
		v = because(answer.Preempted, "api-status", "", "The pod had to go for one of higher priority: "+message+".", c.describe())
	case "Terminated", fact.ShutdownReason:
		v = because(answer.NodeRestarted, "api-status", "", "Its node was shut down: "+message+".", c.describe())
	case "OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfephemeral-storage":
		v = because(answer.InsufficientResources, "api-status", "", "Its node had no room for it when it came: "+message+".", c.describe())
	case "NodeAffinity", "NodeName", "NodePorts":
		v = because(answer.NoMatchingNode, "api-status", "", "Its node does not fit what the pod asks for: "+message+".", c.describe())
	case "":
		return c.failed(s)
	default:
		how := "failed"
		if st.Phase == v1.PodSucceeded {
			how = "was ended"
		}
		v = unknown("", fmt.Sprintf("The pod %s: %s: %s.", how, reason, message), "what was decided, and from what", c.describe())
	}
	if d := condition(c.Pod, v1.DisruptionTarget); d != nil {
		v.Chain = append(v.Chain, link(d.LastTransitionTime.Time, fromStatus, d.Reason+": "+short(d.Message)))
	}
	return told{s, v}, true
}

// completed is about a pod whose containers all ended with exit code 0, and which kubelet did not end
// as a whole.
func (c *podCase) completed() told {
	s := answer.Symptom{Kind: answer.Completed, Count: 1}
	for _, one := range c.Pod.Status.ContainerStatuses {
		k, t := c.container(one.Name), one.State.Terminated
		if e := c.orderedEnd(k, t); e != nil {
			v := c.end(one, t)
			v.Text += fmt.Sprintf(" Its exit code was 0, so restart policy %s lets it be.", c.Pod.Spec.RestartPolicy)
			return told{s, v}
		}
		if k != nil && t != nil && (k.LivenessProbe != nil || k.StartupProbe != nil) && !c.silent(one.Name, t.FinishedAt.Time) {
			return told{s, unknown(one.Name, fmt.Sprintf("Container %s ended with exit code 0, and its restart policy %s lets it be. It has a probe that may have had it ended, and then it was not done: that is not known here.", one.Name, c.Pod.Spec.RestartPolicy),
				"whether kubelet ended it", c.logsBefore(one.Name))}
		}
	}
	return told{s, because(answer.RestartPolicy, "api-completed", c.only(), fmt.Sprintf("All its containers ended with exit code 0, and its restart policy %s lets them be.", c.Pod.Spec.RestartPolicy))}
}

// orderedEnd is kubelet's word that it ended a container for a probe.
func (c *podCase) orderedEnd(k *v1.Container, t *v1.ContainerStateTerminated) *v1.Event {
	if k == nil || t == nil || k.LivenessProbe == nil && k.StartupProbe == nil {
		return nil
	}
	if e := c.ordered(k.Name, t.FinishedAt.Time); e != nil && strings.Contains(e.Message, " probe") {
		return e
	}
	return nil
}

// failed is about a pod that failed with one of its containers.
func (c *podCase) failed(s answer.Symptom) (told, bool) {
	var v answer.Verdict
	found := false
	for _, list := range [][]v1.ContainerStatus{c.Pod.Status.InitContainerStatuses, c.Pod.Status.ContainerStatuses} {
		for _, st := range list {
			if t := st.State.Terminated; t != nil && t.ExitCode != 0 && !found {
				v, found = c.end(st, t), true
				s.Container, s.Last = st.Name, t.FinishedAt.Time
			}
		}
	}
	if !found {
		v = unknown("", "The pod failed, and its status does not say of what.", "how its containers ended", c.describe())
	}
	return told{s, v}, true
}

// evicted reads kubelet's words for why it evicted a pod (k8s.io/kubernetes
// pkg/kubelet/eviction/helpers.go and eviction_manager.go).
func (c *podCase) evicted(message string) answer.Verdict {
	text := "The node evicted the pod: " + message + "."
	switch {
	case strings.Contains(message, "low on resource: memory"):
		return because(answer.EvictedMemory, "api-status", "", text, c.describe())
	case strings.Contains(message, "low on resource: pids"):
		return because(answer.EvictedPIDs, "api-status", "", text, c.describe())
	case strings.Contains(message, "low on resource: ephemeral-storage"), strings.Contains(message, "low on resource: inodes"),
		strings.Contains(message, "exceeds the limit"), strings.Contains(message, "exceeds the total limit"), strings.Contains(message, "exceeded its local ephemeral storage limit"):
		return because(answer.EvictedDisk, "api-status", "", text, c.describe())
	}
	return unknown("", text, "what the node was short of", c.describe())
}

// underPressure is about a pod that its node did not take in.
func (c *podCase) underPressure(pressures []v1.NodeConditionType) answer.Verdict {
	cause, text := answer.UnderPressure(pressures)
	if cause == answer.CauseUnknown {
		return unknown("", text, "what the node was short of", c.describe())
	}
	see := answer.Fix{Text: "see how the node is, and which pods went for it", Command: "kubectl why node/" + c.Pod.Spec.NodeName, Risk: answer.Inspect}
	return because(cause, "api-status", "", text, see, c.describe())
}

// terminating is about a pod that is on its way out: somebody deleted it, and the API
// does not say who.
func (c *podCase) terminating() told {
	by := c.Pod.DeletionTimestamp.Time // when its grace period is over
	s := answer.Symptom{Kind: answer.Terminating, Last: c.Now, Text: "it is deleted"}
	if len(c.Pod.Finalizers) > 0 && c.done() {
		return told{s, because(answer.Deleted, "api-finalizers", "", fmt.Sprintf("The pod was deleted and its containers have ended; what keeps the object is its finalizers (%s), which nobody has taken away.", strings.Join(c.Pod.Finalizers, ", ")), c.describe())}
	}
	d := fact.Disruption(c.Pod.Status.Conditions, c.deletedAt())
	if d != nil && d.Reason == v1.PodReasonPreemptionByScheduler {
		return told{s, because(answer.Preempted, "api-status", "", "The scheduler deleted the pod to make room for one of higher priority: "+short(d.Message)+".", c.describe())}
	}
	if c.Now.Before(by) {
		if d != nil && d.Reason == fact.EvictedByAPI {
			return told{s, because(answer.Deleted, "api-status", "", fmt.Sprintf("The pod was evicted: somebody asked the API server to evict it, as kubectl drain does; its containers have %s more to end. Who asked is in the API server's audit log, if there is one.", prose.Span(by.Sub(c.Now))))}
		}
		return told{s, c.deleted(by)}
	}
	return told{s, unknown("", fmt.Sprintf("The pod was deleted, and its grace period was over %s ago; what still holds it is not known.", prose.Span(c.Now.Sub(by))), "which container does not end, or which volume does not come off", c.describe())}
}

// deletedAt is when the pod was deleted: its timestamp is when the grace period is over.
func (c *podCase) deletedAt() time.Time {
	var grace int64
	if s := c.Pod.DeletionGracePeriodSeconds; s != nil {
		grace = *s
	}
	return c.Pod.DeletionTimestamp.Add(-time.Duration(grace) * time.Second)
}

// deleted is about a pod that somebody deleted a moment ago. Of one that a controller has
// made, it may have been the controller.
func (c *podCase) deleted(by time.Time) answer.Verdict {
	text := fmt.Sprintf("The pod was deleted; its containers have %s more to end.", prose.Span(by.Sub(c.Now)))
	for _, owner := range c.Pod.OwnerReferences {
		if owner.Controller != nil && *owner.Controller {
			v := unknown("", fmt.Sprintf("%s Whether %s %s did it, which made it, or somebody else is not known.", text, owner.Kind, owner.Name), "how its containers take it", c.describe())
			v.Possible = []answer.Cause{answer.Deleted, answer.RolledOut, answer.ScaledDown}
			return v
		}
	}
	return because(answer.Deleted, "api-deleted", "", text+" Who deleted it is in the API server's audit log, if there is one.")
}

func (c *podCase) done() bool {
	for _, st := range c.Pod.Status.ContainerStatuses {
		if st.State.Running != nil {
			return false
		}
	}
	return true
}
