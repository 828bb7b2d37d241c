package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"whylet.dev/whylet/fact"
)

// agent draws when nobody looked.
func (b *builder) agent() {
	l := Lane{ID: "node/agent", Group: "Node", Name: "Who looked", Form: "bars"}
	for _, f := range b.Facts {
		if f.Pod != (fact.Pod{}) {
			continue
		}
		switch x := f.Body.(type) {
		case fact.AgentStarted:
			m := mark(f, Dot, Plain, "")
			if !x.LastSeen.IsZero() && x.LastSeen.Before(f.When()) {
				m = missed(f, x.LastSeen, f.When(), "agent away")
			}
			l.Marks = append(l.Marks, m)
		case fact.AgentStopped:
			l.Marks = append(l.Marks, mark(f, Dot, Plain, ""))
		case fact.AgentStalled:
			l.Marks = append(l.Marks, missed(f, x.From, x.Until, "agent stalled"))
		case fact.Lost:
			l.Marks = append(l.Marks, missed(f, x.From, x.Until, string(x.Source)+" not seen"))
		}
	}
	b.add(l)
}

// missed is a time that nobody saw.
func missed(f fact.Fact, from, until time.Time, label string) Mark {
	m := mark(f, Absent, Plain, label)
	if !from.IsZero() {
		m.At = ms(from)
	}
	m.Until = max(m.At, ms(until))
	return m
}

// machine draws the node's pressure, its clock and its packets.
func (b *builder) machine() {
	l := Lane{ID: "node/machine", Group: "Node", Name: "Machine", Form: "bars"}
	left := Curve{Name: "memory left", Style: "area"}
	var pressed []Mark
	for _, f := range b.Facts {
		if f.Pod != (fact.Pod{}) {
			continue
		}
		switch x := f.Body.(type) {
		case fact.NodeSignals:
			label, tone := "no pressure", Calm
			if len(x.Conditions) > 0 {
				label, tone = strings.Join(x.Conditions, ", "), Bad
			}
			pressed = enter(pressed, f, tone, label)
			left.Points = append(left.Points, Point{At: ms(f.When()), Value: float64(x.MemoryAvailable), Fact: f.ID})
		case fact.ClockStepped:
			l.Marks = append(l.Marks, mark(f, Flag, Warn, "clock set"))
		case fact.PacketsDropped:
			l.Marks = append(l.Marks, mark(f, Cross, Bad, "packets dropped"))
		case fact.GPUError:
			l.Marks = append(l.Marks, mark(f, Cross, Bad, fmt.Sprintf("GPU error, Xid %d", x.Code)))
		}
	}
	l.Marks = append(pressed, l.Marks...)
	b.add(l)
	b.add(Lane{ID: "node/memory", Group: "Node", Name: "Memory left", Form: "curves", Unit: "bytes", Curves: curves(left)})
}

// mostResidents bounds how many pods a node's page has.
const mostResidents = 60

// residents draws each pod of a node by its runs, those in trouble first.
func (b *builder) residents() {
	type resident struct {
		lane    Lane
		trouble int
	}
	var all []*resident
	by := map[fact.Pod]*resident{}
	for _, f := range b.Facts {
		if f.Pod == (fact.Pod{}) {
			continue
		}
		r := by[f.Pod]
		if r == nil {
			r = &resident{lane: Lane{ID: "pod/" + string(f.Pod.UID), Group: "Pods", Name: f.Pod.String(), Form: "bars"}}
			by[f.Pod] = r
			all = append(all, r)
		}
		switch x := f.Body.(type) {
		case fact.Started:
			r.lane.Marks = append(r.lane.Marks, mark(f, Bar, Calm, f.Container))
			r.lane.Marks[len(r.lane.Marks)-1].Open = true
		case fact.Exited:
			closeRun(r.lane.Marks, f)
			m := ended(f, x)
			if m.Tone == Bad {
				r.trouble++
			}
			r.lane.Marks = append(r.lane.Marks, m)
		case fact.Evict:
			r.trouble += 1000
			r.lane.Marks = append(r.lane.Marks, evicted(f, x))
		}
	}
	slices.SortStableFunc(all, func(x, y *resident) int { return y.trouble - x.trouble })
	for _, r := range all[:min(len(all), mostResidents)] {
		b.add(r.lane)
	}
}

// closeRun ends the run of the container that a fact is about.
func closeRun(marks []Mark, f fact.Fact) {
	for i := len(marks) - 1; i >= 0; i-- {
		if marks[i].Open && marks[i].Label == f.Container {
			marks[i].Open, marks[i].Until = false, ms(f.When())
			return
		}
	}
}
