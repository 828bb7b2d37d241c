package perfetto

import (
	"bytes"
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/web/timeline"
)

// A trace has a slice for what lasts, an instant for what does not, a value for a
// point, and an arrow from a cause to its effect.
func TestTrace(t *testing.T) {
	d := timeline.Document{Pods: []timeline.Pod{{
		Namespace: "shop", Name: "web-1", UID: "u",
		Lanes: []timeline.Lane{
			{Group: "app", Name: "Runs", Form: "bars", Marks: []timeline.Mark{
				{At: 1000, Until: 3000, Shape: timeline.Bar, Label: "runs", Facts: []fact.ID{1}},
				{At: 3000, Shape: timeline.Cross, Label: "exit 137", Facts: []fact.ID{2}},
			}},
			{Group: "app", Name: "Memory", Form: "curves", Unit: "bytes", Curves: []timeline.Curve{{Name: "memory", Points: []timeline.Point{{At: 2000, Value: 4096}}}}},
		},
		Facts: map[fact.ID]timeline.Recorded{
			1: {Text: "it started", Fact: json.RawMessage(`{"id":1}`)},
			2: {Text: "it ended", Fact: json.RawMessage(`{"id":2,"because":[1]}`)},
		},
	}}}
	trace := Trace(d)
	if !bytes.Equal(trace, Trace(d)) {
		t.Error("the same document gives another trace")
	}
	types := map[uint64]int{}
	tracks, flows, ends, last := 0, 0, 0, uint64(0)
	each(t, trace, func(_ protowire.Number, packet []byte, _ uint64) {
		each(t, packet, func(field protowire.Number, body []byte, v uint64) {
			switch field {
			case packetTimestamp:
				if v < last {
					t.Errorf("time goes back from %d to %d", last, v)
				}
				last = v
			case packetDescriptor:
				tracks++
			case packetEvent:
				each(t, body, func(field protowire.Number, _ []byte, v uint64) {
					switch field {
					case eventType:
						types[v]++
					case eventFlow:
						flows++
					case eventFlowEnds:
						ends++
					}
				})
			}
		})
	})
	if types[sliceBegin] != 1 || types[sliceEnd] != 1 || types[instant] != 1 || types[counter] != 1 || flows != 1 || ends != 1 {
		t.Errorf("events %v, %d arrows begin, %d end", types, flows, ends)
	}
	if tracks != 5 || last != 3000*1_000_000 {
		t.Errorf("%d tracks until %d", tracks, last)
	}
}

// each calls f for every field of a message.
func each(t *testing.T, b []byte, f func(protowire.Number, []byte, uint64)) {
	t.Helper()
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal("not a tag")
		}
		b = b[n:]
		var body []byte
		var v uint64
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		default:
			body, n = protowire.ConsumeBytes(b)
		}
		if n < 0 {
			t.Fatal("cut short")
		}
		f(field, body, v)
		b = b[n:]
	}
}
