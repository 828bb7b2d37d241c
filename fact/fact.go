package fact

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// ID numbers a fact on its node: later facts have larger ids, and no id is
// used twice while the journal lives. Zero means "none".
type ID uint64

// Pod says which pod a fact is about. The UID tells two pods of one name apart
// (a StatefulSet's pod-0 of yesterday and of today). A fact about the node
// itself has an empty Pod.
type Pod struct {
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	UID       types.UID `json:"uid,omitempty"`
}

// String gives namespace/name, as kubectl users write it.
func (p Pod) String() string {
	if p.Namespace == "" {
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

// Fact is one thing that happened or was decided. Facts are immutable: what is
// learnt later is a later fact.
type Fact struct {
	// ID is given by the journal, or by the loop that writes to it.
	ID ID
	// At is the wall time at which it happened, as far as anyone can tell; it is
	// zero when nobody observed that. Seen is when this node's agent learnt of
	// it, and is never zero. Both are UTC.
	At, Seen time.Time
	// Mono is the time since boot (CLOCK_BOOTTIME) at Seen; with Boot (the kernel's
	// boot id) it orders facts across steps of the wall clock.
	Mono time.Duration
	Boot string

	Pod       Pod
	Container string
	// Attempt is the restart count of the container the fact belongs to: 0 for
	// its first run. Meaningless without Container.
	Attempt int32

	// Because names the facts this one rests on: the evidence of a decision, or
	// the decision of which an observed fact is the effect. Never empty for a
	// Decided body.
	Because []ID
	Body    Body
}

// When gives At, or Seen where At is not known.
func (f Fact) When() time.Time {
	if f.At.IsZero() {
		return f.Seen
	}
	return f.At
}

// End is when it was over: of folded probe attempts, when the last began; else When.
func (f Fact) End() time.Time {
	if p, ok := f.Body.(Probed); ok && !p.Until.IsZero() {
		return p.Until
	}
	return f.When()
}

// Kind names the type of a body on the wire, in answers and in queries.
type Kind string

// Body is the typed content of a fact.
type Body interface {
	Kind() Kind
}

// Observed marks bodies that sources produce.
type Observed interface {
	Body
	observed()
}

// Decided marks bodies that only package health produces, through [Decide], and
// package shadow within an [Act].
type Decided interface {
	Body
	decided()
}

// Decision is a conclusion together with the facts it rests on. Its fields are
// unexported so that [Decide] is the only way to make one.
type Decision struct {
	container string
	attempt   int32
	body      Decided
	because   []ID
}

// Decide makes a decision about a container (empty: the pod as a whole).
// At least one id is demanded by the signature: a decision without a reason
// does not compile.
func Decide(container string, attempt int32, body Decided, because ID, more ...ID) Decision {
	return Decision{container: container, attempt: attempt, body: body, because: append([]ID{because}, more...)}
}

// Container is the container decided about, empty for the pod as a whole.
func (d Decision) Container() string { return d.container }

// Attempt is the restart count of the container decided about.
func (d Decision) Attempt() int32 { return d.attempt }

// Body is what was decided.
func (d Decision) Body() Decided { return d.body }

// Because are the ids of the facts the decision rests on.
func (d Decision) Because() []ID { return d.because }

// Fact turns a decision that followed from cause into a fact with the given id.
// A decision happens when its cause is seen, so it takes over cause's clocks.
func (d Decision) Fact(id ID, cause Fact) Fact {
	return Fact{
		ID: id, At: cause.Seen, Seen: cause.Seen, Mono: cause.Mono, Boot: cause.Boot,
		Pod: cause.Pod, Container: d.container, Attempt: d.attempt,
		Because: d.because, Body: d.body,
	}
}
