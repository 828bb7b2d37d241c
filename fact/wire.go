package fact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"
)

// bodies lists every kind of fact there is. A body that is missing here cannot
// be written, so a test that encodes one of each finds it.
var bodies = index(
	SpecSeen{}, ConditionsSeen{}, DeletionSeen{}, Requested{}, Admitted{}, Refused{}, AdoptedStatus{},
	SetUpDone{}, SetUpFailed{}, SandboxLost{}, TornDown{}, ObjectGone{}, Resized{}, ResizeFailed{},
	EvictionNeeded{}, ReferenceChanged{}, ConfigChanged{}, TimePassed{},
	ImagePulling{}, ImageReady{}, ImageFailed{}, Created{}, Started{}, StartFailed{}, Exited{},
	HookRan{}, KillFailed{}, Removed{},
	Probed{}, AskedAgain{}, ProcessEnded{}, Signalled{},
	AgentStarted{}, AgentStopped{}, AgentStalled{}, OOMKilled{}, Sampled{}, Looked{}, NodeSignals{}, ClockStepped{}, Lost{}, Checkpoint{},
	SetUp{}, Start{}, Kill{}, BackOff{}, Marked{}, SetPhase{}, SetCondition{}, Evict{}, Resize{},
	Remove{}, TearDown{}, Release{},
)

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

// IsDecided tells decisions from observations.
func IsDecided(b Body) bool {
	_, ok := b.(Decided)
	return ok
}

// wire is the form on disk and over HTTP. Keys are short because a journal
// holds millions of them.
type wire struct {
	ID        ID              `json:"id"`
	At        time.Time       `json:"at,omitzero"`
	Seen      time.Time       `json:"seen"`
	Mono      time.Duration   `json:"mono,omitempty"`
	Boot      string          `json:"boot,omitempty"`
	Pod       *Pod            `json:"pod,omitempty"`
	Container string          `json:"ctr,omitempty"`
	Attempt   int32           `json:"try,omitempty"`
	Because   []ID            `json:"because,omitempty"`
	Kind      Kind            `json:"kind"`
	Body      json.RawMessage `json:"body,omitempty"`
}

// MarshalJSON writes the wire form. It fails on a body of no known kind, and on
// a decision without a reason.
func (f Fact) MarshalJSON() ([]byte, error) {
	if f.Body == nil {
		return nil, fmt.Errorf("fact %d has no body", f.ID)
	}
	if _, ok := bodies[f.Body.Kind()]; !ok {
		return nil, fmt.Errorf("fact %d: %T is not a known kind of fact", f.ID, f.Body)
	}
	if IsDecided(f.Body) && len(f.Because) == 0 {
		return nil, fmt.Errorf("fact %d: decision %s names no fact it rests on", f.ID, f.Body.Kind())
	}
	body, err := json.Marshal(f.Body)
	if err != nil {
		return nil, fmt.Errorf("fact %d: %w", f.ID, err)
	}
	w := wire{
		ID: f.ID, At: f.At, Seen: f.Seen, Mono: f.Mono, Boot: f.Boot,
		Container: f.Container, Attempt: f.Attempt, Because: f.Because, Kind: f.Body.Kind(),
	}
	if f.Pod != (Pod{}) {
		w.Pod = &f.Pod
	}
	if !bytes.Equal(body, []byte("{}")) {
		w.Body = body
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads the wire form. An unknown kind becomes [Foreign], so that
// a journal written by a newer Whylet can still be read, shown and kept.
func (f *Fact) UnmarshalJSON(data []byte) error {
	var w wire
	if err := json.Unmarshal(data, &w); err != nil {
		return fmt.Errorf("not a fact: %w", err)
	}
	if w.Kind == "" {
		return fmt.Errorf("not a fact: no kind")
	}
	body, err := decodeBody(w.Kind, w.Body)
	if err != nil {
		return fmt.Errorf("fact %d: %w", w.ID, err)
	}
	if IsDecided(body) && len(w.Because) == 0 {
		return fmt.Errorf("fact %d: decision %s names no fact it rests on", w.ID, w.Kind)
	}
	*f = Fact{
		ID: w.ID, At: w.At, Seen: w.Seen, Mono: w.Mono, Boot: w.Boot,
		Container: w.Container, Attempt: w.Attempt, Because: w.Because, Body: body,
	}
	if w.Pod != nil {
		f.Pod = *w.Pod
	}
	return nil
}

func decodeBody(kind Kind, data json.RawMessage) (Body, error) {
	t, ok := bodies[kind]
	if !ok {
		return Foreign{Name: kind, Raw: slices.Clone(data)}, nil
	}
	v := reflect.New(t)
	if len(data) > 0 {
		if err := json.Unmarshal(data, v.Interface()); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
	}
	body, ok := v.Elem().Interface().(Body)
	if !ok {
		return nil, fmt.Errorf("%s is not a body", kind)
	}
	return body, nil
}

// Foreign is a fact of a kind that this version does not know.
type Foreign struct {
	Name Kind
	Raw  json.RawMessage
}

// Kind is the foreign kind's own name.
func (f Foreign) Kind() Kind { return f.Name }
func (Foreign) observed()    {}
