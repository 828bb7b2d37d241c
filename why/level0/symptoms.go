package level0

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// symptoms are what there is to explain, each with its verdict: at the end of a pod only
// that; else what its containers do, and then whether it is ready.
func (c *podCase) symptoms() []told {
	if c.Pod.DeletionTimestamp != nil && len(c.Pod.Finalizers) > 0 && c.done() {
		return []told{c.terminating()} // whatever its phase: it ended for that
	}
	if t, ok := c.ended(); ok {
		return []told{t}
	}
	var all []told
	if c.Pod.DeletionTimestamp != nil {
		return []told{c.terminating()}
	}
	if c.Pod.Status.Phase == v1.PodUnknown {
		return []told{{answer.Symptom{Kind: answer.UnknownNode, Text: "its state is not known"}, unknown("", "The pod's phase is Unknown: its node does not report it.", "what became of its containers", c.describe())}}
	}
	initializing := false
	for _, st := range c.Pod.Status.InitContainerStatuses {
		k := c.container(st.Name)
		sidecar := k != nil && k.RestartPolicy != nil && *k.RestartPolicy == v1.ContainerRestartPolicyAlways
		if !sidecar && st.State.Terminated != nil && st.State.Terminated.ExitCode == 0 {
			continue
		}
		if t, ok := c.starting(st, !sidecar); ok {
			all = append(all, t)
			initializing = true
		} else if !sidecar && st.State.Running != nil {
			all = append(all, c.initRuns(st))
			initializing = true
		}
	}
	for _, st := range c.Pod.Status.ContainerStatuses {
		if w := st.State.Waiting; initializing && (w == nil || w.Reason == "PodInitializing" || w.Reason == "ContainerCreating") {
			continue // it waits its turn
		}
		if t, ok := c.starting(st, false); ok {
			all = append(all, t)
		}
	}
	if len(all) == 0 {
		if t, ok := c.notReady(); ok {
			all = append(all, t)
		}
	} else if t, ok := c.heldBack(); ok {
		all = append(all, t)
	}
	if len(all) == 0 {
		all = append(all, c.well())
	}
	return all
}

// starting is the symptom of a container that waits or was restarted; ok is false for
// one that runs for the first time, or is done.
func (c *podCase) starting(st v1.ContainerStatus, init bool) (told, bool) {
	s := answer.Symptom{Container: st.Name, Count: int(st.RestartCount), Last: c.Now}
	w, before := st.State.Waiting, st.LastTerminationState.Terminated
	if t := st.State.Terminated; t != nil {
		before = t // it is between two runs, or its pod lets it be
	}
	switch {
	case w != nil && w.Reason == "PodInitializing":
		return told{}, false
	case w != nil && (w.Reason != "CrashLoopBackOff" || before == nil):
		s.Kind, s.Text = answer.NotStarting, fmt.Sprintf("container %s: %s", st.Name, w.Reason)
		s.First = c.Pod.CreationTimestamp.Time
		return told{s, c.waiting(st)}, true
	case before != nil && (st.State.Running == nil || st.RestartCount > 0):
		if st.State.Terminated != nil && st.State.Terminated.ExitCode == 0 && st.RestartCount == 0 && !c.restartsDone() {
			return told{}, false // it did its work
		}
		s.Kind, s.Last = answer.Restarted, before.FinishedAt.Time
		s.Text = fmt.Sprintf("container %s was restarted %s", st.Name, times(st.RestartCount))
		if st.RestartCount == 0 {
			s.Text, s.Count = "container "+st.Name+" ended", 1
		}
		v := c.end(st, before)
		switch {
		case init && before.ExitCode != 0:
			s.Kind, v = answer.NotStarting, initFailed(st.Name, v)
		case before.Reason == "StartError" || before.Reason == "ContainerCannotRun":
			s.Kind = answer.NotStarting
		}
		return told{s, v}, true
	}
	return told{}, false
}

// initFailed is about an init container that ended with an error: that keeps the others
// from being started, whatever it came of.
func initFailed(name string, why answer.Verdict) answer.Verdict {
	v := why
	v.Cause, v.Certainty, v.Rule, v.Possible = answer.InitFailed, answer.Inferred, "api-init-failed", nil
	v.Text = fmt.Sprintf("Init container %s fails, so the pod's containers never start. %s", name, why.Text)
	if why.Cause != answer.CauseUnknown {
		v.Contributing = []answer.Note{{Cause: why.Cause, Text: why.Text}}
	}
	return v
}

// restartsDone says whether a container that ended with success is to run again.
func (c *podCase) restartsDone() bool {
	p := c.Pod.Spec.RestartPolicy
	return p != v1.RestartPolicyNever && p != v1.RestartPolicyOnFailure
}

func times(n int32) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// initRuns is about a pod whose init container runs: that is no failure.
func (c *podCase) initRuns(st v1.ContainerStatus) told {
	since := st.State.Running.StartedAt.Time
	s := answer.Symptom{Kind: answer.NotStarting, Container: st.Name, First: since, Last: c.Now, Text: "its containers wait for init container " + st.Name}
	return told{s, because(answer.InitWaiting, "api-init-runs", st.Name, fmt.Sprintf("Init container %s has run for %s, and the others wait until it is done. What it does is for its log to say.", st.Name, prose.Span(max(c.Now.Sub(since), 0))),
		answer.Fix{Text: "see what it does", Command: fmt.Sprintf("kubectl -n %s logs %s -c %s", c.Pod.Namespace, c.Pod.Name, st.Name), Risk: answer.Inspect})}
}

func condition(pod *v1.Pod, kind v1.PodConditionType) *v1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

// heldBack is a pod whose other containers are ready, and which is not for the sake of
// those that are not.
func (c *podCase) heldBack() (told, bool) {
	ready := condition(c.Pod, v1.PodReady)
	var held, by []string
	for _, st := range c.Pod.Status.ContainerStatuses {
		if st.Ready {
			held = append(held, st.Name)
		} else {
			by = append(by, st.Name)
		}
	}
	if c.Pod.Status.Phase != v1.PodRunning || ready == nil || ready.Status != v1.ConditionFalse || ready.Reason != "ContainersNotReady" || len(held) == 0 || len(by) != 1 {
		return told{}, false
	}
	s := answer.Symptom{Kind: answer.NotReady, First: ready.LastTransitionTime.Time, Last: c.Now, Text: "not ready since " + prose.Span(max(c.Now.Sub(ready.LastTransitionTime.Time), 0))}
	return told{s, because(answer.SiblingNotReady, "api-sibling", by[0], fmt.Sprintf("Container %s is ready, and its pod gets no traffic as long as container %s is not.", held[0], by[0]), c.describe())}, true
}

func started(pod *v1.Pod) time.Time {
	if pod.Status.StartTime != nil {
		return pod.Status.StartTime.Time
	}
	return pod.CreationTimestamp.Time
}
