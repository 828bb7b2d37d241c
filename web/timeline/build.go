package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
)

// Input is what a document is made of.
type Input struct {
	Answer answer.Answer
	// Ask is the command that gave the answer.
	Ask  string
	Pods []PodInput
}

// PodInput is one pod's part; without a pod, that of a node.
type PodInput struct {
	Pod  fact.Pod
	Node string
	// Facts are those of the pod and of its node, or of a node and its pods, by id.
	Facts  []fact.Fact
	WhatIf []Trial
}

// Build makes the document.
func Build(in Input) Document {
	d := Document{
		APIVersion: answer.APIVersion, Kind: Kind, Subject: in.Answer.Subject, AsOf: ms(in.Answer.AsOf),
		Rows: in.Answer.Rows(false), Ask: in.Ask, Pods: []Pod{},
	}
	for _, p := range in.Pods {
		b := newBuilder(p, in.Answer, len(in.Pods))
		d.Pods = append(d.Pods, b.build())
		if i := slices.IndexFunc(in.Answer.Symptoms, func(s answer.Symptom) bool { return s.Pod == p.Pod.Name || s.Pod == p.Pod.String() }); i >= 0 {
			d.Pods[len(d.Pods)-1].Symptom = in.Answer.Symptoms[i].Kind
		}
		first, last := b.span()
		if d.From == 0 || first < d.From {
			d.From = first
		}
		d.Until = max(d.Until, last)
	}
	d.Trouble = trouble(d, in.Answer)
	d.Others = others(d, in.Answer)
	return d
}

// others are the pods that the answer tells of, once each, without those that are drawn.
func others(d Document, a answer.Answer) []Other {
	var all []Other
	for _, s := range a.Symptoms {
		o := Other{Namespace: a.Subject.Namespace, Name: s.Pod, Symptom: s.Kind, Text: strings.TrimPrefix(s.Text, "pod "+s.Pod+": ")}
		if i := strings.IndexByte(s.Pod, '/'); i >= 0 {
			o.Namespace, o.Name = s.Pod[:i], s.Pod[i+1:]
		}
		drawn := slices.ContainsFunc(d.Pods, func(p Pod) bool { return p.Kind == "Node" || p.Name == o.Name && p.Namespace == o.Namespace })
		if o.Name != "" && !drawn && !slices.ContainsFunc(all, func(x Other) bool { return x.Name == o.Name && x.Namespace == o.Namespace }) {
			all = append(all, o)
		}
	}
	return all
}

// trouble is the time of the first verdict's chain, or all there is.
func trouble(d Document, a answer.Answer) [2]int64 {
	for _, v := range a.Verdicts {
		if len(v.Chain) == 0 || v.Cause == answer.None {
			continue
		}
		from, until := ms(v.Chain[0].At), ms(v.Chain[0].At)
		for _, l := range v.Chain {
			from, until = min(from, ms(l.At)), max(until, ms(l.At))
		}
		return [2]int64{from, until}
	}
	return [2]int64{d.From, d.Until}
}

// builder makes one pod's part.
type builder struct {
	PodInput
	out Pod
	// asOf is when all that goes on is drawn to; over is when the pod was gone.
	asOf, over time.Time
	// acts are decisions that kubelet made where an agent only watches: they are drawn as
	// what was decided.
	acts map[fact.ID]fact.Act
	// keep are the facts that the answer names: their marks stay marks of their own.
	keep map[fact.ID]bool
	room
}

// room bounds what one pod brings to a page.
type room struct{ facts, marks, points int }

// roomFor shares a page between pods, so that it opens as quickly with many. Each has
// some.
func roomFor(pods int) room {
	shared := max(1, (pods+1)/4)
	return room{facts: max(mostFacts/max(pods, 1), mostFacts/24), marks: max(mostMarks/shared, 200), points: max(mostPoints/shared, 400)}
}

func newBuilder(p PodInput, a answer.Answer, pods int) *builder {
	b := &builder{PodInput: p, asOf: a.AsOf, keep: map[fact.ID]bool{}, acts: map[fact.ID]fact.Act{}, room: roomFor(pods)}
	b.Facts = slices.Clone(p.Facts)
	for i, f := range b.Facts {
		if act, ok := f.Body.(fact.Act); ok && act.Body != nil {
			b.acts[f.ID], b.Facts[i].Body = act, act.Body
		}
	}
	b.out = Pod{
		Kind: "Pod", Namespace: p.Pod.Namespace, Name: p.Pod.Name, UID: string(p.Pod.UID), Node: p.Node,
		Lanes: []Lane{}, Facts: map[fact.ID]Recorded{}, Total: len(p.Facts), WhatIf: p.WhatIf,
	}
	if p.Pod.Name == "" {
		b.out.Kind, b.out.Name = "Node", p.Node
	}
	for _, r := range a.Rows(true) {
		for _, id := range r.Facts {
			b.keep[id] = true
		}
	}
	for _, f := range p.Facts {
		if _, gone := f.Body.(fact.ObjectGone); gone && f.Pod == p.Pod {
			b.over = f.When()
		}
	}
	return b
}

func (b *builder) build() Pod {
	if b.out.Kind == "Node" {
		b.agent()
		b.machine()
		b.residents()
	} else {
		b.pod()
		for _, name := range b.containers() {
			own := slices.DeleteFunc(slices.Clone(b.Facts), func(f fact.Fact) bool { return f.Container != name || f.Pod != b.Pod })
			b.runs(name, own)
			b.probes(name, own)
			b.usage(name, own)
		}
		b.words()
		b.people()
		b.agent()
		b.machine()
	}
	b.others()
	b.bring()
	return b.out
}

// containers are the pod's, those that start first at first.
func (b *builder) containers() []string {
	var names []string
	for _, f := range b.Facts {
		if f.Pod == b.Pod && f.Container != "" && !slices.Contains(names, f.Container) {
			names = append(names, f.Container)
		}
	}
	return names
}

// add takes a lane that has something on it.
func (b *builder) add(l Lane) {
	if len(l.Marks) == 0 && len(l.Curves) == 0 {
		return
	}
	if l.Marks == nil {
		l.Marks = []Mark{} // the page reads a list
	}
	for i := range l.Marks {
		if l.Marks[i].Open {
			l.Marks[i].Until = ms(b.end())
		}
	}
	slices.SortStableFunc(l.Marks, func(x, y Mark) int { return cmp.Compare(x.At, y.At) })
	l.Marks = thin(l.Marks, b.keep, b.marks)
	for i := range l.Curves {
		l.Curves[i].Points = thinPoints(l.Curves[i].Points, b.keep, b.points)
	}
	b.out.Lanes = append(b.out.Lanes, l)
}

// end is until when what did not end is drawn.
func (b *builder) end() time.Time {
	if !b.over.IsZero() && b.over.Before(b.asOf) {
		return b.over
	}
	return b.asOf
}

// span is the time from the first to the last mark.
func (b *builder) span() (from, until int64) {
	for _, l := range b.out.Lanes {
		for _, m := range l.Marks {
			if from == 0 || m.At < from {
				from = m.At
			}
			until = max(until, m.At, m.Until)
		}
	}
	return from, until
}

// mark is a fact as a mark.
func mark(f fact.Fact, shape Shape, tone Tone, label string) Mark {
	return Mark{At: ms(f.When()), Shape: shape, Tone: tone, Label: label, Facts: []fact.ID{f.ID}}
}

// enter begins a state at a fact and ends the one before; what stays the same goes on.
func enter(marks []Mark, f fact.Fact, tone Tone, label string) []Mark {
	m := mark(f, Bar, tone, label)
	m.Open = true
	if last := len(marks) - 1; last >= 0 && marks[last].Open {
		if marks[last].Label == label && marks[last].Tone == tone {
			marks[last].Facts = append(marks[last].Facts, f.ID)
			return marks
		}
		marks[last].Open, marks[last].Until = false, m.At
	}
	return append(marks, m)
}

// leave ends the state that goes on.
func leave(marks []Mark, f fact.Fact) {
	if last := len(marks) - 1; last >= 0 && marks[last].Open {
		marks[last].Open, marks[last].Until = false, max(ms(f.When()), marks[last].At)
		marks[last].Facts = append(marks[last].Facts, f.ID)
	}
}

// unseen are facts that say nothing to people by themselves; they are in the details
// of what rests on them.
var unseen = []fact.Kind{
	"TimePassed", "Checkpoint", "Remove", "Removed", "ReferenceChanged", "AdoptedStatus", "SetUp", "TearDown", "Release", "Resize",
	"SetCondition", "Created", "ImageReady", "Sampled",
}

// others shows what has no lane, so that nothing that was recorded is out of sight:
// facts of kinds that a newer Whylet wrote, too.
func (b *builder) others() {
	drawn := map[fact.ID]bool{}
	for _, l := range b.out.Lanes {
		for _, m := range l.Marks {
			for _, id := range m.Facts {
				drawn[id] = true
			}
		}
		for _, c := range l.Curves {
			for _, p := range c.Points {
				drawn[p.Fact] = true
			}
		}
	}
	l := Lane{ID: "other", Group: "Other", Name: "Other facts", Form: "bars"}
	for _, f := range b.Facts {
		if f.Pod == b.Pod && !drawn[f.ID] && !slices.Contains(unseen, f.Body.Kind()) && b.out.Total <= b.facts {
			m := mark(f, Tick, Plain, "")
			l.Marks = append(l.Marks, m)
		}
	}
	b.add(l)
}

// mostFacts bounds how many facts come along whole with a page.
const mostFacts = 6000

// bring takes the facts along that marks stand for and that these rest on.
func (b *builder) bring() {
	at := make(map[fact.ID]int, len(b.Facts))
	for i, f := range b.Facts {
		at[f.ID] = i
	}
	var ids []fact.ID
	for _, f := range b.Facts { // those of the answer first: they may not be left out
		if b.keep[f.ID] {
			ids = append(ids, f.ID)
		}
	}
	for _, l := range b.out.Lanes {
		for _, m := range l.Marks {
			ids = append(ids, m.Facts[:min(len(m.Facts), 4)]...)
		}
	}
	for _, id := range ids {
		if i, ok := at[id]; ok && b.take(b.Facts[i]) {
			for _, on := range b.Facts[i].Because {
				if j, ok := at[on]; ok {
					b.take(b.Facts[j])
				}
			}
		}
	}
	if b.out.Total <= b.facts {
		for _, f := range b.Facts {
			b.take(f)
		}
	}
	b.prune()
}

func (b *builder) take(f fact.Fact) bool {
	if _, known := b.out.Facts[f.ID]; known {
		return true
	}
	if _, state := f.Body.(fact.Checkpoint); state || len(b.out.Facts) >= b.facts && !b.keep[f.ID] {
		return false
	}
	text := Words(f)
	if act, ok := b.acts[f.ID]; ok {
		f.Body, text = act, fmt.Sprintf("%s (%s decided it: %s)", text, act.By, act.Basis)
	}
	raw, err := f.MarshalJSON()
	if err != nil {
		return false // a fact that was read can be written
	}
	b.out.Facts[f.ID] = Recorded{Text: text, Fact: raw}
	return true
}

// Words are a fact in words; of a kind that has none, its name in words.
func Words(f fact.Fact) string {
	text := why.Tell(f).Text
	if text != string(f.Body.Kind()) && text != "" {
		return text
	}
	return plainWords(f)
}

// plainWords are for facts that no chain of an answer has.
func plainWords(f fact.Fact) string {
	switch x := f.Body.(type) {
	case fact.Counted:
		return fmt.Sprintf("kubelet counted %d more failures and %d more successes of the %s probe", x.NewFailures, x.NewSuccesses, strings.ToLower(string(x.Probe)))
	case fact.StatusSeen:
		return "the node says that the pod is " + string(x.Status.Phase)
	case fact.KubeletSeen:
		if x.Ended {
			return "kubelet ended"
		}
		return "kubelet " + x.Version + " runs the pods here"
	case fact.Admitted:
		return "the node took the pod in"
	case fact.SetUpDone:
		return "volumes, cgroup and sandbox stand; its address is " + strings.Join(x.IPs, ", ")
	case fact.ImagePulling:
		return "the pull of " + x.Image + " began"
	case fact.ImageReady:
		if x.Present {
			return "the image " + x.Image + " was there already"
		}
		return "the image " + x.Image + " was pulled"
	case fact.Created:
		return "the runtime made the container"
	case fact.ConditionsSeen:
		var all []string
		for _, c := range x.Conditions {
			if c.Type != v1.PodScheduled || len(x.Conditions) == 1 {
				all = append(all, fmt.Sprintf("%s=%s", c.Type, c.Status))
			}
		}
		return "others than the node set conditions of the pod: " + strings.Join(all, ", ")
	case fact.TornDown:
		return "sandbox, volumes and cgroup of the pod are gone"
	case fact.NodeSignals:
		if len(x.Conditions) > 0 {
			return "the node is under pressure: " + strings.Join(x.Conditions, ", ")
		}
		return "the node as a whole was looked at"
	case fact.ClockStepped:
		if x.By < 0 {
			return fmt.Sprintf("the wall clock was set back by %s", -x.By)
		}
		return fmt.Sprintf("the wall clock was set forward by %s", x.By)
	case fact.Resized:
		return "new resources took effect"
	case fact.Resize:
		return "the node gives it new resources"
	case fact.Remove:
		return "the node has the dead container removed"
	case fact.Removed:
		return "the dead container was removed"
	case fact.TearDown:
		return "the node ends sandbox, volumes and cgroup"
	case fact.Release:
		return "the node asks the API server to remove the object"
	}
	return string(f.Body.Kind())
}

// prune leaves of a merged mark's facts those that something else names.
func (b *builder) prune() {
	for i := range b.out.Lanes {
		for j := range b.out.Lanes[i].Marks {
			m := &b.out.Lanes[i].Marks[j]
			for k := 1; k < len(m.Facts); k++ {
				if _, along := b.out.Facts[m.Facts[k]]; !along {
					m.Facts = slices.Delete(m.Facts, k, k+1)
					k--
				}
			}
		}
	}
}
