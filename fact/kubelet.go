package fact

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// StatusSeen is the pod's status as the API server has it: what the node that runs
// the pod says of it. Only an agent beside somebody else's node has use for it; the
// newest one says how the pod is.
type StatusSeen struct {
	Status v1.PodStatus `json:"status"`
}

// Said is a word of somebody who decides about pods: a line of a log, or an event.
type Said struct {
	// Component is who said it: kubelet, containerd…
	Component string `json:"component"`
	// Source is where it was heard: "log" or "event".
	Source string `json:"source"`
	// Reason is the event's reason, or the line's message, which names what kind of
	// line it is. Message is the rest of it, in its own words, bounded.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	// Count is how often an event was counted; 0 and 1: once.
	Count int64 `json:"count,omitempty"`
	// Values are what the line itself names by key, bounded.
	Values map[string]string `json:"values,omitempty"`
}

// Counted are kubelet's own counters of one probe of a container (/metrics/probes),
// since the pod's worker began: they count every attempt, and have no text. Told
// when failures were counted since the last such fact, and with a container's end.
type Counted struct {
	Probe     ProbeKind `json:"probe"`
	Successes int64     `json:"successes"`
	Failures  int64     `json:"failures"`
	Unknowns  int64     `json:"unknowns,omitempty"`
	// From is when the counters were read before; zero the first time. NewSuccesses
	// and NewFailures are what came since then.
	From         time.Time `json:"from,omitzero"`
	NewSuccesses int64     `json:"newSuccesses,omitempty"`
	NewFailures  int64     `json:"newFailures,omitempty"`
}

// KubeletSeen says which kubelet works beside this agent, and how much it tells.
type KubeletSeen struct {
	PID     int       `json:"pid,omitempty"`
	Started time.Time `json:"started,omitzero"`
	Version string    `json:"version,omitempty"`
	// Verbosity is its -v, -1 where that is not known.
	Verbosity int `json:"verbosity"`
	// Log is where its words are read: a file, "journal", or empty.
	Log string `json:"log,omitempty"`
	// LogFrom is how far its log reaches back.
	LogFrom time.Time `json:"logFrom,omitzero"`
	// NotUnderstood counts lines about pods of which no parser knew what they say.
	NotUnderstood int64 `json:"notUnderstood,omitempty"`
	// Ended is set when that kubelet's process was seen to be gone.
	Ended bool `json:"ended,omitempty"`
}

func (StatusSeen) Kind() Kind  { return "StatusSeen" }
func (Said) Kind() Kind        { return "Said" }
func (Counted) Kind() Kind     { return "Counted" }
func (KubeletSeen) Kind() Kind { return "KubeletSeen" }

func (StatusSeen) observed()  {}
func (Said) observed()        {}
func (Counted) observed()     {}
func (KubeletSeen) observed() {}
