package fact

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// Basis says how it is known that somebody else decided something.
type Basis string

// The bases, from the surest to the weakest.
const (
	// Told: who decided it said so, in its log, an event or the pod's status.
	Told Basis = "told"
	// Matched: the effect was seen to be ordered, and by what had been observed until
	// then this order was due.
	Matched Basis = "matched"
	// Deduced: counters and the order of times allow no other reading.
	Deduced Basis = "deduced"
)

// Act is a decision that somebody else made: kubelet, beside which an agent of ours
// only watches. The envelope's Because names what it was concluded from.
type Act struct {
	// By is who decided: kubelet.
	By    string
	Basis Basis
	// Body is the decision in the words of our own. One of a kind that this version
	// does not know is kept as it came.
	Body Decided
}

// Kind is Act; that of what was decided is Act.Body's.
func (Act) Kind() Kind { return "Act" }
func (Act) decided()   {}

// actWire is the form of an act on the wire.
type actWire struct {
	By    string          `json:"by"`
	Basis Basis           `json:"basis"`
	Act   Kind            `json:"act"`
	Body  json.RawMessage `json:"body,omitempty"`
}

// MarshalJSON fails on an act without a decision, and on one within another.
func (a Act) MarshalJSON() ([]byte, error) {
	if a.Body == nil {
		return nil, errors.New("an act without a decision")
	}
	kind := a.Body.Kind()
	if _, nested := a.Body.(Act); nested {
		return nil, errors.New("an act within an act")
	}
	if unknown, ok := a.Body.(foreignAct); ok {
		return json.Marshal(actWire{a.By, a.Basis, kind, unknown.Raw})
	}
	body, err := json.Marshal(a.Body)
	if err != nil {
		return nil, err
	}
	if string(body) == "{}" {
		body = nil
	}
	return json.Marshal(actWire{a.By, a.Basis, kind, body})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (a *Act) UnmarshalJSON(data []byte) error {
	var w actWire
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	body, err := decidedOf(w.Act, w.Body)
	if err != nil {
		return err
	}
	*a = Act{By: w.By, Basis: w.Basis, Body: body}
	return nil
}

func decidedOf(kind Kind, raw json.RawMessage) (Decided, error) {
	t, known := bodies[kind]
	switch {
	case kind == "" || kind == Act{}.Kind():
		return nil, fmt.Errorf("%q is nothing that can be decided", kind)
	case !known:
		return foreignAct{Foreign{Name: kind, Raw: raw}}, nil
	}
	v := reflect.New(t)
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, v.Interface()); err != nil {
			return nil, fmt.Errorf("act %s: %w", kind, err)
		}
	}
	body, ok := v.Elem().Interface().(Decided)
	if !ok {
		return nil, fmt.Errorf("%s is no decision", kind)
	}
	return body, nil
}

// foreignAct is a decision of a kind that this version does not know.
type foreignAct struct{ Foreign }

func (foreignAct) decided() {}
