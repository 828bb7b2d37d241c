package api

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/reported"
)

// statusFacts are what a pod's status tells beside itself. The runtime may have told
// the same of starts and ends, sooner and better: whoever takes these facts compares.
func statusFacts(old, pod *v1.Pod) []fact.Fact {
	t := statusTeller{pod: KeyOf(pod)}
	was := v1.PodStatus{}
	if old != nil {
		was = old.Status
	}
	now := pod.Status
	if now.StartTime != nil && was.StartTime == nil {
		t.tell(now.StartTime.UTC(), "", 0, fact.Admitted{HostIP: now.HostIP})
	}
	if now.Phase == v1.PodFailed && was.Phase != v1.PodFailed && reported.Refused(now) {
		t.tell(time.Time{}, "", 0, fact.Refused{Reason: now.Reason, Message: now.Message})
	}
	if len(now.PodIPs) > 0 && len(was.PodIPs) == 0 {
		b := fact.SetUpDone{}
		for _, ip := range now.PodIPs {
			b.IPs = append(b.IPs, ip.IP)
		}
		for _, ip := range now.HostIPs {
			b.HostIPs = append(b.HostIPs, ip.IP)
		}
		t.tell(time.Time{}, "", 0, b)
	}
	for i, all := range [][]v1.ContainerStatus{now.InitContainerStatuses, now.ContainerStatuses, now.EphemeralContainerStatuses} {
		before := [][]v1.ContainerStatus{was.InitContainerStatuses, was.ContainerStatuses, was.EphemeralContainerStatuses}[i]
		for j := range all {
			t.container(statusOf(before, all[j].Name), &all[j])
		}
	}
	return t.facts
}

func statusOf(all []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return &v1.ContainerStatus{}
}

type statusTeller struct {
	pod   fact.Pod
	facts []fact.Fact
}

func (t *statusTeller) tell(at time.Time, container string, attempt int32, body fact.Observed) {
	t.facts = append(t.facts, fact.Fact{Pod: t.pod, At: at, Container: container, Attempt: attempt, Body: body})
}

func (t *statusTeller) container(was, now *v1.ContainerStatus) {
	// What ended before what is now; of restarts that nobody saw only the last is known.
	if last := now.LastTerminationState.Terminated; last != nil && !sameEnd(last, was.LastTerminationState.Terminated) && !sameEnd(last, was.State.Terminated) {
		t.ended(now, last, now.RestartCount-1)
	}
	switch s := now.State; {
	case s.Running != nil && (was.State.Running == nil || was.ContainerID != now.ContainerID):
		t.tell(s.Running.StartedAt.UTC(), now.Name, now.RestartCount, fact.Started{
			ContainerID: now.ContainerID, Image: now.Image, ImageID: now.ImageID, Resources: now.Resources, User: now.User, VolumeMounts: now.VolumeMounts,
		})
	case s.Terminated != nil && !sameEnd(s.Terminated, was.State.Terminated):
		t.ended(now, s.Terminated, now.RestartCount)
	case s.Waiting != nil:
		t.waits(was, now)
	}
}

func sameEnd(a, b *v1.ContainerStateTerminated) bool {
	return b != nil && a.ContainerID == b.ContainerID && a.FinishedAt.Equal(&b.FinishedAt)
}

// ended tells how a run ended. kubelet makes up exit code 137 for one of which nobody
// knows how it ended (pkg/kubelet/kubelet_pods.go, ContainerStatusUnknown).
func (t *statusTeller) ended(c *v1.ContainerStatus, e *v1.ContainerStateTerminated, attempt int32) {
	attempt = max(attempt, 0)
	at := e.FinishedAt.UTC()
	switch {
	case e.Reason == "ContainerStatusUnknown":
		t.tell(time.Time{}, c.Name, attempt, fact.Exited{ContainerID: e.ContainerID, Vanished: true})
	case reported.NeverRan(e.Reason):
		t.tell(at, c.Name, attempt, fact.StartFailed{Reason: "RunContainerError", Message: e.Message, ContainerID: e.ContainerID, Exited: true, ExitCode: e.ExitCode})
	case e.ContainerID != "":
		t.tell(at, c.Name, attempt, fact.Exited{
			ContainerID: e.ContainerID, ExitCode: e.ExitCode, StartedAt: e.StartedAt.UTC(), RuntimeReason: e.Reason, Message: e.Message,
		})
	}
}

// waits tells what a container waits for, once for each wording.
func (t *statusTeller) waits(was, now *v1.ContainerStatus) {
	w := now.State.Waiting
	if b := was.State.Waiting; b != nil && b.Reason == w.Reason && b.Message == w.Message {
		return
	}
	if w.Reason == "ImagePullBackOff" && was.State.Waiting != nil && was.State.Waiting.Reason != "ContainerCreating" {
		return // the failure itself was seen
	}
	if body := reported.Waiting(now.Image, w); body != nil {
		t.tell(time.Time{}, now.Name, now.RestartCount, body)
	}
}
