package fromapi

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/reported"
	"whylet.dev/whylet/shadow"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
)

// teller collects the facts about a pod.
type teller struct {
	Seen
	key    fact.Pod
	events []reported.Event // about the pod itself
	facts  []fact.Fact
	// gone is set of a pod that does not exist any more, deletedAt is when a controller says that it deleted it.
	gone      bool
	deletedAt time.Time
	// quiet are the ends that kubelet did not order: its word for them would be there.
	quiet []end
}

// end is one of a container's ends.
type end struct {
	container string
	attempt   int32
}

// History returns the facts that the API server's words amount to. Each is as old as what it tells.
func History(s Seen) *history.History {
	t := &teller{Seen: s, key: fact.Pod{Namespace: s.Pod.Namespace, Name: s.Pod.Name, UID: s.Pod.UID}}
	t.ownEvents()
	t.object()
	t.containers()
	t.statuses()
	for _, e := range t.events {
		t.event(e)
	}
	if at, ok := t.deleted(); ok {
		t.owners(at)
	}
	t.configs()
	return t.history()
}

func (t *teller) tell(at time.Time, container string, attempt int32, body fact.Body) {
	if at.IsZero() || at.After(t.Now) {
		at = t.Now
	}
	at = at.UTC()
	t.facts = append(t.facts, fact.Fact{At: at, Seen: at, Pod: t.key, Container: container, Attempt: attempt, Body: body})
}

// object tells of the pod's specification, its admission and its deletion.
func (t *teller) object() {
	p := t.Pod
	trimmed := &v1.Pod{TypeMeta: p.TypeMeta, ObjectMeta: *p.ObjectMeta.DeepCopy(), Spec: *p.Spec.DeepCopy()}
	trimmed.ManagedFields = nil
	t.tell(p.CreationTimestamp.Time, "", 0, fact.SpecSeen{Object: trimmed, Source: fact.FromAPI})
	if s := p.Status.StartTime; s != nil {
		t.tell(s.Time, "", 0, fact.Admitted{HostIP: p.Status.HostIP})
	}
	if p.Status.Phase == v1.PodFailed && reported.Refused(p.Status) {
		t.tell(t.lastChange(), "", 0, fact.Refused{Reason: p.Status.Reason, Message: p.Status.Message})
	}
	if others := foreign(p.Status.Conditions); len(others) > 0 {
		at := p.CreationTimestamp.Time
		for _, c := range others {
			at = latest(at, c.LastTransitionTime.Time)
		}
		t.tell(at, "", 0, fact.ConditionsSeen{Conditions: others})
	}
	if at, ok := t.deleted(); ok {
		t.tell(at, "", 0, fact.DeletionSeen{GraceSeconds: int64(t.grace() / time.Second)})
	}
}

// foreign are the conditions that somebody other than kubelet set.
func foreign(all []v1.PodCondition) []v1.PodCondition {
	return slices.DeleteFunc(slices.Clone(all), func(c v1.PodCondition) bool { return slices.Contains(reported.Kubelets, c.Type) })
}

// deleted is when the pod was deleted: its timestamp is when the grace period is over.
func (t *teller) deleted() (time.Time, bool) {
	if t.Pod.DeletionTimestamp == nil {
		return time.Time{}, false
	}
	return t.Pod.DeletionTimestamp.Add(-t.grace()), true
}

func (t *teller) grace() time.Duration {
	for _, s := range []*int64{t.Pod.DeletionGracePeriodSeconds, t.Pod.Spec.TerminationGracePeriodSeconds} {
		if s != nil {
			return time.Duration(*s) * time.Second
		}
	}
	return v1.DefaultTerminationGracePeriodSeconds * time.Second
}

// configs tells of changes of the ConfigMaps that the pod reads.
func (t *teller) configs() {
	for _, name := range ConfigMaps(t.Pod) {
		if at := t.Changed[name]; at.After(t.Pod.CreationTimestamp.Time) {
			t.tell(at, "", 0, fact.ConfigChanged{Object: "ConfigMap", Name: name})
		}
	}
}

// ranks are which facts of one moment come first.
func rank(b fact.Body) int {
	switch b.(type) {
	case fact.SpecSeen:
		return 0
	case fact.ConditionsSeen:
		return 1
	case fact.DeletionSeen:
		return 2
	case fact.Exited:
		return 3
	case fact.Started:
		return 5
	case fact.StatusSeen:
		return 6
	}
	return 4
}

// history puts the facts in the order of their times, with what kubelet decided by them.
func (t *teller) history() *history.History {
	slices.SortStableFunc(t.facts, func(a, b fact.Fact) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(rank(a.Body), rank(b.Body)))
	})
	var all []fact.Fact
	var state shadow.State
	next := func() fact.ID { return fact.ID(len(all) + 1) }
	for _, f := range t.facts {
		f.ID = next()
		all = append(all, f)
		var decided []shadow.Decision
		state, decided = shadow.Step(state, f)
		for _, d := range decided {
			if d.Act.Basis != fact.Told {
				continue // the attempts that an event counts are no evidence of their own
			}
			all = append(all, d.Fact(next(), f))
		}
	}
	h := history.New(t.key, all, nil, nil)
	h.Beside, h.FromAPI, h.Unwatched, h.Configs = shadow.By, true, t.unwatched(), t.Configs
	for _, q := range t.quiet {
		for _, r := range h.Runs(q.container) {
			if r.Attempt == q.attempt && r.Exit != nil {
				h.Unordered = append(h.Unordered, r.Exit.ID)
			}
		}
	}
	newest := map[string]*fact.Fact{} // the ends whose logs kubectl logs can show
	for _, f := range fact.All[fact.Exited](h.Facts) {
		newest[f.Container] = f
	}
	for _, f := range fact.All[fact.Exited](h.Facts) {
		if _, read := t.Ended[f.Container]; !read || f != newest[f.Container] || h.Last(f.Container).Attempt > f.Attempt+1 {
			h.Unread = append(h.Unread, f.ID)
		}
	}
	return h
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Seen is what the API server shows of a pod that has a node.
type Seen struct {
	Pod *v1.Pod
	// Events are those about this pod and about whoever made it.
	Events []v1.Event
	// Ended are the last lines that a container logged in the run before this one, Running those of
	// containers that run, where they could be read; a line whose time is not known has a zero one.
	Ended, Running map[string]why.Log
	// Changed is when each of the ConfigMaps that its containers read was changed last, as far
	// as that is known.
	Changed map[string]time.Time
	// Configs are the keys of those.
	Configs []history.Config
	// Images are those that its node has; none where they may not be read.
	Images []v1.ContainerImage
	// Now is when it was read, by the clock of who asks.
	Now time.Time
}

// Sight is what an answer from the API alone begins its gaps with.
const Sight = "based on the Kubernetes API alone (level 0): "

// Asked says what is asked about a pod.
type Asked struct {
	// Since leaves out what was over before; Container asks about one container.
	Since     time.Time
	Container string
	// Reason says why nobody on the node was asked, as the end of a sentence.
	Reason string
}

// Explain returns the answer about a pod by what the API server shows of it.
func Explain(s Seen, asked Asked) answer.Answer { return explain(History(s), s.Now, asked) }

func explain(h *history.History, now time.Time, asked Asked) answer.Answer {
	return why.Explain(h, why.Options{
		Now: now, Since: asked.Since, Container: asked.Container,
		Journal: answer.Coverage{Gaps: []answer.Gap{{Reason: Sight + asked.Reason}}},
	})
}
