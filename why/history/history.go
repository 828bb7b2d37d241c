package history

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// History is what the journal knows of one pod, ordered for questions. It keeps what a
// replay gave, so that it may not be asked concurrently.
type History struct {
	Pod fact.Pod
	// Object is the pod's newest spec, nil when its beginning is not kept.
	Object *v1.Pod
	// Facts are all facts of the pod, by id.
	Facts []fact.Fact
	// Node are the facts about the node itself in the same time, and the newest
	// AgentStarted before.
	Node []fact.Fact
	// Neighbours are the probe failures, evictions and OOM kills of other pods of
	// the node in the same time.
	Neighbours []fact.Fact

	// Kin are the SpecSeen facts of other pods of the same namespace around this
	// one's deletion: who came in its place.
	Kin []fact.Fact

	runs map[string][]*Run
	// basis says of the acts of a kubelet beside which an agent only watched how they
	// are known. A decision that is not in it was the node's own.
	basis map[fact.ID]fact.Basis
	// Beside is who decides about the pod where the agent only watches; empty on a node
	// of its own.
	Beside string
	// FromAPI is set where nobody on the node was asked: all of it is what the API server shows.
	// Unordered are the ends of which even so it is known that nobody who decides ordered them.
	FromAPI   bool
	Unordered []fact.ID
	// Unread are the ends of which nobody could read what was said before.
	Unread []fact.ID
	// Unwatched are the containers that take something from where a change would not have been seen.
	Unwatched map[string]Sources
	// Configs are the keys of the ConfigMaps that its containers read, if the caller read them.
	Configs []Config

	replayed *replayed
}

// Config is a key of a ConfigMap.
type Config struct{ Map, Key, Text string }

// Run is one life of a container: an attempt, from its start decision on.
type Run struct {
	Container string
	Attempt   int32
	// Each is nil when the journal has no such fact. Kill is the decision that
	// asked for its end; Failed is a start that nothing came of since.
	Start, Started, Failed, Kill, Exit *fact.Fact

	Probes, OOMKills, Samples, Looks, Hooks, Images, Marks []*fact.Fact
	// Again are the patient requests after attempts that timed out; Ended the ends
	// of processes, Signals what was sent to them, where the kernel told.
	Again, Ended, Signals []*fact.Fact
	// Counts are another node's own counts of its attempts.
	Counts []*fact.Fact
}

// New orders the facts of one pod. The slices are not kept.
func New(pod fact.Pod, facts, node, neighbours []fact.Fact) *History {
	return ordered(pod, slices.Clone(facts), slices.Clone(node), slices.Clone(neighbours), map[fact.ID]fact.Basis{})
}

// ordered keeps the slices.
func ordered(pod fact.Pod, facts, node, neighbours []fact.Fact, basis map[fact.ID]fact.Basis) *History {
	h := &History{Pod: pod, Facts: facts, Node: node, Neighbours: neighbours, runs: map[string][]*Run{}, basis: basis}
	if byID := func(a, b fact.Fact) int { return cmp.Compare(a.ID, b.ID) }; !slices.IsSortedFunc(facts, byID) {
		slices.SortStableFunc(facts, byID)
	}
	for _, f := range fact.All[fact.AgentStarted](h.Node) {
		h.Beside = fact.Of[fact.AgentStarted](f).Beside
	}
	for i := range h.Facts {
		f := &h.Facts[i]
		if act, ok := f.Body.(fact.Act); ok {
			// What happened is told by At: these are seen after their effects.
			f.Body, f.Seen, h.basis[f.ID], h.Beside = act.Body, f.When(), act.Basis, act.By
		}
		switch b := f.Body.(type) {
		case fact.SpecSeen:
			h.Object = b.Object
		case fact.Checkpoint:
			if h.Object == nil {
				h.Object = objectIn(b)
			}
		case fact.StatusSeen:
			h.Beside = cmp.Or(h.Beside, "kubelet")
			h.mark(f, b)
		}
		if f.Container != "" {
			h.run(f.Container, f.Attempt).note(f, h.surer)
		}
	}
	return h
}

// run finds or begins a run.
func (h *History) run(container string, attempt int32) *Run {
	runs := h.runs[container]
	i, found := slices.BinarySearchFunc(runs, attempt, func(r *Run, n int32) int { return cmp.Compare(r.Attempt, n) })
	if !found {
		runs = slices.Insert(runs, i, &Run{Container: container, Attempt: attempt})
		h.runs[container] = runs
	}
	return runs[i]
}

// UntilDeletion is the history up to the pod's deletion, and when that was; ok is false
// where nobody deleted it.
func (h *History) UntilDeletion() (before *History, at time.Time, ok bool) {
	for i := range h.Facts {
		if _, deleted := h.Facts[i].Body.(fact.DeletionSeen); deleted {
			before = ordered(h.Pod, h.Facts[:i], h.Node, h.Neighbours, h.basis)
			before.Beside = h.Beside
			before.seeAs(h)
			return before, h.Facts[i].Seen, true
		}
	}
	return h, time.Time{}, false
}

// At is the history as it was known at a time; ok is false where nothing was.
func (h *History) At(then time.Time) (before *History, ok bool) {
	before = ordered(h.Pod, seenBy(then, h.Facts), seenBy(then, h.Node), seenBy(then, h.Neighbours), h.basis)
	before.Beside = cmp.Or(before.Beside, h.Beside)
	before.seeAs(h)
	return before, len(before.Facts) > 0
}

// seenBy are the facts that were seen at a time: mostly all up to one, of which no copy is made.
func seenBy(then time.Time, all []fact.Fact) []fact.Fact {
	later := func(f fact.Fact) bool { return f.Seen.After(then) }
	n := slices.IndexFunc(all, later)
	if n < 0 {
		return all
	}
	if slices.ContainsFunc(all[n:], func(f fact.Fact) bool { return !later(f) }) {
		return slices.DeleteFunc(slices.Clone(all), later)
	}
	return all[:n:n]
}

// Sources are what a container is configured from: each start reads variables anew, and files change
// while it runs.
type Sources struct{ Variables, Files bool }

// seeAs takes over what another history of the pod knows of what could be seen.
func (h *History) seeAs(o *History) {
	h.FromAPI, h.Unordered, h.Unread, h.Unwatched, h.Configs = o.FromAPI, o.Unordered, o.Unread, o.Unwatched, o.Configs
}

// Basis says of the act of a kubelet how it is known; "" of the node's own decisions.
func (h *History) Basis(id fact.ID) fact.Basis { return h.basis[id] }

// surer says whether the first of two decisions is better known than the second.
func (h *History) surer(a, b *fact.Fact) bool {
	rank := map[fact.Basis]int{fact.Deduced: 1, fact.Matched: 2, fact.Told: 3, "": 4}
	return rank[h.basis[a.ID]] > rank[h.basis[b.ID]]
}

func (r *Run) note(f *fact.Fact, surer func(a, b *fact.Fact) bool) {
	switch f.Body.(type) {
	case fact.Start:
		r.Start = f
	case fact.Started:
		r.Started, r.Failed = f, nil // it failed before, and was tried again
	case fact.StartFailed:
		r.Failed = f
	case fact.Kill:
		again := r.Kill != nil && r.Started != nil && r.Started.ID > r.Kill.ID // while its start was on its way
		if r.Kill == nil || again || surer(f, r.Kill) {
			r.Kill = f
		}
	case fact.Exited:
		if r.Exit == nil {
			r.Exit = f
		}
	case fact.Probed:
		r.Probes = append(r.Probes, f)
	case fact.OOMKilled:
		r.OOMKills = append(r.OOMKills, f)
	case fact.Sampled:
		r.Samples = append(r.Samples, f)
	case fact.Looked:
		r.Looks = append(r.Looks, f)
	case fact.HookRan:
		r.Hooks = append(r.Hooks, f)
	case fact.ImagePulling, fact.ImageReady, fact.ImageFailed:
		r.Images = append(r.Images, f)
	case fact.Marked:
		if n := len(r.Marks); n > 0 && fact.Of[fact.Marked](r.Marks[n-1]) == fact.Of[fact.Marked](f) {
			r.Marks = r.Marks[:n-1] // seen in a status before: the act knows what it rests on
		}
		r.Marks = append(r.Marks, f)
	case fact.AskedAgain:
		r.Again = append(r.Again, f)
	case fact.ProcessEnded:
		r.Ended = append(r.Ended, f)
	case fact.Signalled:
		r.Signals = append(r.Signals, f)
	case fact.Counted:
		r.Counts = append(r.Counts, f)
	}
}

// Fact finds a fact of the pod by its id.
func (h *History) Fact(id fact.ID) (*fact.Fact, bool) {
	i, ok := slices.BinarySearchFunc(h.Facts, id, func(f fact.Fact, id fact.ID) int { return cmp.Compare(f.ID, id) })
	if !ok {
		return nil, false
	}
	return &h.Facts[i], true
}

// Containers lists the containers with a history, in the order of the spec:
// init containers, containers, ephemeral ones; then what the spec does not name.
func (h *History) Containers() []string {
	var names []string
	if h.Object != nil {
		s := &h.Object.Spec
		for i := range s.InitContainers {
			names = append(names, s.InitContainers[i].Name)
		}
		for i := range s.Containers {
			names = append(names, s.Containers[i].Name)
		}
		for i := range s.EphemeralContainers {
			names = append(names, s.EphemeralContainers[i].Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.runs)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// Runs are the container's lives, oldest first.
func (h *History) Runs(container string) []*Run { return h.runs[container] }

// Last is the container's newest run, nil when it never had one.
func (h *History) Last(container string) *Run {
	runs := h.runs[container]
	if len(runs) == 0 {
		return nil
	}
	return runs[len(runs)-1]
}

// Spec finds a container's spec by name; nil when there is none.
func (h *History) Spec(container string) *v1.Container {
	if h.Object == nil {
		return nil
	}
	s := &h.Object.Spec
	for _, set := range [][]v1.Container{s.Containers, s.InitContainers} {
		for i := range set {
			if set[i].Name == container {
				return &set[i]
			}
		}
	}
	for i := range s.EphemeralContainers {
		if s.EphemeralContainers[i].Name == container {
			c := v1.Container(s.EphemeralContainers[i].EphemeralContainerCommon)
			return &c
		}
	}
	return nil
}
