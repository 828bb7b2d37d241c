package web

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"whylet.dev/whylet/journal"
)

// Traces of recorded histories are what Perfetto's published schema says, and read by the
// rules of its trace processor each has its slices one after the other on their tracks, and
// each arrow arrives.
func TestTracesByPublishedSchema(t *testing.T) {
	schema := published(t)
	files, err := filepath.Glob("../why/serve/testdata/*.facts")
	if err != nil || len(files) == 0 {
		t.Fatal("no recorded histories:", err)
	}
	arrows := 0
	for _, file := range files {
		source, err := journal.OpenFile(file)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{""} // the node
		for _, p := range source.Pods() {
			if p.Pod.Name != "" {
				names = append(names, p.Pod.Name)
			}
		}
		for _, name := range names {
			namespace := ""
			if name != "" {
				namespace = "default"
			}
			var raw bytes.Buffer
			if err := Trace(&raw, source, namespace, name, ""); err != nil {
				continue // the pod of another namespace
			}
			trace := dynamicpb.NewMessage(schema)
			if err := proto.Unmarshal(raw.Bytes(), trace); err != nil {
				t.Fatal(err)
			}
			known(t, trace)
			p := processor{t: t, of: filepath.Base(file) + " " + name, open: map[uint64]int{}, flows: map[uint64]bool{}}
			p.read(trace)
			arrows += p.arrows
		}
	}
	if arrows < 100 {
		t.Errorf("only %d arrows", arrows)
	}
}

// published is Perfetto's message Trace.
func published(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	text, err := os.ReadFile("testdata/perfetto_trace.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := prototext.Unmarshal(text, &set); err != nil {
		t.Fatal(err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		t.Fatal(err)
	}
	d, err := files.FindDescriptorByName("perfetto.protos.Trace")
	if err != nil {
		t.Fatal(err)
	}
	return d.(protoreflect.MessageDescriptor)
}

// known says which fields and values of a message, and of those in it, the schema has not.
func known(t *testing.T, m protoreflect.Message) {
	t.Helper()
	if len(m.GetUnknown()) > 0 {
		t.Fatalf("%s has fields that are not published: % x", m.Descriptor().FullName(), m.GetUnknown())
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Kind() == protoreflect.EnumKind && !f.IsList():
			if f.Enum().Values().ByNumber(v.Enum()) == nil {
				t.Errorf("%s has no value %d", f.FullName(), v.Enum())
			}
		case f.Kind() == protoreflect.MessageKind && f.IsList():
			for i := range v.List().Len() {
				known(t, v.List().Get(i).Message())
			}
		case f.Kind() == protoreflect.MessageKind:
			known(t, v.Message())
		}
		return true
	})
}

// processor reads a trace as Perfetto's does (src/trace_processor: slice_tracker.cc,
// flow_tracker.cc, track_event_event_importer.h), as far as ours have it: an arrow is known
// from the event on at which it begins, and an end before that is dropped.
type processor struct {
	t      *testing.T
	of     string
	at     uint64
	open   map[uint64]int  // slices on each track
	flows  map[uint64]bool // arrows on their way
	arrows int
}

func (p *processor) read(trace protoreflect.Message) {
	p.t.Helper()
	packets := field(trace, "packet").List()
	for i := range packets.Len() {
		packet := packets.Get(i).Message()
		if d := field(packet, "track_descriptor").Message(); d.IsValid() {
			p.describe(d)
		}
		if e := field(packet, "track_event").Message(); e.IsValid() {
			at := field(packet, "timestamp").Uint()
			if at < p.at {
				p.t.Fatalf("%s: time goes back from %d to %d", p.of, p.at, at)
			}
			p.at = at
			p.event(e)
		}
	}
	for track, n := range p.open {
		if n != 0 {
			p.t.Errorf("%s: track %d has a slice that never ends", p.of, track)
		}
	}
	if len(p.flows) > 0 {
		p.t.Errorf("%s: %d arrows arrive nowhere", p.of, len(p.flows))
	}
}

func (p *processor) describe(d protoreflect.Message) {
	if parent := field(d, "parent_uuid").Uint(); parent != 0 {
		if _, ok := p.open[parent]; !ok {
			p.t.Errorf("%s: a track is below %d, which is none", p.of, parent)
		}
	}
	p.open[field(d, "uuid").Uint()] = 0
}

// The values of TrackEvent.Type.
const sliceBegin, sliceEnd = 1, 2

func (p *processor) event(e protoreflect.Message) {
	track := field(e, "track_uuid").Uint()
	if _, ok := p.open[track]; !ok {
		p.t.Errorf("%s: an event is on track %d, which is none", p.of, track)
	}
	switch field(e, "type").Enum() {
	case sliceBegin:
		p.open[track]++
	case sliceEnd:
		p.open[track]--
	}
	if n := p.open[track]; n < 0 || n > 1 {
		p.t.Errorf("%s: %d slices at once on track %d, at %d", p.of, n, track, p.at)
	}
	begin, end := field(e, "flow_ids").List(), field(e, "terminating_flow_ids").List()
	for i := range begin.Len() {
		p.flows[begin.Get(i).Uint()] = true
	}
	for i := range end.Len() {
		id := end.Get(i).Uint()
		if !p.flows[id] {
			p.t.Errorf("%s: an arrow arrives at %d, before it begins", p.of, p.at)
		}
		delete(p.flows, id)
		p.arrows++
	}
}

func field(m protoreflect.Message, name protoreflect.Name) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(name))
}
