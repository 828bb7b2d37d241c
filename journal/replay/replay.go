// Package replay proves that a history explains itself: it feeds what was
// observed of each pod to package health once more, and compares what is decided
// now with what was decided then, byte for byte (law 2).
package replay

import (
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
)

// Report is what came of a replay.
type Report struct {
	Pods      int   `json:"pods"`
	Observed  int64 `json:"observed"`
	Decisions int64 `json:"decisions"`
	// Resumed are pods whose beginning is not kept any more: what there is of them
	// was replayed from the named checkpoint on, the oldest that is left.
	Resumed []Resumption `json:"resumed,omitempty"`
	// Partial are pods of which neither the beginning nor a checkpoint is there.
	// Nothing can be said about them.
	Partial []fact.Pod `json:"partial,omitempty"`
	// Unreadable are pods whose checkpoint this version cannot read.
	Unreadable []Difference `json:"unreadable,omitempty"`
	// Differences has the first difference of each pod that has one.
	Differences []Difference `json:"differences,omitempty"`
}

// Resumption is where a replay began in the middle of a pod's life.
type Resumption struct {
	Pod fact.Pod `json:"pod"`
	// Checkpoint is the fact from whose state it went on, Seen when that was, and
	// Skipped the number of facts before it that nothing could be concluded from.
	Checkpoint fact.ID   `json:"checkpoint"`
	Seen       time.Time `json:"seen"`
	Skipped    int64     `json:"skipped,omitempty"`
}

// Difference is where a replay departs from the record.
type Difference struct {
	Pod fact.Pod `json:"pod"`
	// Cause is the observed fact from which something else follows now.
	Cause fact.ID `json:"cause"`
	// Recorded is what was decided then, Replayed what is now. One of them is
	// empty where there was a decision more or less.
	Recorded json.RawMessage `json:"recorded,omitempty"`
	Replayed json.RawMessage `json:"replayed,omitempty"`
	// Problem is set where there is nothing to compare.
	Problem string `json:"problem,omitempty"`
}

// String says it in words.
func (d Difference) String() string {
	switch {
	case d.Problem != "":
		return fmt.Sprintf("pod %s (%s), fact %d: %s", d.Pod, d.Pod.UID, d.Cause, d.Problem)
	case d.Recorded == nil:
		return fmt.Sprintf("pod %s (%s): from fact %d this follows now, and did not then:\n  now  %s", d.Pod, d.Pod.UID, d.Cause, d.Replayed)
	case d.Replayed == nil:
		return fmt.Sprintf("pod %s (%s): from fact %d this followed then, and does not now:\n  then %s", d.Pod, d.Pod.UID, d.Cause, d.Recorded)
	}
	return fmt.Sprintf("pod %s (%s): from fact %d something else follows now:\n  then %s\n  now  %s", d.Pod, d.Pod.UID, d.Cause, d.Recorded, d.Replayed)
}

// Facts replays a history, whose facts come by id. policy is the node's; a
// checkpoint brings its own.
func Facts(facts iter.Seq2[fact.Fact, error], policy health.Policy) (Report, error) {
	r := replay{policy: policy, pods: map[types.UID]*pod{}}
	for f, err := range facts {
		if err != nil {
			return r.report, err
		}
		if f.Pod.UID != "" {
			r.take(f)
		}
	}
	for _, p := range r.order {
		r.settle(p)
		if p.begun {
			r.report.Pods++
		} else {
			r.report.Partial = append(r.report.Partial, p.key)
		}
	}
	return r.report, nil
}

type replay struct {
	policy health.Policy
	pods   map[types.UID]*pod
	order  []*pod
	report Report
}

// pod is one pod's replay. due are the decisions that followed from cause and
// have not been met in the record yet.
type pod struct {
	key     fact.Pod
	state   health.State
	begun   bool
	skipped int64 // facts of before that
	stopped bool  // at the first difference: what follows says nothing more
	cause   fact.Fact
	due     []fact.Decision
}

func (r *replay) take(f fact.Fact) {
	p := r.pods[f.Pod.UID]
	if p == nil {
		p = &pod{key: f.Pod, state: health.New(r.policy)}
		r.pods[f.Pod.UID] = p
		r.order = append(r.order, p)
	}
	if p.stopped {
		return
	}
	switch b := f.Body.(type) {
	case fact.Checkpoint:
		r.checkpoint(p, f, b)
		return
	case fact.SpecSeen:
		// A changed spec is no beginning: what came before it is not kept any more.
		p.begun = p.begun || len(b.Changed) == 0 && p.skipped == 0
	}
	if !p.begun {
		p.skipped++
		return
	}
	if fact.IsDecided(f.Body) {
		r.compare(p, f)
		return
	}
	r.settle(p)
	if p.stopped {
		return
	}
	r.report.Observed++
	p.cause = f
	p.state, p.due = health.Step(p.state, f)
}

// checkpoint begins the replay of a pod whose beginning is not kept any more.
func (r *replay) checkpoint(p *pod, f fact.Fact, c fact.Checkpoint) {
	if p.begun {
		return
	}
	if err := json.Unmarshal(c.State, &p.state); err != nil {
		p.stopped = true
		r.report.Unreadable = append(r.report.Unreadable, Difference{Pod: p.key, Cause: f.ID, Problem: err.Error()})
		return
	}
	p.begun = true
	r.report.Resumed = append(r.report.Resumed, Resumption{Pod: p.key, Checkpoint: f.ID, Seen: f.Seen, Skipped: p.skipped})
}

// compare holds a recorded decision against the next one that is due. Its id is
// the journal's, and no part of what was decided.
func (r *replay) compare(p *pod, f fact.Fact) {
	r.report.Decisions++
	recorded, err := f.MarshalJSON()
	if err != nil {
		r.differ(p, Difference{Problem: err.Error()})
		return
	}
	if len(p.due) == 0 {
		r.differ(p, Difference{Recorded: recorded})
		return
	}
	replayed, err := p.due[0].Fact(f.ID, p.cause).MarshalJSON()
	p.due = p.due[1:]
	switch {
	case err != nil:
		r.differ(p, Difference{Problem: err.Error()})
	case string(replayed) != string(recorded):
		r.differ(p, Difference{Recorded: recorded, Replayed: replayed})
	}
}

// settle ends the comparison of what followed from one fact.
func (r *replay) settle(p *pod) {
	if p.stopped || len(p.due) == 0 {
		return
	}
	replayed, err := p.due[0].Fact(p.cause.ID+1, p.cause).MarshalJSON()
	if err != nil {
		r.differ(p, Difference{Problem: err.Error()})
		return
	}
	r.differ(p, Difference{Replayed: replayed})
}

func (r *replay) differ(p *pod, d Difference) {
	p.stopped = true
	d.Pod, d.Cause = p.key, p.cause.ID
	r.report.Differences = append(r.report.Differences, d)
}
