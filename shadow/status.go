package shadow

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

func (s *stepper) names() []string { return slices.Sorted(maps.Keys(s.Runs)) }

// statusSeen tells acts from the difference of two statuses.
func (s *stepper) statusSeen(b fact.StatusSeen) {
	old, now := s.Status, b.Status
	if old == nil {
		old = &v1.PodStatus{}
	}
	s.Status = &now
	if now.Phase != old.Phase || now.Reason != old.Reason {
		s.act(fact.Told, time.Time{}, "", 0, fact.SetPhase{Phase: now.Phase, Reason: now.Reason, Message: now.Message}, s.fact.ID)
	}
	was, _ := fact.EndedFor(*old)
	switch reason, message := fact.EndedFor(now); {
	case was == reason:
	case reason == "Evicted" && len(fact.PressuresIn(message)) > 0: // it was never let in
	case reason == "Evicted":
		s.evicted(now)
	case reason == "DeadlineExceeded":
		s.goes(fact.KillDeadline, 0, s.fact.When())
	case reason == "Terminated" && strings.Contains(message, "node shutdown"): // nodeshutdown_manager.go
		s.goes(fact.KillShutdown, 0, s.fact.When())
	case reason == "Preempting":
		s.goes(fact.KillPreempted, 0, s.fact.When())
	}
	for _, all := range [][]v1.ContainerStatus{now.InitContainerStatuses, now.ContainerStatuses, now.EphemeralContainerStatuses} {
		for i := range all {
			s.containerStatus(&all[i])
		}
	}
	for _, c := range now.Conditions {
		if !sameCondition(old.Conditions, c) {
			s.act(fact.Told, time.Time{}, "", 0, fact.SetCondition{Condition: c}, append(s.guilty(c), s.fact.ID)...)
		}
	}
}

func sameCondition(old []v1.PodCondition, c v1.PodCondition) bool {
	return slices.ContainsFunc(old, func(o v1.PodCondition) bool {
		return o.Type == c.Type && o.Status == c.Status && o.Reason == c.Reason && o.Message == c.Message
	})
}

// guilty are the failed attempts for which the pod is not ready.
func (s *stepper) guilty(c v1.PodCondition) []fact.ID {
	if c.Status == v1.ConditionTrue || (c.Type != v1.PodReady && c.Type != v1.ContainersReady) {
		return nil
	}
	var ids []fact.ID
	for _, name := range s.names() {
		ids = append(ids, s.Runs[name].unready()...)
	}
	return ids
}

func (r Run) unready() []fact.ID {
	if row := r.Rows[fact.Startup]; len(row.IDs) > 0 {
		return row.IDs
	}
	return r.Rows[fact.Readiness].IDs
}

// containerStatus tells of readiness and of back-off.
func (s *stepper) containerStatus(c *v1.ContainerStatus) {
	r, known := s.Runs[c.Name]
	if known && c.RestartCount < r.Attempt {
		return // an older word than what the runtime told
	}
	if w := c.State.Waiting; w != nil {
		s.waiting(c, w)
		return
	}
	if c.State.Running == nil {
		return
	}
	if !known || c.RestartCount > r.Attempt {
		r = Run{Attempt: c.RestartCount, ContainerID: c.ContainerID}
	}
	mark := fact.Marked{Ready: c.Ready, Started: c.Started == nil || *c.Started}
	if r.Mark != nil && *r.Mark == mark || r.Exit != 0 {
		return
	}
	r.Mark = &mark
	s.set(c.Name, r)
	because := []fact.ID{s.fact.ID}
	if !mark.Ready {
		because = append(because, r.unready()...)
	}
	s.act(fact.Told, time.Time{}, c.Name, r.Attempt, mark, because...)
}

// backOff reads kubelet's words: "back-off 10s restarting failed container=…" and
// `Back-off pulling image "…"`.
var backOff = regexp.MustCompile(`^[Bb]ack-off ([0-9a-z.]+) restarting`)

func (s *stepper) waiting(c *v1.ContainerStatus, w *v1.ContainerStateWaiting) {
	what := map[string]fact.BackOffOf{"CrashLoopBackOff": fact.BackOffContainer, "ImagePullBackOff": fact.BackOffImage}[w.Reason]
	r := s.Runs[c.Name]
	told := w.Reason + " " + w.Message
	if r.Waits == told {
		return
	}
	r.Waits = ""
	if what != "" {
		r.Waits = told
	}
	if _, known := s.Runs[c.Name]; !known {
		r.Attempt = c.RestartCount
	}
	s.set(c.Name, r)
	if what == "" {
		return
	}
	b := fact.BackOff{What: what, Message: w.Message}
	if m := backOff.FindStringSubmatch(w.Message); m != nil {
		b.Delay, _ = time.ParseDuration(m[1]) // another wording has no delay
	}
	if b.Delay > 0 {
		from := s.fact.When()
		if r.Exit != 0 && r.At.Before(from) {
			from = r.At
		}
		b.Until = from.Add(b.Delay)
	}
	s.act(fact.Told, time.Time{}, c.Name, r.Attempt, b, s.fact.ID, r.Exit)
}

// evicted tells of an eviction in the words of the status
// (pkg/kubelet/eviction/eviction_manager.go, helpers.go).
func (s *stepper) evicted(now v1.PodStatus) {
	at := s.fact.When()
	for _, c := range now.Conditions {
		if c.Type == v1.DisruptionTarget && !c.LastTransitionTime.IsZero() && c.LastTransitionTime.Time.Before(at) {
			at = c.LastTransitionTime.UTC()
		}
	}
	s.evict(now, at)
	s.goes(fact.KillEviction, 0, at)
}

// rankedBefore is how long an order of eviction stands before the status tells of one.
const rankedBefore = 2 * time.Minute

func (s *stepper) evict(now v1.PodStatus, at time.Time) {
	reason, message := fact.EndedFor(now)
	b := fact.Evict{Reason: reason, Message: message, Signal: signalOf(message)}
	because := []fact.ID{s.fact.ID}
	if n := s.Needed; n != nil && at.Sub(n.At).Abs() < rankedBefore && (n.Signal == "" || n.Signal == b.Signal) {
		b.Ranking = n.Ranking
		because = append(because, n.ID)
	}
	s.act(fact.Told, at, "", 0, b, because...)
}

// signalOf finds what the node ran short of, or the pod's own limit, in the message.
func signalOf(message string) string {
	resource := ""
	if _, rest, ok := strings.Cut(message, "The node was low on resource: "); ok {
		resource, _, _ = strings.Cut(rest, ".")
	}
	switch {
	case resource == "memory":
		return "memory.available"
	case resource == "ephemeral-storage":
		return "nodefs.available"
	case resource == "inodes":
		return "nodefs.inodesFree"
	case resource == "pids":
		return "pid.available"
	case strings.Contains(message, "EmptyDir volume"):
		return "emptydir"
	case strings.Contains(message, "ephemeral local storage"), strings.Contains(message, "ephemeral-storage"):
		return "ephemeral-storage"
	}
	return resource
}
