package history

import (
	"cmp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
)

func (h *History) IsEphemeral(name string) bool {
	return h.Object != nil && slices.ContainsFunc(h.Object.Spec.EphemeralContainers, func(c v1.EphemeralContainer) bool { return c.Name == name })
}

// IsInit says whether a container is an init container that is to end.
func (h *History) IsInit(name string) bool {
	return h.Object != nil && slices.ContainsFunc(h.Object.Spec.InitContainers, func(c v1.Container) bool {
		return c.Name == name && (c.RestartPolicy == nil || *c.RestartPolicy != v1.ContainerRestartPolicyAlways)
	})
}

// LimitRanged says whether a container's memory limit comes from a LimitRange, by the
// annotation that tells so (plugin/pkg/admission/limitranger/admission.go).
func (h *History) LimitRanged(container string) bool {
	if h.Object == nil {
		return false
	}
	for part := range strings.SplitSeq(strings.TrimPrefix(h.Object.Annotations["kubernetes.io/limit-ranger"], "LimitRanger plugin set: "), "; ") {
		what, _, _ := strings.Cut(part, " for ")
		if strings.HasSuffix(part, "container "+container) && strings.Contains(what, "memory") && strings.Contains(what, "limit") {
			return true
		}
	}
	return false
}

// OwnLimit says whether an OOM kill in a container was about its own memory limit,
// as far as anybody can tell, and not about that of the pod, of all pods, or of the
// machine.
func (h *History) OwnLimit(container string, b fact.OOMKilled) bool {
	scope := b.Scope(h.Object, container)
	return scope == fact.OfContainer || scope == ""
}

// Grace is the longest time that the pod's spec gives a container to end.
func (h *History) Grace() time.Duration {
	longest := int64(v1.DefaultTerminationGracePeriodSeconds)
	if h.Object == nil {
		return time.Duration(longest) * time.Second
	}
	raise := func(s *int64) {
		if s != nil {
			longest = max(longest, *s)
		}
	}
	raise(h.Object.Spec.TerminationGracePeriodSeconds)
	for _, name := range h.Containers() {
		for _, kind := range fact.KillingProbes {
			if p := fact.ProbeOf(h.Spec(name), kind); p != nil {
				raise(p.TerminationGracePeriodSeconds)
			}
		}
	}
	return time.Duration(longest) * time.Second
}

// Controller is what the pod was made by.
func (h *History) Controller() (kind, name string) {
	if h.Object == nil {
		return "", ""
	}
	if o := metav1.GetControllerOf(h.Object); o != nil {
		return o.Kind, o.Name
	}
	return "", ""
}

// ChangedBy is who changed the spec last.
func (h *History) ChangedBy() string {
	_, b, _ := fact.Latest[fact.SpecSeen](h.Facts)
	return b.By
}

// Deletion is the fact that the pod is to go: the first that says so, and by whom.
func (h *History) Deletion() (*fact.Fact, fact.DeletionSeen, bool) {
	all := fact.All[fact.DeletionSeen](h.Facts)
	if len(all) == 0 {
		return nil, fact.DeletionSeen{}, false
	}
	b := fact.Of[fact.DeletionSeen](all[0])
	for _, f := range all[1:] {
		o := fact.Of[fact.DeletionSeen](f)
		b.By, b.Reason, b.Gone = cmp.Or(b.By, o.By), cmp.Or(b.Reason, o.Reason), b.Gone || o.Gone
	}
	return all[0], b, true
}

// follows is how soon the deletion of a pod is seen after somebody asked for it, where it
// is not known whether that was granted.
const follows = 10 * time.Second

// Requested is the request that had the pod deleted; nil where nobody told of it.
func (h *History) Requested() (*fact.Fact, fact.Requested) {
	at, _, ok := h.Deletion()
	if !ok {
		return nil, fact.Requested{}
	}
	var found *fact.Fact
	for _, f := range fact.All[fact.Requested](h.Facts) {
		if !f.When().After(at.Seen) {
			found = f
		}
	}
	if b := fact.Of[fact.Requested](found); b.Asked && at.Seen.Sub(found.When()) > follows {
		return nil, fact.Requested{} // it was refused, and nobody told who asked next
	}
	return found, fact.Of[fact.Requested](found)
}

// SetUpFailures are those since the last time it succeeded. An event may be read long after
// that: what a container was started after is over, whenever it was told.
func (h *History) SetUpFailures() []*fact.Fact {
	var row []*fact.Fact
	var started time.Time
	for i := range h.Facts {
		switch f := &h.Facts[i]; f.Body.(type) {
		case fact.SetUpFailed:
			row = append(row, f)
		case fact.SetUpDone:
			row = nil
		case fact.Started:
			if f.When().After(started) {
				started = f.When()
			}
		}
	}
	return slices.DeleteFunc(row, func(f *fact.Fact) bool {
		return f.When().Before(started) || h.FromAPI && f.When().Equal(started) // the API has whole seconds
	})
}

// ReadySince is when the pod became ready for the last time.
func (h *History) ReadySince() (time.Time, *fact.Fact) {
	for i := len(h.Facts) - 1; i >= 0; i-- {
		if b, ok := h.Facts[i].Body.(fact.SetCondition); ok && b.Condition.Type == v1.PodReady && b.Condition.Status == v1.ConditionTrue {
			return h.Facts[i].Seen, &h.Facts[i]
		}
	}
	return time.Time{}, nil
}

// ConditionFact is the newest decision about a condition, or the status that shows it.
func (h *History) ConditionFact(kind v1.PodConditionType) *fact.Fact {
	for i := len(h.Facts) - 1; i >= 0; i-- {
		switch b := h.Facts[i].Body.(type) {
		case fact.SetCondition:
			if b.Condition.Type == kind {
				return &h.Facts[i]
			}
		case fact.StatusSeen:
			return &h.Facts[i]
		}
	}
	return nil
}

// Over says whether nothing of the pod was left at a time.
func (h *History) Over(at time.Time) bool {
	for i := range h.Facts {
		switch h.Facts[i].Body.(type) {
		case fact.TornDown, fact.ObjectGone:
			return !h.Facts[i].Seen.After(at)
		}
	}
	return false
}

func (h *History) FirstSeen() time.Time {
	if len(h.Facts) == 0 {
		return time.Time{}
	}
	return h.Facts[0].Seen
}

func (h *History) LastSeen() time.Time {
	if len(h.Facts) == 0 {
		return time.Time{}
	}
	return h.Facts[len(h.Facts)-1].Seen
}

// SpecChanged says whether another spec came between the ends of two runs.
func (h *History) SpecChanged(a, b *Run) bool {
	var generation int64
	for i := range h.Facts {
		s, ok := h.Facts[i].Body.(fact.SpecSeen)
		if !ok || s.Object == nil || h.Facts[i].Seen.After(b.Exit.Seen) {
			continue
		}
		if generation != 0 && s.Object.Generation != generation && h.Facts[i].Seen.After(a.Exit.Seen) {
			return true
		}
		generation = s.Object.Generation
	}
	return false
}

// HalfSeen says whether another node made attempts of which not all were seen: what other
// settings would have made of them cannot be told.
func (h *History) HalfSeen() bool {
	all := fact.All[fact.Probed](h.Facts)
	told := func(f *fact.Fact) bool { return fact.Of[fact.Probed](f).By == fact.BySay }
	return h.Beside != "" && (len(all) == 0 || slices.ContainsFunc(all, told))
}

// Ran says whether an agent with a source ran through all of a time.
func (h *History) Ran(source fact.Source, from, until time.Time) bool {
	has := false
	for _, f := range fact.All[fact.AgentStarted](h.Node) {
		b := fact.Of[fact.AgentStarted](f)
		switch {
		case !f.Seen.After(from):
			has = slices.Contains(b.Sources, source)
		case !f.Seen.After(until), b.LastSeen.Before(until):
			return false // it began meanwhile, or the one before it had ended by then
		default:
			return has
		}
	}
	return has
}

// RebootBefore is the start of an agent after a reboot, in the time of a run's
// end; nil when there was none.
func (h *History) RebootBefore(run *Run) *fact.Fact {
	exit := run.Exit
	for _, f := range fact.All[fact.AgentStarted](h.Node) {
		b := fact.Of[fact.AgentStarted](f)
		if run.Started != nil && !run.Started.When().Before(f.Seen) {
			continue // it was started after that
		}
		if b.Previous == fact.RunRebooted && !f.Seen.After(exit.Seen.Add(time.Minute)) && !b.LastSeen.IsZero() && exit.Seen.After(b.LastSeen) {
			return f
		}
	}
	return nil
}
