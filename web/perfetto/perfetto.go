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

	trackUUID     protowire.Number = 1
	trackName     protowire.Number = 2
	trackParent   protowire.Number = 5
	trackCounter  protowire.Number = 8
	trackOrdering protowire.Number = 11
	trackRank     protowire.Number = 12

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

// explicit says that a track's children stand in the order of their ranks, which is the
// page's, and not of their names.
const explicit = 3

// stateCleared says that nothing before it is needed to read what follows.
const stateCleared = 1

// Trace gives a document as a trace.
func Trace(d timeline.Document) []byte {
	w := &writer{}
	for i := range d.Pods {
		w.pod(&d.Pods[i])
	}
	slices.SortStableFunc(w.events, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.fact, b.fact))
	})
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

// event is one whose place in the trace its time decides. Of those of one millisecond an
// end comes first, and then a cause before what rests on it: who reads a trace knows an
// arrow only from where it begins on, and facts are numbered in that order.
type event struct {
	at   int64   // ms
	fact fact.ID // 0: an end, or a value
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
		b = number(number(b, trackParent, parent), trackRank, w.tracks)
	}
	b = number(b, trackOrdering, explicit)
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
	for i, l := range p.Lanes {
		group, ok := groups[l.Group]
		if !ok {
			group = w.track(root, l.Group)
			groups[l.Group] = group
		}
		w.lane(p, i, w.track(group, l.Name), flows)
		for _, c := range l.Curves {
			w.curve(l, c, group)
		}
	}
}

// lane writes marks. Slices of one track must not cross each other, so each ends where
// the next begins; what then has no length left is an instant.
func (w *writer) lane(p *timeline.Pod, lane int, track uint64, flows map[spot]flow) {
	marks := p.Lanes[lane].Marks
	for i, m := range marks {
		until := untilNext(m, marks[i+1:])
		long := until > m.At
		e := number(nil, eventTrack, track)
		if long {
			e = number(e, eventType, sliceBegin)
		} else {
			e = number(e, eventType, instant)
		}
		e = text(e, eventName, cmp.Or(m.Label, words(p, m)))
		e = text(e, eventCategory, string(m.Tone))
		e = flows[spot{lane, i}].add(e)
		for _, id := range m.Facts {
			if r, ok := p.Facts[id]; ok {
				e = annotate(e, "what", r.Text)
				e = annotate(e, "fact "+strconv.FormatUint(uint64(id), 10), string(r.Fact))
			}
		}
		w.events = append(w.events, event{m.At, first(m), e})
		if long {
			w.events = append(w.events, event{until, 0, number(number(nil, eventTrack, track), eventType, sliceEnd)})
		}
	}
}

// first is the fact that a mark begins with; not 0 where it has none.
func first(m timeline.Mark) fact.ID {
	if len(m.Facts) == 0 {
		return 1
	}
	return m.Facts[0]
}

// untilNext is when a mark ends, or before that the next one begins that lasts.
func untilNext(m timeline.Mark, after []timeline.Mark) int64 {
	for _, next := range after {
		if next.Until > next.At {
			return min(m.Until, next.At)
		}
	}
	return m.Until
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
		w.events = append(w.events, event{p.At, 0, e})
	}
}

// spot is a mark: the number of its lane, and its own there.
type spot struct{ lane, mark int }

// spotsOf says which mark each fact is: the first that begins with it, or else the first
// that has it. An end is among the runs, and among the last words, too.
func spotsOf(p *timeline.Pod) map[fact.ID]spot {
	all := map[fact.ID]spot{}
	for _, own := range []bool{true, false} {
		for i, l := range p.Lanes {
			for j, m := range l.Marks {
				for k, id := range m.Facts {
					if _, known := all[id]; !known && (!own || k == 0 && m.Count == 0) {
						all[id] = spot{i, j}
					}
				}
			}
		}
	}
	return all
}

// flow are the arrows that begin and end at a mark.
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

// flowsOf are the arrows of a pod, one from each mark to each later one of which a fact
// rests on one of its. A fact that only ended a mark which had begun before has none.
func flowsOf(p *timeline.Pod) map[spot]flow {
	at, all, known := spotsOf(p), map[spot]flow{}, map[[2]spot]bool{}
	for _, e := range p.Edges() {
		cause, drawn := at[e.Cause]
		effect, too := at[e.Effect]
		if !drawn || !too || !before(p, cause, effect) || known[[2]spot{cause, effect}] {
			continue
		}
		known[[2]spot{cause, effect}] = true
		h := fnv.New64a()
		_, _ = h.Write([]byte(p.UID + strconv.FormatUint(uint64(e.Cause), 10) + " " + strconv.FormatUint(uint64(e.Effect), 10)))
		from, to := all[cause], all[effect]
		from.out, to.in = append(from.out, h.Sum64()), append(to.in, h.Sum64())
		all[cause], all[effect] = from, to
	}
	return all
}

// before says whether a mark comes before another in the trace.
func before(p *timeline.Pod, a, b spot) bool {
	x, y := p.Lanes[a.lane].Marks[a.mark], p.Lanes[b.lane].Marks[b.mark]
	return x.At < y.At || x.At == y.At && first(x) < first(y)
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
