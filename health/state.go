package health

import (
	"encoding/json"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// Policy holds what a node's owner may choose. Zero fields mean what
// Kubernetes does.
type Policy struct {
	// BackOffInitial is the wait before the second restart in a row; each further
	// one doubles it up to BackOffMax (10 s and 300 s). A run longer than
	// BackOffReset (10 min) starts it over.
	BackOffInitial time.Duration `json:"backOffInitial"`
	BackOffMax     time.Duration `json:"backOffMax"`
	BackOffReset   time.Duration `json:"backOffReset"`
	// Retry is the wait before something is tried again that has no back-off of
	// its own: a container that cannot be created, a kill that failed (10 s).
	Retry time.Duration `json:"retry"`
}

// Kubernetes' own numbers (kubelet.go: MaxCrashLoopBackOff, backOffPeriod and
// HasExpiredFunc of crashLoopBackOff).
var defaults = Policy{
	BackOffInitial: 10 * time.Second,
	BackOffMax:     300 * time.Second,
	BackOffReset:   600 * time.Second,
	Retry:          10 * time.Second,
}

// Defaults is the policy where nothing else is chosen.
func Defaults() Policy { return defaults }

func (p Policy) withDefaults() Policy {
	for _, f := range []struct{ set, byDefault *time.Duration }{
		{&p.BackOffInitial, &defaults.BackOffInitial},
		{&p.BackOffMax, &defaults.BackOffMax},
		{&p.BackOffReset, &defaults.BackOffReset},
		{&p.Retry, &defaults.Retry},
	} {
		if *f.set <= 0 {
			*f.set = *f.byDefault
		}
	}
	return p
}

// State is all that the machine knows of one pod: a value, made by [New] and
// [Step], and kept as JSON in checkpoints.
type State struct{ p pod }

// New is the state before the first fact.
func New(p Policy) State { return State{pod{Policy: p.withDefaults()}} }

// MarshalJSON writes the state as a checkpoint keeps it.
func (s State) MarshalJSON() ([]byte, error) { return json.Marshal(s.p) }

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *State) UnmarshalJSON(data []byte) error {
	var p pod
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	p.Policy = p.Policy.withDefaults()
	p.fillIn()
	s.p = p
	return nil
}

// fillIn takes a run for given what the spec says, where the checkpoint is of an
// agent that did not write it down: a change would be seen no more otherwise.
func (p *pod) fillIn() {
	for i := range p.Containers {
		if c := &p.Containers[i]; p.Object != nil && c.Stage == running && c.Run.Given.Image == "" {
			c.Run.Given = p.asks(c)
		}
	}
}

// pod is the content of a State. Whatever it points to is never changed, only
// replaced, so that a shallow copy with fresh slices is a copy.
type pod struct {
	Policy Policy   `json:"policy"`
	Key    fact.Pod `json:"key"`

	Object    *v1.Pod   `json:"object,omitempty"`
	Static    bool      `json:"static,omitempty"`
	SpecFact  fact.ID   `json:"specFact,omitempty"`
	Admission admission `json:"admission,omitempty"`
	Admitting fact.ID   `json:"admitting,omitempty"` // the fact that told
	StartTime time.Time `json:"startTime,omitzero"`
	// AdoptedAt is when the API server's memory was taken over.
	AdoptedAt time.Time `json:"adoptedAt,omitzero"`

	Sandbox    sandbox     `json:"sandbox"`
	Containers []container `json:"containers,omitempty"`
	RestartAll *restartAll `json:"restartAll,omitempty"`

	Deletion *deletion `json:"deletion,omitempty"`
	Eviction *eviction `json:"eviction,omitempty"`
	Ending   *ending   `json:"ending,omitempty"`
	Released bool      `json:"released,omitempty"`
	Gone     bool      `json:"gone,omitempty"`

	Phase      v1.PodPhase       `json:"phase,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Message    string            `json:"message,omitempty"`
	Conditions []v1.PodCondition `json:"conditions,omitempty"`
	// Foreign are the conditions that others set.
	Foreign []v1.PodCondition `json:"foreign,omitempty"`
	Resize  *resizing         `json:"resize,omitempty"`
	Room    *room             `json:"room,omitempty"`
	// Own are the resources that the pod as a whole was given (spec.resources).
	// OwnResizing is set while it is given others.
	Own         v1.ResourceRequirements `json:"own,omitzero"`
	OwnResizing bool                    `json:"ownResizing,omitempty"`
}

type admission string

const (
	taken    admission = "admitted"
	rejected admission = "refused"
)

func (p pod) clone() pod {
	p.Containers = slices.Clone(p.Containers)
	p.Conditions = slices.Clone(p.Conditions)
	return p
}

// concerns says whether a fact about the given pod is for this machine. Its
// first fact tells it which pod it has.
func (p *pod) concerns(key fact.Pod) bool { return p.Key.UID == "" || p.Key.UID == key.UID }

// container is what is known of one container of the pod: its newest run, the
// run before it, and what is under way.
type container struct {
	Name  string `json:"name"`
	Role  role   `json:"role"`
	Stage stage  `json:"stage,omitempty"`
	// Begun is set once a run began in the sandbox that stands, Tried once a start
	// failed there: a new sandbox begins with the init containers again.
	Begun bool `json:"begun,omitempty"`
	Tried bool `json:"tried,omitempty"`

	// Try is the restart count of the start that is under way, Asked what it was asked
	// for with, Made the container that was created for it. Hooking is set while its
	// postStart hook runs.
	Try     int32  `json:"try,omitempty"`
	Asked   given  `json:"asked,omitzero"`
	Made    string `json:"made,omitempty"`
	Hooking bool   `json:"hooking,omitempty"`
	// Early are the OOM kills in it that came before the word of its start.
	Early []oomVictim `json:"early,omitempty"`

	// Attempt is the restart count of Run. Last is how the run before it ended.
	Attempt int32                        `json:"attempt,omitempty"`
	Run     run                          `json:"run"`
	Last    *v1.ContainerStateTerminated `json:"last,omitempty"`
	// Before is when the run before it ended, exactly.
	Before time.Time `json:"before,omitzero"`

	// Wait is the reason that the status shows for not running, Pause what the
	// next start has to wait for.
	Wait  wait    `json:"wait"`
	Pause *pause  `json:"pause,omitempty"`
	Crash backOff `json:"crash"`
	Image backOff `json:"image"`

	Kill *kill `json:"kill,omitempty"`

	// Resizing is set while the newest run is given other resources. Room is the
	// generation of the spec whose resources the node was last asked for.
	Resizing bool  `json:"resizing,omitempty"`
	Room     int64 `json:"room,omitempty"`

	Startup   probing `json:"startup"`
	Readiness probing `json:"readiness"`
	Liveness  probing `json:"liveness"`

	// What was last reported.
	Ready   bool `json:"ready,omitempty"`
	Started bool `json:"started,omitempty"`
}

// role is the part that a container plays in its pod.
type role string

const (
	initial   role = "init"
	sidecar   role = "sidecar" // an init container that is always restarted
	regular   role = "main"
	ephemeral role = "ephemeral"
)

// stage is where a container is between one start and the next.
type stage string

const (
	idle     stage = ""         // no run yet
	starting stage = "starting" // Start was decided; it ends with the postStart hook
	running  stage = "running"
	ended    stage = "ended"
)

// alive says that a process runs, or may run soon.
func (c *container) alive() bool { return c.Stage == starting || c.Stage == running }

// given is what of the spec a run was started with, or got since: the spec may have
// changed while its image was pulled.
type given struct {
	Image     string                  `json:"image,omitempty"` // as the spec names it
	Resources v1.ResourceRequirements `json:"resources,omitzero"`
	// PodLimits are the pod's own limits, which it has where it has none.
	PodLimits v1.ResourceList `json:"podLimits,omitempty"`
}

// run is one life of a container.
type run struct {
	ID        string    `json:"id,omitempty"`
	Image     string    `json:"image,omitempty"`
	ImageID   string    `json:"imageID,omitempty"`
	Given     given     `json:"given,omitzero"`
	StartedAt time.Time `json:"startedAt,omitzero"`
	Begin     fact.ID   `json:"begin,omitempty"` // the fact that told of its start
	// Ended is how it ended, nil before; FinishedAt says when exactly.
	Ended      *v1.ContainerStateTerminated `json:"ended,omitempty"`
	FinishedAt time.Time                    `json:"finishedAt,omitzero"`
	End        fact.ID                      `json:"end,omitempty"` // the fact that told of its end
	// Exit is what was told of its end. Counted is set when the back-off took it
	// into account, Anew when it is to run again because the whole pod does.
	Exit    fact.Exited `json:"exit,omitzero"`
	Counted bool        `json:"counted,omitempty"`
	Anew    bool        `json:"anew,omitempty"`
	// Killed is the kill that it ended after, if the node had asked for its end.
	Killed *kill       `json:"killed,omitempty"`
	OOMs   []oomVictim `json:"ooms,omitempty"`

	Resources    *v1.ResourceRequirements `json:"resources,omitempty"`
	User         *v1.ContainerUser        `json:"user,omitempty"`
	VolumeMounts []v1.VolumeMountStatus   `json:"volumeMounts,omitempty"`
	StopSignal   *v1.Signal               `json:"stopSignal,omitempty"`
}

// find gives the container of a name, nil if the pod has none.
func (p *pod) find(name string) *container {
	for i := range p.Containers {
		if p.Containers[i].Name == name {
			return &p.Containers[i]
		}
	}
	return nil
}

// each gives the containers of the given roles in the order of the spec.
func (p *pod) each(roles ...role) []*container {
	var found []*container
	for i := range p.Containers {
		if slices.Contains(roles, p.Containers[i].Role) {
			found = append(found, &p.Containers[i])
		}
	}
	return found
}

// anyAlive says whether one of the given roles (none given: any) may have a process.
func (p *pod) anyAlive(roles ...role) bool {
	for i := range p.Containers {
		c := &p.Containers[i]
		if c.alive() && (len(roles) == 0 || slices.Contains(roles, c.Role)) {
			return true
		}
	}
	return false
}
