// Package perfetto writes a timeline as a trace that ui.perfetto.dev opens: a track for
// each lane, an event for each mark, and an arrow for each fact that another rests on.
//
// The few messages of the format are written field by field with protowire; their
// numbers are those of protos/perfetto/trace/trace_packet.proto, track_event.proto,
// track_descriptor.proto, counter_descriptor.proto and debug_annotation.proto in
// github.com/google/perfetto. It is pure.
//
//	perfetto.go all of it
package perfetto

import (
	"cmp"
	"hash/fnv"
	"math"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/web/timeline"
)

// Fields of the messages.
const (
	tracePacket = 1 // Trace

	packetTimestamp  protowire.Number = 8
	packetSequence   protowire.Number = 10
	packetEvent      protowire.Number = 11
	packetFlags      protowire.Number = 13
	packetDescriptor protowire.Number = 60

	trackUUID    protowire.Number = 1
	trackName    protowire.Number = 2
	trackParent  protowire.Number = 5
	trackCounter protowire.Number = 8

	counterUnit     protowire.Number = 3
	counterUnitName protowire.Number = 6

	eventAnnotation protowire.Number = 4
	eventType       protowire.Number = 9
	eventTrack      protowire.Number = 11
	eventCategory   protowire.Number = 22
	eventName       protowire.Number = 23
	eventValue      protowire.Number = 44
	eventFlow       protowire.Number = 47
	eventFlowEnds   protowire.Number = 48

	annotationString protowire.Number = 6
	annotationName   protowire.Number = 10
)

// Types of events, and the unit of bytes.
const (
	sliceBegin = 1
	sliceEnd   = 2
	instant    = 3
	counter    = 4

	unitBytes = 3
)

// stateCleared says that nothing before it is needed to read what follows.
const stateCleared = 1

// Trace gives a document as a trace.
func Trace(d timeline.Document) []byte {
	w := &writer{}
	for i := range d.Pods {
		w.pod(&d.Pods[i])
	}
	slices.SortStableFunc(w.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range w.events {
		w.packet(e.at, packetEvent, e.body)
	}
	return w.out
}

type writer struct {
	out    []byte
	events []event
	tracks uint64
	begun  bool
}

// event is one whose place in the trace its time decides.
type event struct {
	at   int64 // ms
	body []byte
}

// packet appends one to the trace.
func (w *writer) packet(at int64, field protowire.Number, body []byte) {
	var p []byte
	if field == packetEvent {
		p = number(p, packetTimestamp, uint64(at)*1_000_000)
	}
	p = number(p, packetSequence, 1)
	if !w.begun {
		p, w.begun = number(p, packetFlags, stateCleared), true
	}
	p = message(p, field, body)
	w.out = message(w.out, tracePacket, p)
}

// track describes a new one and gives its number.
func (w *writer) track(parent uint64, name string, more ...byte) uint64 {
	w.tracks++
	b := text(number(nil, trackUUID, w.tracks), trackName, name)
	if parent != 0 {
		b = number(b, trackParent, parent)
	}
	w.packet(0, packetDescriptor, append(b, more...))
	return w.tracks
}

func (w *writer) pod(p *timeline.Pod) {
	name := p.Name
	if p.Namespace != "" {
		name = p.Namespace + "/" + name
	}
	root := w.track(0, name)
	flows := flowsOf(p)
	groups := map[string]uint64{}
	for _, l := range p.Lanes {
		group, ok := groups[l.Group]
		if !ok {
			group = w.track(root, l.Group)
			groups[l.Group] = group
		}
		w.lane(p, l, w.track(group, l.Name), flows)
		for _, c := range l.Curves {
			w.curve(l, c, group)
		}
	}
}

// lane writes marks. Slices of one track must not cross each other, so each ends where
// the next begins.
func (w *writer) lane(p *timeline.Pod, l timeline.Lane, track uint64, flows map[fact.ID]flow) {
	for i, m := range l.Marks {
		long := m.Until > m.At
		e := number(nil, eventTrack, track)
		if long {
			e = number(e, eventType, sliceBegin)
		} else {
			e = number(e, eventType, instant)
		}
		e = text(e, eventName, cmp.Or(m.Label, words(p, m)))
		e = text(e, eventCategory, string(m.Tone))
		for _, id := range m.Facts {
			e = flows[id].add(e)
			if r, ok := p.Facts[id]; ok {
				e = annotate(e, "what", r.Text)
				e = annotate(e, "fact "+strconv.FormatUint(uint64(id), 10), string(r.Fact))
			}
		}
		w.events = append(w.events, event{m.At, e})
		if !long {
			continue
		}
		until := m.Until
		for _, next := range l.Marks[i+1:] {
			if next.Until > next.At {
				until = min(until, next.At)
				break
			}
		}
		w.events = append(w.events, event{until, number(number(nil, eventTrack, track), eventType, sliceEnd)})
	}
}

func words(p *timeline.Pod, m timeline.Mark) string {
	if m.Text == "" && len(m.Facts) > 0 {
		return p.Facts[m.Facts[0]].Text
	}
	return m.Text
}

func (w *writer) curve(l timeline.Lane, c timeline.Curve, parent uint64) {
	unit := text(nil, counterUnitName, l.Unit)
	if l.Unit == "bytes" {
		unit = number(nil, counterUnit, unitBytes)
	}
	track := w.track(parent, l.Name+": "+c.Name, message(nil, trackCounter, unit)...)
	for _, p := range c.Points {
		e := number(number(nil, eventTrack, track), eventType, counter)
		e = protowire.AppendTag(e, eventValue, protowire.Fixed64Type)
		e = protowire.AppendFixed64(e, math.Float64bits(p.Value))
		w.events = append(w.events, event{p.At, e})
	}
}

// flow are the arrows that begin and end at a fact.
type flow struct{ out, in []uint64 }

func (f flow) add(e []byte) []byte {
	for _, id := range f.out {
		e = protowire.AppendFixed64(protowire.AppendTag(e, eventFlow, protowire.Fixed64Type), id)
	}
	for _, id := range f.in {
		e = protowire.AppendFixed64(protowire.AppendTag(e, eventFlowEnds, protowire.Fixed64Type), id)
	}
	return e
}

// flowsOf are the arrows of a pod, each from a fact that is drawn to one that rests on it.
func flowsOf(p *timeline.Pod) map[fact.ID]flow {
	drawn := map[fact.ID]bool{}
	for _, l := range p.Lanes {
		for _, m := range l.Marks {
			for _, id := range m.Facts {
				drawn[id] = true
			}
		}
	}
	all := map[fact.ID]flow{}
	for _, e := range p.Edges() {
		if !drawn[e.Cause] || !drawn[e.Effect] {
			continue
		}
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.UID + strconv.FormatUint(uint64(e.Cause), 10) + " " + strconv.FormatUint(uint64(e.Effect), 10)))
		from, to := all[e.Cause], all[e.Effect]
		from.out, to.in = append(from.out, h.Sum64()), append(to.in, h.Sum64())
		all[e.Cause], all[e.Effect] = from, to
	}
	return all
}

func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func message(b []byte, field protowire.Number, body []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), body)
}

func annotate(b []byte, name, value string) []byte {
	return message(b, eventAnnotation, text(text(nil, annotationName, name), annotationString, value))
}
