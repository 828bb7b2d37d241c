package node

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
)

// pod is what the loop knows of one pod.
type pod struct {
	key    fact.Pod
	state  health.State
	status v1.PodStatus
	remembered

	wake   *time.Timer
	wakeAt time.Time
	// since counts the facts written after the last checkpoint.
	since int
	// gone is set by the last fact there can be.
	gone bool
}

// remembered is what effects need to know of a pod beside its health.
type remembered struct {
	Object  *v1.Pod `json:"object"`
	Source  string  `json:"source"`
	Sandbox sandbox `json:"sandbox"`
	// Containers by name: the newest run of each.
	Containers map[string]container `json:"containers"`
	// Asked are the decisions whose effect has not come back, oldest first.
	Asked []fact.Fact `json:"asked,omitempty"`
}

// sandbox is the pod's sandbox as the runtime knows it.
type sandbox struct {
	ID      string   `json:"id,omitempty"`
	Attempt uint32   `json:"attempt,omitempty"`
	IPs     []string `json:"ips,omitempty"`
	HostIPs []string `json:"hostIPs,omitempty"`
}

// container is the newest run of one container.
type container struct {
	ID      string `json:"id"`
	Attempt int32  `json:"attempt"`
	PID     int    `json:"pid,omitempty"`
	Running bool   `json:"running,omitempty"`
	// Previous is the run before it.
	Previous string `json:"previous,omitempty"`
	// Kill is the decision that asked for its end, which its exit names.
	Kill      fact.ID         `json:"kill,omitempty"`
	KilledFor fact.KillReason `json:"killedFor,omitempty"`
}

// view is a copy of a pod that effects may keep.
type view struct {
	key    fact.Pod
	status v1.PodStatus
	remembered
}

func newPod(key fact.Pod, policy health.Policy) *pod {
	return &pod{key: key, state: health.New(policy), remembered: remembered{Containers: map[string]container{}}}
}

func (p *pod) view() view {
	v := view{key: p.key, status: p.status, remembered: p.remembered}
	v.Containers = maps.Clone(p.Containers)
	v.Asked = nil
	return v
}

// checkpoint is the pod as a restart needs it.
func (p *pod) checkpoint() (fact.Checkpoint, error) {
	state, err := json.Marshal(p.state)
	if err != nil {
		return fact.Checkpoint{}, err
	}
	rest, err := json.Marshal(p.remembered)
	return fact.Checkpoint{State: state, Node: rest}, err
}

// restore is the way back.
func (p *pod) restore(c fact.Checkpoint) error {
	if err := json.Unmarshal(c.State, &p.state); err != nil {
		return err
	}
	return json.Unmarshal(c.Node, &p.remembered)
}

// note keeps what effects will need: which sandbox and which containers there
// are. What it means for the pod's health is not its business. An exit is given
// the kill that it answers as its reason.
func (p *pod) note(f *fact.Fact) {
	p.settle(*f)
	c := p.Containers[f.Container]
	switch b := f.Body.(type) {
	case fact.SpecSeen:
		p.Object, p.Source = b.Object, b.Source
	case fact.SetUpDone:
		p.Sandbox = sandbox{ID: b.SandboxID, Attempt: b.Attempt, IPs: b.IPs, HostIPs: b.HostIPs}
	case fact.TornDown:
		p.Sandbox = sandbox{}
	case fact.Created:
		p.Containers[f.Container] = container{ID: b.ContainerID, Attempt: f.Attempt, Previous: c.ID}
	case fact.Started:
		if c.ID != b.ContainerID {
			c = container{ID: b.ContainerID, Previous: c.ID}
		}
		c.Attempt, c.PID, c.Running = f.Attempt, b.PID, true
		p.Containers[f.Container] = c
	case fact.Kill:
		c.Kill, c.KilledFor = f.ID, b.Reason
		p.Containers[f.Container] = c
	case fact.Exited:
		if c.ID == b.ContainerID {
			if len(f.Because) == 0 && c.Kill != 0 {
				f.Because = []fact.ID{c.Kill}
			}
			c.Running = false
			p.Containers[f.Container] = c
		}
	case fact.ObjectGone:
		p.gone = true
	}
}

// settle keeps the list of what was asked for and has not come back.
func (p *pod) settle(f fact.Fact) {
	switch f.Body.(type) {
	case fact.SetUp, fact.Start, fact.Kill, fact.Resize, fact.TearDown, fact.Release:
		p.Asked = append(slices.Clone(p.Asked), f)
		return
	}
	if len(p.Asked) > 0 {
		p.Asked = slices.DeleteFunc(slices.Clone(p.Asked), func(d fact.Fact) bool { return p.answers(f, d) })
	}
}

// answers says whether a fact is the last word on a decision's effect.
func (p *pod) answers(f, d fact.Fact) bool {
	if f.Container != d.Container || (f.Attempt != d.Attempt && f.Container != "") {
		return false
	}
	switch d.Body.(type) {
	case fact.SetUp:
		return isOne[fact.SetUpDone](f) || isOne[fact.SetUpFailed](f)
	case fact.Start:
		return p.endsStart(f)
	case fact.Kill:
		return isOne[fact.Exited](f) || isOne[fact.StartFailed](f)
	case fact.Resize:
		return isOne[fact.Resized](f) || isOne[fact.ResizeFailed](f) || isOne[fact.Exited](f)
	case fact.TearDown:
		return isOne[fact.TornDown](f)
	case fact.Release:
		return isOne[fact.ObjectGone](f)
	}
	return false
}

// endsStart says whether a start is over: with its postStart hook, if it has one.
func (p *pod) endsStart(f fact.Fact) bool {
	switch b := f.Body.(type) {
	case fact.ImageFailed, fact.StartFailed, fact.Exited:
		return true
	case fact.HookRan:
		return b.Hook == fact.PostStart
	case fact.Started:
		spec, ok := p.view().spec(f.Container)
		return !ok || spec.Lifecycle == nil || spec.Lifecycle.PostStart == nil
	}
	return false
}

func isOne[B fact.Body](f fact.Fact) bool {
	_, ok := f.Body.(B)
	return ok
}

// spec finds a container of any kind by its name.
func (v view) spec(name string) (*v1.Container, bool) {
	if v.Object == nil {
		return nil, false
	}
	s := &v.Object.Spec
	for _, containers := range [][]v1.Container{s.Containers, s.InitContainers} {
		for i := range containers {
			if containers[i].Name == name {
				return &containers[i], true
			}
		}
	}
	for i := range s.EphemeralContainers {
		if s.EphemeralContainers[i].Name == name {
			c := v1.Container(s.EphemeralContainers[i].EphemeralContainerCommon)
			return &c, true
		}
	}
	return nil, false
}
