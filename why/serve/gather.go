package serve

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/redact"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/suggest"
	"whylet.dev/whylet/why/whatif"
)

// NotKnownError says that a journal has nothing about a pod.
type NotKnownError struct {
	Namespace, Name string
	// Near are pods with names like it, as namespace/name.
	Near []string
}

func (e *NotKnownError) Error() string {
	text := fmt.Sprintf("nothing is known of a pod %s", strings.TrimPrefix(e.Namespace+"/"+e.Name, "/"))
	if len(e.Near) > 0 {
		text += "; there is " + strings.Join(e.Near, ", ")
	}
	return text
}

// One answers about one pod. The error is a *[NotKnownError] when the journal has
// nothing about it, or the journal's own.
func One(s journal.Source, q Question) (answer.Answer, error) {
	h, err := History(s, &q)
	if err != nil {
		return answer.Answer{}, err
	}
	a := explained(h, q.Options)
	steady(h, q.Options, &a)
	if q.LogOf != nil && h.Object != nil {
		hear(h, q, &a)
	}
	return a, nil
}

// hear completes the answer about a Ready pod by the logs of its running containers.
func hear(h *history.History, q Question, a *answer.Answer) {
	pod := h.Object.DeepCopy()
	pod.Status = v1.PodStatus{}
	if since, _ := h.ReadySince(); !since.IsZero() {
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)}}
	}
	var logs []why.Log
	for _, c := range pod.Spec.Containers {
		run := h.Last(c.Name)
		if run == nil || run.Started == nil || run.Exit != nil || q.Container != "" && q.Container != c.Name {
			continue
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, v1.ContainerStatus{Name: c.Name, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}})
		if lines, at, ok := q.LogOf(pod, c.Name, run.Attempt); ok {
			logs = append(logs, why.Log{Container: c.Name, Lines: lines, At: at})
		}
	}
	if !why.Degrade(a, pod, logs) {
		why.NoteErrors(a, pod, logs)
	}
	a.Clean()
}

// explained is an answer as others may be shown it.
func explained(h *history.History, o why.Options) answer.Answer {
	a := why.Explain(h, o)
	a.Clean()
	return a
}

// All answers about every pod of the namespace (empty: of all) that is not gone,
// worst first.
func All(s journal.Source, q Question) ([]answer.Answer, error) {
	q.Owner = "" // of whatever controller
	from := newGatherer(s)
	from.share()
	own := slices.DeleteFunc(slices.Clone(from.spans), func(p journal.PodSpan) bool {
		return p.Pod.Name == "" || q.Namespace != "" && p.Pod.Namespace != q.Namespace
	})
	return from.answers(own, q, false)
}

// ownedMost bounds how many pods of a controller are told of: those heard of last.
const ownedMost = 5

// Owned answers about pods that a controller made and that are gone, worst first. They
// have its name as the beginning of theirs.
func Owned(s journal.Source, q Question) ([]answer.Answer, error) {
	from := newGatherer(s)
	own := slices.DeleteFunc(slices.Clone(from.spans), func(p journal.PodSpan) bool {
		return p.Pod.Namespace != q.Namespace || !strings.HasPrefix(p.Pod.Name, q.Name+"-")
	})
	slices.SortFunc(own, func(a, b journal.PodSpan) int { return b.First.Compare(a.First) })
	return from.answers(own[:min(len(own), ownedMost)], q, true)
}

// answers answers about those of some pods that are gone or not, and that the controller made which is asked about.
func (g *gatherer) answers(spans []journal.PodSpan, q Question, areGone bool) (all []answer.Answer, err error) {
	for _, span := range spans {
		o := q.Options
		h, err := g.historyOf(span, &o)
		if err != nil {
			return all, err
		}
		if q.Owner != "" && (h.Object == nil || !slices.ContainsFunc(h.Object.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == q.Owner })) {
			continue
		}
		if a := explained(h, o); gone(a) == areGone {
			all = append(all, a)
		}
	}
	answer.WorstFirst(all)
	return all, nil
}

func gone(a answer.Answer) bool {
	return slices.ContainsFunc(a.Symptoms, func(s answer.Symptom) bool { return s.Kind == answer.Disappeared })
}

// newest is the pod of that name that was heard of last.
func newest(spans []journal.PodSpan, q Question) (journal.PodSpan, bool) {
	var best journal.PodSpan
	for _, p := range spans {
		if p.Pod.Name == "" || p.Pod.Name != q.Name || q.Namespace != "" && p.Pod.Namespace != q.Namespace || q.UID != "" && p.Pod.UID != q.UID {
			continue
		}
		if best.Pod.Name == "" || p.First.After(best.First) {
			best = p
		}
	}
	return best, best.Pod.Name != ""
}

// near lists pods with names like the one asked for.
func near(spans []journal.PodSpan, q Question) []string {
	var names []string
	for _, p := range spans {
		if p.Pod.Name != "" && (q.Namespace == "" || p.Pod.Namespace == q.Namespace || p.Pod.Name == q.Name) && (q.Within == "" || p.Pod.Namespace == q.Within) && Alike(p.Pod.Name, q.Name) {
			names = append(names, p.Pod.String())
		}
	}
	slices.Sort(names)
	return names[:min(len(names), 5)]
}

// Alike says whether two names look like each other: one has the other's beginning
// in it, or few letters differ.
func Alike(a, b string) bool {
	stem := b[:min(len(b), max(3, len(b)/2))]
	return stem != "" && (strings.Contains(a, stem) || prose.Distance(a, b) <= max(1, len(b)/4))
}

// WhatIf says what other settings would have changed for one pod. The error is as
// that of [One], or whatif's own.
func WhatIf(s journal.Source, q Question, changes []whatif.Change) (whatif.Result, error) {
	h, err := History(s, &q)
	if err != nil {
		return whatif.Result{}, err
	}
	r, err := whatif.Ask(h, changes, q.Options)
	return redact.Strings(r), err
}

// Suggest proposes settings for one pod. The error is as that of [One], or suggest's own.
func Suggest(s journal.Source, q Question) (suggest.Result, error) {
	h, err := History(s, &q)
	if err != nil {
		return suggest.Result{}, err
	}
	r, err := suggest.For(h, q.Options)
	return redact.Strings(r), err
}

// History gathers the history of the pod that is asked about, and puts into the question
// how much of it the journal has. The error is as that of [One].
func History(s journal.Source, q *Question) (*history.History, error) {
	from := newGatherer(s)
	span, ok := newest(from.spans, *q)
	if !ok {
		return nil, &NotKnownError{Namespace: q.Namespace, Name: q.Name, Near: near(from.spans, *q)}
	}
	return from.historyOf(span, &q.Options)
}

// gatherer gathers histories from a journal.
type gatherer struct {
	journal.Source
	spans []journal.PodSpan // of all pods
	// failed and started are what was read for another pod and is read for many: nil where
	// nothing is shared.
	failed  map[shared][]fact.Fact
	started map[types.UID][]fact.Fact
}

// shared is the beginning of a time in which others' failures are read once for all pods of
// a namespace whose own began in it.
type shared struct {
	namespace string
	from      time.Time
}

func newGatherer(s journal.Source) *gatherer { return &gatherer{Source: s, spans: s.Pods()} }

// share has what is read for one pod kept for the next: for who gathers the histories of
// all, which often began to fail together.
func (g *gatherer) share() {
	g.failed, g.started = map[shared][]fact.Fact{}, map[types.UID][]fact.Fact{}
}

// historyOf gathers all that is known of a pod and around it.
func (g *gatherer) historyOf(span journal.PodSpan, o *why.Options) (*history.History, error) {
	s := g.Source
	facts, err := collect(s, journal.Query{UID: span.Pod.UID}, int(span.Facts))
	if err != nil {
		return nil, err
	}
	node, err := collect(s, journal.Query{Node: true, From: span.First.Add(-time.Minute)})
	if err != nil {
		return nil, err
	}
	if agent, err := watching(s, span.First.Add(-time.Minute)); err != nil {
		return nil, err
	} else if agent != nil {
		node = slices.Insert(node, 0, *agent)
	}
	neighbours, err := g.neighbours(span.Pod, facts)
	if err != nil {
		return nil, err
	}
	kin, err := kin(s, span.Pod, facts)
	if err != nil {
		return nil, err
	}
	for _, seen := range [][]fact.Fact{facts, node, neighbours} {
		confine(seen, o.Within)
	}
	o.Journal.From = span.First
	o.Journal.Complete = len(facts) > 0 && facts[0].Body.Kind() == (fact.SpecSeen{}).Kind()
	h := history.New(span.Pod, why.Reread(facts), node, neighbours)
	h.Kin = kin
	return h, nil
}

// confine takes the names of other namespaces' pods out of facts, in place; an empty
// namespace leaves all.
func confine(facts []fact.Fact, namespace string) {
	for i := range facts {
		if namespace != "" {
			facts[i] = fact.Confined(facts[i], namespace)
		}
	}
}

// watching is the newest start of an agent before a time, where it only watches; nil where
// it decides itself.
func watching(s journal.Source, before time.Time) (*fact.Fact, error) {
	found, err := collect(s, journal.Query{Node: true, Kinds: []fact.Kind{fact.AgentStarted{}.Kind()}, To: before, Reverse: true, Limit: 1})
	if err != nil || len(found) == 0 || found[0].Body.(fact.AgentStarted).Beside == "" {
		return nil, err
	}
	return &found[0], nil
}

// collect gives what a question asks for; about so many facts, where that is known.
func collect(s journal.Source, q journal.Query, about ...int) ([]fact.Fact, error) {
	var facts []fact.Fact
	for _, n := range about {
		facts = make([]fact.Fact, 0, n)
	}
	for f, err := range s.Query(q) {
		if err != nil {
			return nil, fmt.Errorf("reading the journal: %w", err)
		}
		facts = append(facts, f)
	}
	return facts, nil
}

// aside is how far around the beginning of a failure other pods are looked at, and
// mostFailures how many of their failures are read: the first ones tell most.
// Those of mostPods pods are looked for, since whole blocks of the journal have to
// be unpacked for each: with a thousand pods that fail, a question took 38 ms of
// CPU time with all of them, and takes 17 ms with so many (BenchmarkMillion). A
// node has 110 pods, unless its configuration allows more.
const (
	aside        = 15 * time.Second
	mostFailures = 400
	mostPods     = 128
)

// neighbours are failed probe attempts of other pods around the time at which
// this pod's newest failures began: whether one thing made several fail.
func (g *gatherer) neighbours(pod fact.Pod, facts []fact.Fact) ([]fact.Fact, error) {
	began := onset(facts)
	if began.IsZero() {
		return nil, nil
	}
	failed, err := g.failuresAround(pod, began)
	if err != nil {
		return nil, err
	}
	seen := map[fact.Pod]bool{}
	near := slices.Clone(failed)
	for _, f := range failed {
		if seen[f.Pod] || len(seen) == mostNeighbours {
			continue
		}
		seen[f.Pod] = true
		starts, err := g.starts(f.Pod.UID)
		if err != nil {
			return nil, err
		}
		near = append(near, starts...)
	}
	return near, nil
}

// starts are when containers of a pod were started.
func (g *gatherer) starts(uid types.UID) ([]fact.Fact, error) {
	if known, ok := g.started[uid]; ok {
		return known, nil
	}
	starts, err := collect(g.Source, journal.Query{UID: uid, Kinds: []fact.Kind{fact.Started{}.Kind()}})
	if g.started != nil && err == nil {
		g.started[uid] = starts
	}
	return starts, err
}

// present are other pods that were there around a moment, at most mostPods of
// them, those of the pod's own namespace first.
func present(spans []journal.PodSpan, pod fact.Pod, moment time.Time) map[types.UID]bool {
	var mine, others []types.UID
	for _, p := range spans {
		switch {
		case p.Pod.Name == "", p.Pod.UID == pod.UID, p.First.After(moment.Add(aside)), p.Last.Before(moment.Add(-aside)):
		case p.Pod.Namespace == pod.Namespace:
			mine = append(mine, p.Pod.UID)
		default:
			others = append(others, p.Pod.UID)
		}
	}
	chosen := map[types.UID]bool{}
	for _, uid := range append(mine, others...) {
		if len(chosen) == mostPods {
			break
		}
		chosen[uid] = true
	}
	return chosen
}

// together is how long the time is for which failures are read once for all.
const together = 5 * time.Second

// failuresAround are the failed attempts of other pods around a moment.
func (g *gatherer) failuresAround(pod fact.Pod, moment time.Time) ([]fact.Fact, error) {
	if g.failed == nil {
		return g.failures(present(g.spans, pod, moment), moment.Add(-aside), moment.Add(aside), mostFailures)
	}
	key := shared{pod.Namespace, moment.Truncate(together)}
	all, known := g.failed[key]
	if !known {
		var err error
		among := present(g.spans, fact.Pod{Namespace: pod.Namespace}, key.from)
		if all, err = g.failures(among, key.from.Add(-aside), key.from.Add(together+aside), 4*mostFailures); err != nil {
			return nil, err
		}
		g.failed[key] = all
	}
	own := slices.DeleteFunc(slices.Clone(all), func(f fact.Fact) bool {
		return f.Pod.UID == pod.UID || f.Seen.Before(moment.Add(-aside)) || f.Seen.After(moment.Add(aside))
	})
	return own[:min(len(own), mostFailures)], nil
}

// failures are the first failed attempts of some pods in a time, of so many attempts.
func (g *gatherer) failures(among map[types.UID]bool, from, to time.Time, most int) ([]fact.Fact, error) {
	if len(among) == 0 {
		return nil, nil
	}
	all, err := collect(g.Source, journal.Query{Among: among, Kinds: []fact.Kind{fact.Probed{}.Kind()}, From: from, To: to, Limit: most})
	return slices.DeleteFunc(all, func(f fact.Fact) bool {
		b, ok := f.Body.(fact.Probed)
		return !ok || b.Verdict != fact.Failure
	}), err
}

// mostNeighbours is how many other pods are asked how old they are.
const mostNeighbours = 8

// before and after are how long around a pod's deletion the pods that came are looked
// at, for one that took its place.
const before, after = 15 * time.Minute, 2 * time.Minute

// kin are the first sights of other pods of the namespace around this one's
// deletion; nil where it was not deleted.
func kin(s journal.Source, pod fact.Pod, facts []fact.Fact) ([]fact.Fact, error) {
	i := slices.IndexFunc(facts, func(f fact.Fact) bool { _, ok := f.Body.(fact.DeletionSeen); return ok })
	if i < 0 {
		return nil, nil
	}
	at := facts[i].Seen
	all, err := collect(s, journal.Query{Kinds: []fact.Kind{fact.SpecSeen{}.Kind()}, From: at.Add(-before), To: at.Add(after)})
	first := map[fact.Pod]bool{}
	return slices.DeleteFunc(all, func(f fact.Fact) bool {
		known := first[f.Pod]
		first[f.Pod] = true
		return known || f.Pod.Namespace != pod.Namespace || f.Pod.UID == pod.UID
	}), err
}

// onset is when the newest row of failures began that followed a success; zero
// when there was none.
func onset(facts []fact.Fact) time.Time {
	type row struct {
		container string
		probe     fact.ProbeKind
	}
	worked := map[row]bool{}
	var began time.Time
	for _, f := range facts {
		b, ok := f.Body.(fact.Probed)
		if !ok {
			continue
		}
		key := row{f.Container, b.Probe}
		if b.Verdict == fact.Failure && worked[key] {
			began = f.When()
		}
		worked[key] = b.Verdict == fact.Success || b.Verdict == fact.Warning
	}
	return began
}
