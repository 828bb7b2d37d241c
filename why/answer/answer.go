package answer

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// APIVersion and Kind of an answer in JSON and YAML.
const (
	APIVersion = "why.whylet.dev/v1alpha1"
	Kind       = "Answer"
	// Revision is raised when a typed field is added that decisions rest on.
	Revision = 1
)

// Answer is what `kubectl why` returns. Its JSON form is an interface: scripts
// read it. Fields are added, never renamed.
type Answer struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Revision is that of the typed fields beside the texts: 0 of an agent that has none of them.
	Revision int       `json:"revision,omitempty"`
	Subject  Subject   `json:"subject"`
	AsOf     time.Time `json:"asOf"`
	Journal  Coverage  `json:"journal"`
	Symptoms []Symptom `json:"symptoms"`
	Verdicts []Verdict `json:"verdicts"`
	// Well is how many other pods of a workload, Service or node are as they should be.
	Well int `json:"well,omitempty"`
	// Listening is what the pod listened on when somebody last looked; nil when
	// nobody did.
	Listening *Listening `json:"listening,omitempty"`
	// Reaches are the places that the pod asks for something, as far as somebody saw.
	Reaches []Reach `json:"reaches,omitempty"`
	// Complaints are what its containers say of errors at the ends of their logs.
	Complaints []Complaint `json:"complaints,omitempty"`
	// Warnings are what containers say lately and call no error, of those that tell of none.
	Warnings []Complaint `json:"warnings,omitempty"`
	// Changes are those of what the pod reads, as far as somebody saw, the newest last.
	Changes []Changed `json:"changes,omitempty"`
}

// New is an answer without symptoms yet; now is when it was asked for.
func New(about Subject, now time.Time, known Coverage) Answer {
	return Answer{APIVersion: APIVersion, Kind: Kind, Revision: Revision, AsOf: now, Subject: about, Journal: known}
}

// Listening are the TCP ports that a pod can be reached on, at a time.
type Listening struct {
	At    time.Time `json:"at"`
	Ports []int32   `json:"ports"`
	// Loopback are those that only the pod itself can reach.
	Loopback []int32 `json:"loopback,omitempty"`
	// Room are those of Ports on which no connection waits to be accepted: the kernel takes one
	// there at once, whatever the process does.
	Room []int32 `json:"room,omitempty"`
	// From are the addresses whose connections to it were open then, or within the minute
	// before.
	From []string `json:"from,omitempty"`
	// Busy is how many processors its containers kept busy around then; nil where nobody
	// knows.
	Busy *float64 `json:"busy,omitempty"`
	// Throttled says which of them its own CPU limit stalled then, for at least half of the time;
	// empty where it stalled none, or nobody knows.
	Throttled string `json:"throttled,omitempty"`
}

// Reached says how it goes to ask at a place.
type Reached string

// How it goes: the words of the container say that it failed; the connection was asked for
// and nobody has answered; it is open, and a question on it is not answered; it is open; it
// was, less than a minute before.
const (
	ReachSaid    Reached = "said"
	ReachDialing Reached = "dialing"
	ReachAwaits  Reached = "awaits"
	ReachOpen    Reached = "open"
	ReachLately  Reached = "lately"
)

// Reach is a place that a container asks for something: a name, an address or host:port.
type Reach struct {
	Container string  `json:"container"`
	Place     string  `json:"place"`
	How       Reached `json:"how"`
	// Heard is set where something came from the place just before a question that it does not
	// answer, or since: whoever is there is at work.
	Heard bool `json:"heard,omitempty"`
	// Since is when it asked what is not answered.
	Since time.Time `json:"since,omitzero"`
	// Text is what shows it, Said the words of the container that do; empty where something else does.
	Text string  `json:"text"`
	Said string  `json:"said,omitempty"`
	Fact fact.ID `json:"fact"`
}

// Complaint is what a container's log says of an error. Another is set where its words are
// about somebody that it asks, and not about itself.
type Complaint struct {
	Container string `json:"container"`
	Text      string `json:"text"`
	Another   bool   `json:"another,omitempty"`
	// Before is set where it was said longer ago than what fails now is likely to come from.
	Before bool `json:"before,omitempty"`
	// At is when it said that it waits for room on a disk, which most programs say once.
	At   time.Time `json:"at,omitzero"`
	Fact fact.ID   `json:"fact"`
	// Cause is what its words stand for, where that is more than that it fails.
	Cause Cause `json:"cause,omitempty"`
	// Means is what is known of its words: what they mean, what of the pod they are about; Fixes are
	// what to do about that.
	Means string `json:"means,omitempty"`
	Fixes []Fix  `json:"fixes,omitempty"`
	// Entries are the ids of users' entries of knowledge that explain it.
	Entries []string `json:"entries,omitempty"`
}

// Repeat is an error that a container's log has once or more often, lines as one that differ only in numbers, ids,
// addresses and quoted values.
type Repeat struct {
	Container string    `json:"container"`
	Text      string    `json:"text"`
	Count     int       `json:"count"`
	First     time.Time `json:"first,omitzero"`
	Last      time.Time `json:"last,omitzero"`
}

// Changed is a change of the pod's own specification, or of a ConfigMap or Secret to which it
// refers.
type Changed struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
	// Object and Name are those of the ConfigMap or Secret; empty for the pod itself.
	Object string  `json:"object,omitempty"`
	Name   string  `json:"name,omitempty"`
	Fact   fact.ID `json:"fact"`
}

// Add takes a port by its decimal number, once.
func (l *Listening) Add(port string) { l.Ports = withPort(l.Ports, port) }

// AddLoopback takes a port of loopback by its decimal number, once.
func (l *Listening) AddLoopback(port string) { l.Loopback = withPort(l.Loopback, port) }

func withPort(all []int32, port string) []int32 {
	if n, err := strconv.ParseInt(port, 10, 32); err == nil && n > 0 && !slices.Contains(all, int32(n)) {
		return append(all, int32(n))
	}
	return all
}

// Subject is what was asked about.
type Subject struct {
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid,omitempty"`
}

// Coverage says from when on the journal knows, and what it missed.
type Coverage struct {
	From     time.Time `json:"from,omitzero"`
	Complete bool      `json:"complete"`
	Gaps     []Gap     `json:"gaps,omitempty"`
}

// Gap is a time in which something could not be seen.
type Gap struct {
	From   time.Time `json:"from,omitzero"`
	To     time.Time `json:"to,omitzero"`
	Reason string    `json:"reason"`
}

// SymptomKind is what a user sees and asks about.
type SymptomKind string

// The symptoms.
const (
	Restarted   SymptomKind = "Restarted"
	NotStarting SymptomKind = "NotStarting"
	Pending     SymptomKind = "Pending"
	NotReady    SymptomKind = "NotReady"
	NotServing  SymptomKind = "NotServing"
	// Degraded is what runs and is Ready, and fails at its work.
	Degraded    SymptomKind = "Degraded"
	Completed   SymptomKind = "Completed"
	Failed      SymptomKind = "Failed"
	Evicted     SymptomKind = "Evicted"
	Terminating SymptomKind = "Terminating"
	Disappeared SymptomKind = "Disappeared"
	UnknownNode SymptomKind = "Unknown"
	Healthy     SymptomKind = "Healthy"
)

// SymptomKinds are all of them.
var SymptomKinds = []SymptomKind{
	Restarted, NotStarting, Pending, NotReady, NotServing, Degraded, Completed, Failed, Evicted, Terminating, Disappeared, UnknownNode, Healthy,
}

// Symptom is something to be explained.
type Symptom struct {
	ID   string      `json:"id"`
	Kind SymptomKind `json:"kind"`
	// Pod is whose symptom it is, where the question was about something else.
	Pod       string    `json:"pod,omitempty"`
	Container string    `json:"container,omitempty"`
	Count     int       `json:"count,omitempty"`
	First     time.Time `json:"first,omitzero"`
	Last      time.Time `json:"last,omitzero"`
	Text      string    `json:"text"`
	// BelowThreshold is set of a pod that is ready still while a probe of it fails, less often in a row than
	// its failureThreshold: why it fails is told to who asks about that pod, and is no trouble to count yet.
	BelowThreshold bool `json:"belowThreshold,omitempty"`
	// AtStart is set of a time without readiness that was over when the container became Ready first, in a pod
	// that is Ready: it only started.
	AtStart bool `json:"atStart,omitempty"`

	// alike are the pods that have it too, see [Answer.folded].
	alike []string
}

// Certainty says how a verdict is known.
type Certainty string

// How a verdict is known: the node did it itself and kept why; a named rule
// concluded it from evidence; or there is not enough to say.
const (
	Recorded Certainty = "recorded"
	Inferred Certainty = "inferred"
	Unknown  Certainty = "unknown"
)

// Verdict explains one symptom by its root cause: the earliest link that a
// person can change.
type Verdict struct {
	Symptom   string    `json:"symptom"`
	Cause     Cause     `json:"cause"`
	Certainty Certainty `json:"certainty"`
	// Rule is the rule that inferred it; empty when recorded.
	Rule string `json:"rule,omitempty"`
	// By is who decides about the pod, where that is not the node that was asked: kubelet.
	// Basis says how its decision to end something is known that the verdict rests on;
	// empty where it rests on none.
	By    string     `json:"by,omitempty"`
	Basis fact.Basis `json:"basis,omitempty"`
	// Container is the one that is to blame, which need not be the one that suffers.
	Container string `json:"container,omitempty"`
	// Pod is the one that is to blame, as namespace/name, where it is another than the one
	// that suffers; Hops lead there.
	Pod  string `json:"pod,omitempty"`
	Text string `json:"text"`
	// Parts are what Text was made of, where it is about a pod.
	Parts        Parts  `json:"parts,omitzero"`
	Chain        []Link `json:"chain"`
	Contributing []Note `json:"contributing,omitempty"`
	RuledOut     []Note `json:"ruledOut,omitempty"`
	Fixes        []Fix  `json:"fixes,omitempty"`
	Told
	// Probe is the kind of the probe that the verdict is about; empty where it is about none.
	Probe fact.ProbeKind `json:"probe,omitempty"`
	// Repeats are the errors that a container which goes on logs again and again, the one that tells most first.
	Repeats []Repeat `json:"repeats,omitempty"`
	// LastWords are the last lines that the container logged before it ended.
	LastWords []string `json:"lastWords,omitempty"`
	// Entries are the ids of users' entries of knowledge that explain what it quotes.
	Entries []string `json:"entries,omitempty"`
	// Hops lead from this pod to the one that is to blame, the last.
	Hops []Hop `json:"hops,omitempty"`
	// Own is the cause that the pod's own node gave, where Hops lead to another.
	Own Cause `json:"own,omitempty"`
	// TakesDown are pods that fail because of the one that was asked about, each with how
	// it comes to ask it.
	TakesDown []Hop `json:"takesDown,omitempty"`
	// InCommon is what this pod has in common with others that fail alike, as far as it tells
	// anything: what only who sees the cluster can see.
	InCommon []Common `json:"inCommon,omitempty"`
	// SteadySince is a time at which the node would have given the same cause, as it would
	// have at each time since that was tried; zero where none was, or it was another.
	SteadySince time.Time `json:"steadySince,omitzero"`

	// Possible are the causes that an unknown verdict leaves open.
	Possible []Cause `json:"possible,omitempty"`
	// Missing is what an unknown verdict lacks to be sure; it is the end of Text too.
	Missing string `json:"missing,omitempty"`
}

// Hop is one thing after another that was waited for: a Service or a Job, a pod, or both.
type Hop struct {
	// Policy is the NetworkPolicy that blocks the connection, as namespace/name; empty if the cause is another.
	Policy string `json:"policy,omitempty"`
	// Service, Job and Pod are as namespace/name; Pod is empty where there is none.
	Service string `json:"service,omitempty"`
	Job     string `json:"job,omitempty"`
	Pod     string `json:"pod,omitempty"`
	// By is what led there, Text what is wrong there, Chain what shows it.
	By    string `json:"by"`
	Cause Cause  `json:"cause"`
	Text  string `json:"text"`
	Chain []Link `json:"chain,omitempty"`
	Told
	// Fixes are what to do there; the verdict that leads there has them among its own.
	Fixes []Fix `json:"-"`
}

// Place is where a hop leads, as kubectl why takes it: its kind, namespace and name.
func (h Hop) Place() (kind, space, name string) {
	kind, at := "pod", h.Pod
	switch {
	case h.Policy != "":
		kind, at = "networkpolicy", h.Policy
	case at != "":
	case h.Job != "":
		kind, at = "job", h.Job
	default:
		kind, at = "svc", h.Service
	}
	space, name, _ = strings.Cut(at, "/")
	return kind, space, name
}

// Link is one step of the chain from symptom to root cause.
type Link struct {
	Fact     fact.ID        `json:"fact"`
	At       time.Time      `json:"at"`
	Kind     fact.Kind      `json:"kind"`
	Text     string         `json:"text"`
	Evidence map[string]any `json:"evidence,omitempty"`
	// Status is the HTTP status that a probe was answered with, SignedBy the server that signed the answer,
	// where that is not the one that gave it; Outcome is how the attempt went, TimedOut that
	// no answer came in time.
	Status   int          `json:"status,omitempty"`
	SignedBy string       `json:"signedBy,omitempty"`
	Outcome  fact.Verdict `json:"outcome,omitempty"`
	TimedOut bool         `json:"timedOut,omitempty"`
}

// Note is a cause that contributed, or that was looked at and ruled out.
type Note struct {
	Cause Cause     `json:"cause"`
	Text  string    `json:"text"`
	Facts []fact.ID `json:"facts,omitempty"`
}

// Risk says what a fix does to what runs.
type Risk string

// Risks of a fix.
const (
	Inspect     Risk = "inspect"
	Safe        Risk = "safe"
	Restarts    Risk = "restarts"
	Limits      Risk = "changes-limits"
	Destructive Risk = "destructive"
)

// Fix is something to do, with the command where there is one.
type Fix struct {
	Text    string `json:"text"`
	Command string `json:"command,omitempty"`
	Risk    Risk   `json:"risk"`
	// ID is the kind of step, empty where no other part of an answer refers to it. Target is the object
	// that the step is about, as kind/namespace/name.
	ID     StepID `json:"id,omitempty"`
	Target string `json:"target,omitempty"`
	Slots  Slots  `json:"slots,omitempty"`
	// Variables are the environment variables that the step names.
	Variables []string `json:"variables,omitempty"`
}
