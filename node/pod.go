package node

import (
	"encoding/json"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/pods"
)

// pod is what the loop knows of one pod: what the registry has of it, its health, and
// what was asked for.
type pod struct {
	pods.Pod
	state health.State
	// asked are the decisions whose effect has not come back, oldest first.
	asked []fact.Fact

	wake   *time.Timer
	wakeAt time.Time
	// since counts the facts written after the last checkpoint.
	since int
	// gone is set by the last fact there can be.
	gone bool
}

// remembered is what a checkpoint keeps of a pod beside its health.
type remembered struct {
	pods.Pod
	Asked []fact.Fact `json:"asked,omitempty"`
}

func newPod(key fact.Pod, policy health.Policy) *pod {
	return &pod{Pod: pods.Pod{Key: key}, state: health.New(policy)}
}

// checkpoint is the pod as a restart needs it.
func (p *pod) checkpoint() (fact.Checkpoint, error) {
	state, err := json.Marshal(p.state)
	if err != nil {
		return fact.Checkpoint{}, err
	}
	rest, err := json.Marshal(remembered{p.Pod, p.asked})
	return fact.Checkpoint{State: state, Node: rest}, err
}

// restore is the way back.
func (l *loop) restore(p *pod, c fact.Checkpoint) error {
	if err := json.Unmarshal(c.State, &p.state); err != nil {
		return err
	}
	var kept remembered
	if err := json.Unmarshal(c.Node, &kept); err != nil {
		return err
	}
	p.asked = kept.Asked
	err := l.known.Restore(p.Key, c.Node)
	p.Pod, _ = l.known.Get(p.Key.UID)
	return err
}

// note lets the registry learn from a fact, and keeps what was asked for.
func (l *loop) note(p *pod, f fact.Fact) {
	l.known.Take(f)
	if now, ok := l.known.Get(p.Key.UID); ok {
		p.Pod = now
	}
	p.settle(f)
	p.gone = p.gone || isOne[fact.ObjectGone](f)
}

// because is what a fact rests on: an exit on the kill that asked for it, of which
// whoever saw the exit need not know.
func (p *pod) because(f fact.Fact) []fact.ID {
	b, ok := f.Body.(fact.Exited)
	c := p.Containers[f.Container]
	if ok && len(f.Because) == 0 && c.ID == b.ContainerID && c.Kill != 0 {
		return []fact.ID{c.Kill}
	}
	return f.Because
}

// settle keeps the list of what was asked for and has not come back.
func (p *pod) settle(f fact.Fact) {
	switch f.Body.(type) {
	case fact.SetUp, fact.Start, fact.Kill, fact.Resize, fact.TearDown, fact.Release:
		p.asked = append(p.asked, f)
		return
	}
	p.asked = slices.DeleteFunc(p.asked, func(d fact.Fact) bool { return p.answers(f, d) })
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
		spec, ok := p.Spec(f.Container)
		return !ok || spec.Lifecycle == nil || spec.Lifecycle.PostStart == nil
	}
	return false
}

func isOne[B fact.Body](f fact.Fact) bool {
	_, ok := f.Body.(B)
	return ok
}

// holders are the pods that hold resources of the node beside the given one. A resize
// that found no room counts with what it wants: several that are tried at once must
// not be given the same room.
func holders(known pods.Registry, but types.UID) []*v1.Pod {
	var held []*v1.Pod
	for _, p := range known.All() {
		if p.Key.UID != but && p.Object != nil && !p.Finished() {
			held = append(held, p.Object)
		}
	}
	return held
}
