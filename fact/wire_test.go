package fact

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

// every gives one body of each kind, with every field that JSON can carry set.
func every(t *testing.T) []Body {
	t.Helper()
	all := make([]Body, 0, len(bodies))
	for _, kind := range Kinds() {
		v := reflect.New(bodies[kind]).Elem()
		fill(v, 0)
		body, ok := v.Interface().(Body)
		if !ok {
			t.Fatalf("%s is not a body", kind)
		}
		all = append(all, body)
	}
	return all
}

// fill sets fields to something that is not zero, a few levels deep.
func fill(v reflect.Value, depth int) {
	if depth > 3 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 11, 21, 3, 50, 0, 5, time.UTC)))
			return
		}
		if !strings.HasPrefix(v.Type().PkgPath(), "whylet.dev/") {
			return // Kubernetes' own types have tests of their own
		}
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"a":1}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Interface:
		if v.Type() == reflect.TypeFor[Decided]() {
			v.Set(reflect.ValueOf(Kill{Reason: KillLiveness, Message: "x", GraceSeconds: 7}))
		}
	case reflect.Map:
		if v.Type() == reflect.TypeFor[map[string]string]() {
			v.Set(reflect.ValueOf(map[string]string{"x": "y"}))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	}
}

func TestEveryKindSurvivesTheWire(t *testing.T) {
	for _, body := range every(t) {
		t.Run(string(body.Kind()), func(t *testing.T) {
			f := Fact{
				ID: 9, At: time.Unix(1, 2).UTC(), Seen: time.Unix(3, 4).UTC(), Mono: 5, Boot: "b",
				Pod: Pod{"ns", "name", "uid"}, Container: "c", Attempt: 2, Because: []ID{4}, Body: body,
			}
			data, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			var back Fact
			if err := json.Unmarshal(data, &back); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(f, back) {
				t.Errorf("was %+v\nis  %+v", f, back)
			}
		})
	}
}

// texts are strings of all sorts.
var texts = rapid.OneOf(rapid.SampledFrom([]string{"", "app", `a"b\c`, "<&>", "\x00\x7f", "\xff", "Größe", "\u2028"}), rapid.String())

// anyFact has one of some bodies.
func anyFact(t *rapid.T, bodies []Body) Fact {
	times := rapid.Map(rapid.Int64Range(-1e18, 4e18), func(n int64) time.Time { return time.Unix(0, n).UTC() })
	f := Fact{
		ID: ID(rapid.Uint64().Draw(t, "id")), Seen: times.Draw(t, "seen"), Mono: time.Duration(rapid.Int64().Draw(t, "mono")),
		Boot: texts.Draw(t, "boot"), Container: texts.Draw(t, "container"), Attempt: rapid.Int32().Draw(t, "attempt"),
		Pod:     Pod{Namespace: texts.Draw(t, "namespace"), Name: texts.Draw(t, "name"), UID: types.UID(texts.Draw(t, "uid"))},
		Because: []ID{1, 2, 3}[:rapid.IntRange(1, 3).Draw(t, "reasons")],
		Body:    rapid.SampledFrom(bodies).Draw(t, "body"),
	}
	if rapid.Bool().Draw(t, "known when") {
		f.At = times.Draw(t, "at")
	}
	return f
}

// What is written by hand must be what encoding/json would write.
func TestTheEnvelopeIsEncodedAsByReflection(t *testing.T) {
	all := every(t)
	rapid.Check(t, func(t *rapid.T) {
		f := anyFact(t, all)
		w := wire{
			ID: f.ID, At: f.At, Seen: f.Seen, Mono: f.Mono, Boot: f.Boot, Pod: f.Pod,
			Container: f.Container, Attempt: f.Attempt, Because: f.Because, Kind: f.Body.Kind(), Body: f.Body,
		}
		if reflect.TypeOf(f.Body).NumField() == 0 {
			w.Body = nil
		}
		want, err := json.Marshal(w)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := f.MarshalJSON(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
		}
	})
}

// byReflection reads a fact as encoding/json does.
func byReflection(kind Kind, data []byte) (Fact, error) {
	v := reflect.New(bodies[kind])
	w := wire{Body: v.Interface()}
	err := json.Unmarshal(data, &w)
	body, _ := v.Elem().Interface().(Body)
	return Fact{ID: w.ID, At: w.At, Seen: w.Seen, Mono: w.Mono, Boot: w.Boot, Pod: w.Pod, Container: w.Container, Attempt: w.Attempt, Because: w.Because, Body: body}, err
}

// byHand reads a fact by hand alone.
func byHand(kind Kind, data []byte, like Fact) (Fact, bool) {
	var w wire
	v := reflect.New(bodies[kind])
	ok := like.scan(&w, v, kind, data)
	body, _ := v.Elem().Interface().(Body)
	return Fact{ID: w.ID, At: w.At, Seen: w.Seen, Mono: w.Mono, Boot: w.Boot, Pod: w.Pod, Container: w.Container, Attempt: w.Attempt, Because: w.Because, Body: body}, ok
}

// anyLook has some of what a look may have.
func anyLook(t *rapid.T) Looked {
	some := func(what string) bool { return rapid.Bool().Draw(t, what) }
	l := Looked{PID: rapid.Int().Draw(t, "pid"), State: texts.Draw(t, "state"), Over: time.Duration(rapid.Int64().Draw(t, "over")), Calm: some("calm")}
	if some("files") {
		l.Files = &Files{Open: 1, Most: rapid.IntRange(0, 1).Draw(t, "most")}
	}
	if some("stopped") {
		l.Stopped = &StoppedProcess{State: texts.Draw(t, "stopped")}
	}
	for range rapid.IntRange(0, 2).Draw(t, "listeners") {
		l.Listeners = append(l.Listeners, Listener{Address: texts.Draw(t, "address"), Backlog: rapid.Int().Draw(t, "backlog"), Other: some("other"), Paused: some("paused")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "open") {
		l.Open = append(l.Open, Dial{Remote: texts.Draw(t, "remote"), Other: some("other"), Heard: time.Duration(rapid.Int64().Draw(t, "heard"))})
	}
	for range rapid.IntRange(0, 2).Draw(t, "said") {
		l.Said, l.SaidAt = append(l.Said, texts.Draw(t, "line")), append(l.SaidAt, time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0).UTC())
	}
	return l
}

// What is written is read by hand, and as encoding/json would read it.
func TestWhatIsWrittenIsReadByHand(t *testing.T) {
	all := every(t)
	rapid.Check(t, func(t *rapid.T) {
		f := anyFact(t, all)
		switch rapid.IntRange(0, 3).Draw(t, "which") {
		case 0:
			f.Body = anyAttempt(t)
		case 1:
			f.Body = anyLook(t)
		}
		data, err := f.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		want, err := byReflection(f.Body.Kind(), data)
		if err != nil {
			t.Fatal(err)
		}
		like := rapid.SampledFrom([]Fact{{}, f, {Boot: "b", Pod: Pod{Name: "n"}}}).Draw(t, "like")
		if got, ok := byHand(f.Body.Kind(), data, like); !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%v\ngot  %+v\nwant %+v\nof %s", ok, got, want, data)
		}
	})
}

// Whatever is read by hand, encoding/json would have read so.
func FuzzScan(f *testing.F) {
	for _, line := range []string{
		`{"id":1,"at":"2026-11-21T03:50:00.5Z","seen":"2026-11-21T03:50:00Z","mono":7,"boot":"b","pod":{"namespace":"n","name":"p","uid":"u"},"ctr":"c","try":2,"because":[3,4],"kind":"Probed","body":{"probe":"Liveness","verdict":"Failure","message":"a\u003cb","took":1,"evidence":{"handler":"httpGet","target":"t","connect":5,"status":200,"header":{"A":"b"},"exitCode":-1,"timeout":true,"errno":"E"},"count":3,"until":"2026-11-21T03:50:00Z","latency":[1,2],"by":"tap"}}`,
		`{"id":2,"seen":"2026-11-21T03:50:00Z","pod":{},"because":[1],"kind":"Kill","body":{"reason":"LivenessProbe","message":"m","graceSeconds":-1}}`,
		`{"id":3,"seen":"2026-11-21T03:50:00Z","kind":"TimePassed"}`,
		`{"id":5,"seen":"2026-11-21T03:50:00Z","kind":"SetCondition","body":{"condition":{"type":"Ready","observedGeneration":1,"status":"False","lastProbeTime":null,"lastTransitionTime":"2026-11-21T03:50:00Z","reason":"ContainersNotReady"}}}`,
		`{"id":8,"seen":"2026-11-21T03:50:00Z","kind":"Looked","body":{"pid":1,"state":"S","processes":2,"commands":["a"],"cpuUsed":1,"over":2,"listeners":[{"address":":80","pid":1,"state":"S","backlog":3,"v6Only":true}],"files":{"pid":1,"open":3,"limit":9},"stopped":{"pid":2,"state":"T"},"open":[{"remote":"a:1","pid":1,"unanswered":5}],"said":["a","b\u003c"],"saidAt":["2026-11-21T03:50:00Z"],"calm":true}}`,
		`{"id":6,"seen":"2026-11-21T03:50:00Z","kind":"Marked","body":{"ready":true,"started":false}}`,
		`{"id":7,"seen":"2026-11-21T03:50:00Z","kind":"BackOff","body":{"what":"container","delay":1,"until":"2026-11-21T03:50:00Z","message":"m"}}`,
		`{"id":4,"seen":"2026-11-21T03:50:00Z","kind":"Sampled","body":{"memoryCurrent":1,"pids":4,"cpuSome":-7}}`,
	} {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, kind := range []Kind{"Probed", "Sampled", "Kill", "TimePassed", "SetCondition", "Marked", "BackOff", "Created", "Looked"} {
			got, ok := byHand(kind, data, Fact{})
			if !ok {
				continue
			}
			if want, err := byReflection(kind, data); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("got  %+v\nwant %+v (%v)\nof %s", got, want, err, data)
			}
		}
	})
}

func TestAFactOfAnotherKindIsNotDecoded(t *testing.T) {
	var f Fact
	if err := f.Decode("Started", []byte(`{"id":1,"seen":"2026-11-21T03:50:00Z","kind":"Removed"}`)); err == nil {
		t.Errorf("read %+v", f)
	}
}

func TestDecisionsNeedAReason(t *testing.T) {
	f := Fact{ID: 1, Seen: time.Unix(1, 0).UTC(), Body: Kill{Reason: KillLiveness}}
	if _, err := json.Marshal(f); err == nil {
		t.Error("a decision without reason was written")
	}
	var back Fact
	if err := json.Unmarshal([]byte(`{"id":1,"seen":"2026-11-21T03:50:00Z","kind":"Kill"}`), &back); err == nil {
		t.Error("a decision without reason was read")
	}
}

func TestUnknownKindIsKept(t *testing.T) {
	const line = `{"id":1,"seen":"2026-11-21T03:50:00Z","kind":"FromTheFuture","body":{"x":[1,2]}}`
	var f Fact
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		t.Fatal(err)
	}
	foreign, ok := f.Body.(Foreign)
	if !ok || foreign.Kind() != "FromTheFuture" || string(foreign.Raw) != `{"x":[1,2]}` {
		t.Errorf("read %+v", f.Body)
	}
}

func TestDecisionBecomesFact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.Map(rapid.Uint64Min(1), func(n uint64) ID { return ID(n) }), 1, 5).Draw(t, "because")
		d := Decide("c", 3, Start{}, ids[0], ids[1:]...)
		cause := Fact{ID: 5, Seen: time.Unix(8, 0).UTC(), Mono: 6, Boot: "b", Pod: Pod{UID: "u"}}
		f := d.Fact(7, cause)
		if f.ID != 7 || !slices.Equal(f.Because, ids) || f.Pod != cause.Pod || f.Seen != cause.Seen || f.Container != "c" || f.Attempt != 3 {
			t.Fatalf("became %+v", f)
		}
	})
}

func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"id":1,"seen":"2026-11-21T03:50:00Z","kind":"Probed","body":{"probe":"Liveness","verdict":"Failure","took":1}}`))
	f.Add([]byte(`{"id":2,"kind":"Kill","because":[1],"body":{"reason":"LivenessProbe","message":"m","graceSeconds":-1}}`))
	f.Add([]byte(`{"kind":"Exited","body":null}`))
	f.Add([]byte(`{"id":3,"kind":"Act","because":[1],"body":{"by":"kubelet","basis":"told","act":"Kill","body":{"reason":"LivenessProbe"}}}`))
	f.Add([]byte(`{"id":3,"kind":"Act","because":[1],"body":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var fact Fact
		if json.Unmarshal(data, &fact) != nil {
			return
		}
		again, err := json.Marshal(fact)
		if _, foreign := fact.Body.(Foreign); err != nil {
			if foreign {
				return // a kind that this version must not write
			}
			t.Fatalf("was read, but cannot be written: %v", err)
		}
		var back Fact
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("was written, but cannot be read: %v: %s", err, again)
		}
	})
}
