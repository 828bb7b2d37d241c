package timeline

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/prose"
)

// pod draws what is about the pod as a whole.
func (b *builder) pod() {
	phase := Lane{ID: "phase", Group: "Pod", Name: "Phase", Form: "bars"}
	life := Lane{ID: "life", Group: "Pod", Name: "Life", Form: "bars"}
	conditions := map[v1.PodConditionType][]Mark{}
	var order []v1.PodConditionType
	for _, f := range b.Facts {
		if f.Pod != b.Pod || f.Container != "" {
			continue
		}
		switch x := f.Body.(type) {
		case fact.SetPhase:
			phase.Marks = enter(phase.Marks, f, phases[x.Phase], string(x.Phase))
		case fact.SetCondition:
			c := x.Condition
			if _, known := conditions[c.Type]; !known {
				order = append(order, c.Type)
			}
			conditions[c.Type] = enter(conditions[c.Type], f, statuses[c.Status], string(c.Status))
		default:
			life.Marks = lived(life.Marks, f)
		}
	}
	b.add(phase)
	b.add(life)
	slices.SortStableFunc(order, func(x, y v1.PodConditionType) int { return rank(x) - rank(y) })
	for _, name := range order {
		if !settled(conditions[name], name) {
			b.add(Lane{ID: "condition/" + string(name), Group: "Pod", Name: string(name), Form: "bars", Marks: conditions[name]})
		}
	}
	b.gates()
}

// gates draws the conditions that a pod's readiness waits for and that others than the
// node set.
func (b *builder) gates() {
	var all []Lane
	for _, f := range b.Facts {
		if f.Pod != b.Pod {
			continue
		}
		switch x := f.Body.(type) {
		case fact.SpecSeen:
			if x.Object != nil && all == nil {
				for _, g := range x.Object.Spec.ReadinessGates {
					all = append(all, Lane{ID: "gate/" + string(g.ConditionType), Group: "Pod", Name: "Gate " + string(g.ConditionType), Form: "bars", Marks: enter(nil, f, Warn, "not set")})
				}
			}
		case fact.ConditionsSeen:
			for i := range all {
				tone, label := Warn, "not set"
				for _, c := range x.Conditions {
					if all[i].ID == "gate/"+string(c.Type) {
						tone, label = statuses[c.Status], string(c.Status)
					}
				}
				all[i].Marks = enter(all[i].Marks, f, tone, label)
			}
		}
	}
	for _, l := range all {
		b.add(l)
	}
}

var phases = map[v1.PodPhase]Tone{v1.PodPending: Warn, v1.PodRunning: Calm, v1.PodSucceeded: Good, v1.PodFailed: Bad}

var statuses = map[v1.ConditionStatus]Tone{v1.ConditionTrue: Good, v1.ConditionFalse: Warn, v1.ConditionUnknown: Plain}

func rank(c v1.PodConditionType) int {
	return slices.Index([]v1.PodConditionType{v1.PodReady, v1.ContainersReady}, c)*-1 + 2*b2i(c != v1.PodReady)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// settled are the conditions that turned True once and stayed so, as they do in the
// life of nearly every pod; ContainersReady says no more than Ready and the containers.
func settled(marks []Mark, name v1.PodConditionType) bool {
	if name == v1.ContainersReady {
		return true
	}
	return name != v1.PodReady && len(marks) > 0 && len(marks) <= 2 && marks[len(marks)-1].Label == string(v1.ConditionTrue)
}

// lived are admission, set-up, deletion and the end of a pod.
func lived(marks []Mark, f fact.Fact) []Mark {
	switch x := f.Body.(type) {
	case fact.Admitted:
		return append(marks, mark(f, Dot, Plain, ""))
	case fact.Refused:
		return append(marks, mark(f, Cross, Bad, x.Reason))
	case fact.SetUp:
		return enter(marks, f, Plain, "set-up")
	case fact.SetUpDone:
		leave(marks, f)
	case fact.SetUpFailed:
		leave(marks, f)
		return append(marks, mark(f, Cross, Bad, x.Reason))
	case fact.SandboxLost:
		return append(marks, mark(f, Cross, Bad, "sandbox lost"))
	case fact.BackOff:
		return waits(marks, f, x)
	case fact.DeletionSeen:
		return append(marks, mark(f, Diamond, Warn, "deleted"))
	case fact.EvictionNeeded:
		return append(marks, mark(f, Flag, Warn, ""))
	case fact.Evict:
		return append(marks, evicted(f, x))
	case fact.TearDown:
		return enter(marks, f, Plain, "tear-down")
	case fact.TornDown:
		leave(marks, f)
	case fact.ObjectGone:
		return append(marks, mark(f, Dot, Plain, "gone"))
	}
	return marks
}

// evicted names who would have gone next, where a ranking decided.
func evicted(f fact.Fact, x fact.Evict) Mark {
	m := mark(f, Diamond, Bad, "evicted")
	if len(x.Ranking) == 0 {
		return m
	}
	m.Text = Words(f) + "\norder of eviction, the first goes first:"
	amount := prose.Size
	if strings.HasPrefix(x.Signal, "pid") {
		amount = func(n int64) string { return prose.Plural(int(n), "process") }
	}
	for i, r := range x.Ranking {
		used := amount(r.Usage)
		if r.Unmeasured {
			used = "what is not known"
		}
		m.Text += fmt.Sprintf("\n%d. %s (%s, priority %d, used %s, requested %s)", i+1, r.Pod, r.QoS, r.Priority, used, amount(r.Request))
	}
	return m
}

// waits is a back-off; that it still lasts is said again and again.
func waits(marks []Mark, f fact.Fact, x fact.BackOff) []Mark {
	m := mark(f, Hatched, Warn, "back-off")
	m.Until = max(ms(x.Until), m.At)
	for i := len(marks) - 1; i >= max(0, len(marks)-4); i-- {
		if marks[i].Shape == Hatched && marks[i].Until == m.Until {
			marks[i].Facts = append(marks[i].Facts, f.ID)
			return marks
		}
	}
	return append(marks, m)
}
