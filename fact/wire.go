package fact

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// bodies lists every kind of fact there is. A body that is missing here cannot
// be written, so a test that encodes one of each finds it.
var bodies = index(
	SpecSeen{}, ConditionsSeen{}, DeletionSeen{}, Requested{}, Admitted{}, Refused{}, AdoptedStatus{},
	SetUpDone{}, SetUpFailed{}, SandboxLost{}, TornDown{}, ObjectGone{}, Resized{}, ResizeFailed{},
	EvictionNeeded{}, NodeShutdown{}, ReferenceChanged{}, RoomSeen{}, RoomMade{}, ConfigChanged{}, TimePassed{},
	ImagePulling{}, ImageReady{}, ImageFailed{}, Created{}, Started{}, StartFailed{}, Exited{},
	HookRan{}, KillFailed{}, Removed{},
	Probed{}, AskedAgain{}, ProcessEnded{}, Signalled{},
	AgentStarted{}, AgentStopped{}, AgentStalled{}, OOMKilled{}, Sampled{}, Looked{}, NodeSignals{}, ClockStepped{}, PacketsDropped{}, GPUError{}, Lost{}, Checkpoint{},
	SetUp{}, Start{}, Kill{}, BackOff{}, Marked{}, SetPhase{}, SetCondition{}, Evict{}, Resize{},
	Remove{}, TearDown{}, Release{},
	StatusSeen{}, Said{}, Counted{}, KubeletSeen{},
)

// Filled in here, because an act's own decoding asks for the kinds.
func init() { bodies[Act{}.Kind()] = reflect.TypeFor[Act]() }

func index(all ...Body) map[Kind]reflect.Type {
	byKind := make(map[Kind]reflect.Type, len(all))
	for _, b := range all {
		byKind[b.Kind()] = reflect.TypeOf(b)
	}
	return byKind
}

// Kinds lists every kind of fact, sorted.
func Kinds() []Kind {
	kinds := make([]Kind, 0, len(bodies))
	for k := range bodies {
		kinds = append(kinds, k)
	}
	slices.Sort(kinds)
	return kinds
}

// TypeOf is the type of the body of a kind; nil for one that is not known.
func TypeOf(k Kind) reflect.Type { return bodies[k] }

// IsDecided tells decisions from observations.
func IsDecided(b Body) bool {
	if answer, either := b.(judged); either {
		return answer.judgedBy() != 0
	}
	_, ok := b.(Decided)
	return ok
}

// wire is the form on disk and over HTTP, as it is read; [Fact.AppendJSON] writes
// it. Keys are short because a journal holds millions of them.
type wire struct {
	ID        ID            `json:"id"`
	At        time.Time     `json:"at,omitzero"`
	Seen      time.Time     `json:"seen"`
	Mono      time.Duration `json:"mono,omitempty"`
	Boot      string        `json:"boot,omitempty"`
	Pod       Pod           `json:"pod,omitzero"`
	Container string        `json:"ctr,omitempty"`
	Attempt   int32         `json:"try,omitempty"`
	Because   []ID          `json:"because,omitempty"`
	Kind      Kind          `json:"kind"`
	Body      any           `json:"body,omitempty"`
}

// MarshalJSON writes the wire form. It fails on a body of no known kind, and on
// a decision without a reason.
func (f Fact) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil) }

// AppendJSON appends the wire form to b; it fails as MarshalJSON does. The
// envelope is written by hand, because every fact has one and reflection takes
// longer for it than for most bodies.
func (f Fact) AppendJSON(b []byte) ([]byte, error) {
	if f.Body == nil {
		return b, fmt.Errorf("fact %d has no body", f.ID)
	}
	if _, ok := bodies[f.Body.Kind()]; !ok {
		return b, fmt.Errorf("fact %d: %T is not a known kind of fact", f.ID, f.Body)
	}
	if IsDecided(f.Body) && len(f.Because) == 0 {
		return b, fmt.Errorf("fact %d: decision %s names no fact it rests on", f.ID, f.Body.Kind())
	}
	var body []byte
	var err error
	probed, byHand := f.Body.(Probed)
	if !byHand {
		body, err = json.Marshal(f.Body)
	}
	if err != nil {
		return b, fmt.Errorf("fact %d: %w", f.ID, err)
	}
	b = strconv.AppendUint(append(b, `{"id":`...), uint64(f.ID), 10)
	if !f.At.IsZero() {
		b = appendTime(append(b, `,"at":`...), f.At, &err)
	}
	b = appendTime(append(b, `,"seen":`...), f.Seen, &err)
	b = appendInt(b, `,"mono":`, int64(f.Mono))
	b = appendText(b, `,"boot":`, f.Boot)
	if f.Pod != (Pod{}) {
		b = append(b, `,"pod":{`...)
		inside := len(b)
		b = appendText(b, `,"namespace":`, f.Pod.Namespace)
		b = appendText(b, `,"name":`, f.Pod.Name)
		b = appendText(b, `,"uid":`, string(f.Pod.UID))
		b = append(slices.Delete(b, inside, inside+1), '}')
	}
	b = appendText(b, `,"ctr":`, f.Container)
	b = appendInt(b, `,"try":`, int64(f.Attempt))
	for i, id := range f.Because {
		if i == 0 {
			b = append(b, `,"because":[`...)
		} else {
			b = append(b, ',')
		}
		b = strconv.AppendUint(b, uint64(id), 10)
	}
	if len(f.Because) > 0 {
		b = append(b, ']')
	}
	b = appendText(b, `,"kind":`, string(f.Body.Kind()))
	switch {
	case byHand:
		b = probed.appendJSON(append(b, `,"body":`...), &err)
	case string(body) != "{}":
		b = append(append(b, `,"body":`...), body...)
	}
	if err != nil {
		return b, fmt.Errorf("fact %d: %w", f.ID, err)
	}
	return append(b, '}'), nil
}

func appendTime(b []byte, t time.Time, failed *error) []byte {
	b, err := t.AppendText(append(b, '"'))
	if err != nil {
		*failed = err
	}
	return append(b, '"')
}

// appendText appends a key and a string, nothing where the string is empty.
func appendText(b []byte, key, s string) []byte {
	if s == "" {
		return b
	}
	return appendString(append(b, key...), s)
}

// appendInt appends a key and a number, nothing where it is 0.
func appendInt(b []byte, key string, n int64) []byte {
	if n == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), n, 10)
}

// appendString appends a string as encoding/json writes it.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string cannot fail
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// UnmarshalJSON reads the wire form. An unknown kind becomes [Foreign], so that
// a journal written by a newer Whylet can still be read, shown and kept.
func (f *Fact) UnmarshalJSON(data []byte) error {
	var w struct {
		Kind Kind `json:"kind"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("not a fact: %w", err)
	}
	return f.Decode(w.Kind, data)
}

// Decode reads the wire form of a fact whose kind is known, in a fraction of the time that
// UnmarshalJSON takes. Strings of the envelope that f has already are not copied.
func (f *Fact) Decode(kind Kind, data []byte) error {
	if kind == "" {
		return errors.New("not a fact: no kind")
	}
	t, known := bodies[kind]
	if !known {
		t = reflect.TypeFor[json.RawMessage]()
	}
	var w wire
	v := reflect.New(t)
	if !known || !f.scan(&w, v, kind, data) {
		// An interface that holds a pointer is decoded into what it points to.
		v = reflect.New(t)
		w = wire{Body: v.Interface()}
		if err := json.Unmarshal(data, &w); err != nil {
			return fmt.Errorf("not a fact of kind %s: %w", kind, err)
		}
	}
	if w.Kind != kind {
		return fmt.Errorf("fact %d is of kind %s, not %s", w.ID, w.Kind, kind)
	}
	body, ok := v.Elem().Interface().(Body)
	if !known {
		raw, _ := v.Elem().Interface().(json.RawMessage)
		body, ok = Foreign{Name: kind, Raw: raw}, true
	}
	if !ok {
		return fmt.Errorf("%s is not a body", kind)
	}
	if act, isAct := body.(Act); isAct && act.Body == nil {
		return fmt.Errorf("fact %d: an act without a decision", w.ID)
	}
	if IsDecided(body) && len(w.Because) == 0 {
		return fmt.Errorf("fact %d: decision %s names no fact it rests on", w.ID, w.Kind)
	}
	*f = Fact{
		ID: w.ID, At: w.At, Seen: w.Seen, Mono: w.Mono, Boot: w.Boot, Pod: w.Pod,
		Container: w.Container, Attempt: w.Attempt, Because: w.Because, Body: body,
	}
	return nil
}

// Foreign is a fact of a kind that this version does not know.
type Foreign struct {
	Name Kind
	Raw  json.RawMessage
}

// Kind is the foreign kind's own name.
func (f Foreign) Kind() Kind { return f.Name }
func (Foreign) observed()    {}
