package shadow

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// By is who decides what this package concludes.
const By = "kubelet"

// State is what is kept of one pod. The zero State knows nothing. It is a value: Step
// gives another one and leaves the old as it was. Its JSON form goes into checkpoints.
type State struct {
	Object *v1.Pod       `json:"object,omitempty"`
	Status *v1.PodStatus `json:"status,omitempty"`
	// Going is the fact by which the pod as a whole has to go, and For why.
	Going fact.ID         `json:"going,omitempty"`
	For   fact.KillReason `json:"for,omitempty"`
	Grace int64           `json:"grace,omitempty"` // seconds
	// Since is when it had to.
	Since time.Time `json:"since,omitzero"`
	// Lost is the sandbox that ended, LostAt when kubelet said so.
	Lost   fact.ID   `json:"lost,omitempty"`
	LostAt time.Time `json:"lostAt,omitzero"`
	// Needed is the order of eviction in which kubelet put the pod first.
	Needed *Needed `json:"needed,omitempty"`
	// Runs are the newest runs by container.
	Runs map[string]Run `json:"runs,omitempty"`
	// Before are those before them: kubelet's counters may tell of an end only when the
	// next run has begun.
	Before map[string]Run `json:"before,omitempty"`
}

// Needed is a fact about kubelet's order of eviction.
type Needed struct {
	ID fact.ID   `json:"id"`
	At time.Time `json:"at"`
	fact.EvictionNeeded
}

// Run is the newest run of a container.
type Run struct {
	Attempt     int32  `json:"attempt"`
	ContainerID string `json:"containerID,omitempty"`
	// Start and Exit are the facts of its beginning and its end, At when it ended.
	Start fact.ID   `json:"start,omitempty"`
	Exit  fact.ID   `json:"exit,omitempty"`
	At    time.Time `json:"at,omitzero"`
	// Mark is what was last told of its readiness; nil: nothing yet.
	Mark *fact.Marked `json:"mark,omitempty"`
	// Rows are the failed attempts in a row by probe, the newest last, bounded.
	Rows map[fact.ProbeKind]Row `json:"rows,omitempty"`
	// Order is the fact that shows that its end was ordered, Ordered when that was.
	Order   fact.ID   `json:"order,omitempty"`
	Ordered time.Time `json:"ordered,omitzero"`
	// ByKubelet is set when kubelet itself said that it ordered it.
	ByKubelet bool `json:"byKubelet,omitempty"`
	// Kill is the surest act about its end so far.
	Kill fact.Basis `json:"kill,omitempty"`
	// Hook is a postStart hook that failed.
	Hook fact.ID `json:"hook,omitempty"`
	// Waits is the back-off that was last told of.
	Waits string `json:"waits,omitempty"`
}

// Row are failed attempts with no success between them that anybody saw.
type Row struct {
	IDs  []fact.ID `json:"ids,omitempty"`
	Long int64     `json:"long,omitempty"` // how many they are; more than IDs where several came in one fact
	Last time.Time `json:"last,omitzero"`
	// First is when the row began.
	First time.Time `json:"first,omitzero"`
	// Counted is set when kubelet's counters told of them, and nobody of each.
	Counted bool `json:"counted,omitempty"`
}

// mostInRow bounds the attempts whose ids are kept.
const mostInRow = 10

// Decision is an act of kubelet's and what it was concluded from, which is never
// empty.
type Decision struct {
	At        time.Time // zero: when the fact that led to it was seen
	Container string
	Attempt   int32
	Act       fact.Act
	Because   []fact.ID
}

// Fact makes a fact of a decision that followed from cause.
func (d Decision) Fact(id fact.ID, cause fact.Fact) fact.Fact {
	f := fact.Fact{
		ID: id, At: d.At, Seen: cause.Seen, Mono: cause.Mono, Boot: cause.Boot,
		Pod: cause.Pod, Container: d.Container, Attempt: d.Attempt, Because: d.Because, Body: d.Act,
	}
	if f.At.IsZero() {
		f.At = cause.When()
	}
	return f
}

// stepper is one Step: a state that may be changed, and what was concluded.
type stepper struct {
	State
	fact fact.Fact
	out  []Decision
}

func (s *stepper) act(basis fact.Basis, at time.Time, container string, attempt int32, body fact.Decided, because ...fact.ID) {
	because = slices.DeleteFunc(because, func(id fact.ID) bool { return id == 0 })
	because = slices.Compact(slices.Sorted(slices.Values(because)))
	if len(because) == 0 {
		because = []fact.ID{s.fact.ID}
	}
	s.out = append(s.out, Decision{at, container, attempt, fact.Act{By: By, Basis: basis, Body: body}, because})
}

// set changes a run without touching the state that the step began with.
func (s *stepper) set(name string, r Run) {
	s.Runs = maps.Clone(s.Runs)
	if s.Runs == nil {
		s.Runs = map[string]Run{}
	}
	s.Runs[name] = r
}

// spec finds a container by name; nil where it is not known.
func (s *State) spec(name string) *v1.Container {
	if s.Object == nil {
		return nil
	}
	for _, all := range [][]v1.Container{s.Object.Spec.Containers, s.Object.Spec.InitContainers} {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
	}
	return nil
}
