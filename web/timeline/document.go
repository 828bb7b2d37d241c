package timeline

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/whatif"
)

// Kind of a document.
const Kind = "Timeline"

// Document is all that a page shows. Times are milliseconds since 1970, which
// JavaScript reads without loss.
type Document struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Subject    answer.Subject `json:"subject"`
	AsOf       int64          `json:"asOf"`
	// From and Until bound everything that is drawn, Trouble what the first verdict
	// rests on.
	From    int64    `json:"from"`
	Until   int64    `json:"until"`
	Trouble [2]int64 `json:"trouble"`
	// Rows are the answer, as a terminal says it.
	Rows []answer.Row `json:"rows"`
	// Ask is the command that asks the same again.
	Ask  string `json:"ask"`
	Pods []Pod  `json:"pods"`
	// Others are pods of the answer whose facts did not come along.
	Others []Other `json:"others,omitempty"`
	// Page is where a server has the pages of other things, below its own address; empty
	// in a file, which has none beside it.
	Page string `json:"page,omitempty"`
}

// Other is a pod that the answer tells of and that has no lanes here.
type Other struct {
	Namespace string             `json:"namespace,omitempty"`
	Name      string             `json:"name"`
	Symptom   answer.SymptomKind `json:"symptom"`
	Text      string             `json:"text,omitempty"`
}

// Pod is what is known of one pod, or of a node (then its Name is the node's).
type Pod struct {
	Kind      string `json:"kind"` // Pod or Node
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
	Node      string `json:"node,omitempty"`
	// Symptom is the first that the answer tells of it, where that is about several.
	Symptom answer.SymptomKind `json:"symptom,omitempty"`
	Lanes   []Lane             `json:"lanes"`
	// Facts are those behind the marks and what these rest on, by their numbers.
	// With many of them some are left out; Total says how many there were.
	Facts map[fact.ID]Recorded `json:"facts"`
	Total int                  `json:"total"`
	// WhatIf has, for the settings that can be tried, what they would have changed.
	WhatIf []Trial `json:"whatIf,omitempty"`
}

// Recorded is a fact in words and as it is.
type Recorded struct {
	Text string          `json:"text"`
	Fact json.RawMessage `json:"fact"`
}

// Lane is one row of marks on the clock.
type Lane struct {
	ID    string `json:"id"`
	Group string `json:"group"`
	Name  string `json:"name"`
	// Form is how it is drawn: bars (one row), heights (marks as high as their Value)
	// or curves.
	Form string `json:"form"`
	// Unit of values: ms, bytes, cores, share (0 to 1), processes.
	Unit   string  `json:"unit,omitempty"`
	Limits []Limit `json:"limits,omitempty"`
	Curves []Curve `json:"curves,omitempty"`
	Marks  []Mark  `json:"marks"`
	Note   string  `json:"note,omitempty"`
}

// Limit is a line that values are measured against, from a time on.
type Limit struct {
	Name  string  `json:"name"`
	From  int64   `json:"from"`
	Until int64   `json:"until"`
	Value float64 `json:"value"`
}

// Curve is a line of values. A point whose Break is set is not joined with the one
// before it: nobody looked in between, or another run began.
type Curve struct {
	Name string `json:"name"`
	// Style is area, part (an area below another) or line.
	Style  string  `json:"style"`
	Points []Point `json:"points"`
}

// Point is a value at a time, and the fact that has it.
type Point struct {
	At    int64   `json:"t"`
	Value float64 `json:"v"`
	Fact  fact.ID `json:"f,omitempty"`
	Break bool    `json:"b,omitempty"`
}

// Shape says how a mark looks; shapes differ, not only colours.
type Shape string

// The shapes.
const (
	Bar     Shape = "bar"
	Hatched Shape = "hatched" // waiting
	Absent  Shape = "absent"  // nobody looked
	Band    Shape = "band"    // many equal attempts
	Tick    Shape = "tick"
	Hollow  Shape = "hollow" // a patient request
	Cross   Shape = "cross"  // an end by force, a failure
	Dot     Shape = "dot"
	Diamond Shape = "diamond" // a decision
	Flag    Shape = "flag"    // people and words
)

// Tone says whether a mark is good or bad news.
type Tone string

// The tones.
const (
	Good  Tone = "good"
	Bad   Tone = "bad"
	Warn  Tone = "warn"
	Calm  Tone = "calm"
	Plain Tone = "plain"
)

// Mark is something at a time, or over one.
type Mark struct {
	At    int64 `json:"at"`
	Until int64 `json:"until,omitempty"`
	Shape Shape `json:"shape"`
	Tone  Tone  `json:"tone"`
	// Label is short and stands on the mark, where there is room.
	Label string `json:"label,omitempty"`
	// Text says what it is; empty: what its first fact says.
	Text  string  `json:"text,omitempty"`
	Value float64 `json:"value,omitempty"`
	// Count is how many equal ones it stands for, above one; Latency their histogram
	// by fact.LatencyBounds.
	Count   int64     `json:"count,omitempty"`
	Latency []int64   `json:"latency,omitempty"`
	Facts   []fact.ID `json:"facts,omitempty"`
	// Open is set for what had not ended.
	Open bool `json:"open,omitempty"`
}

// Trial is a setting, or several together, with other values.
type Trial struct {
	Container string  `json:"container"`
	Settings  []Knob  `json:"settings"`
	Results   []Tried `json:"results"`
	// Grid has, for every combination of the settings' values (the last setting
	// changes fastest), the index of its result; -1 where the API server would refuse it.
	Grid []int `json:"grid"`
}

// Knob is a setting with the values that were tried; Now is the index of what is set,
// -1 where it is not set.
type Knob struct {
	Field  string   `json:"field"`
	Values []string `json:"values"`
	Now    int      `json:"now"`
}

// Tried is what one combination would have changed.
type Tried struct {
	Restarts []Outcome   `json:"restarts"`
	Out      whatif.Span `json:"outOfService"`
	NotKnown []string    `json:"notKnown,omitempty"`
}

// Outcome is what would have become of a restart.
type Outcome struct {
	At      int64          `json:"at"`
	Attempt int32          `json:"attempt"`
	Outcome whatif.Outcome `json:"outcome"`
	Text    string         `json:"text"`
}

func ms(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

// Edge says that one fact rests on another.
type Edge struct{ Cause, Effect fact.ID }

// Edges are those between the facts that came along, by effect and then as the effect
// names them.
func (p *Pod) Edges() []Edge {
	var all []Edge
	for _, id := range slices.Sorted(maps.Keys(p.Facts)) {
		var f struct {
			Because []fact.ID `json:"because"`
		}
		if json.Unmarshal(p.Facts[id].Fact, &f) != nil {
			continue // what was written as a fact is one
		}
		for _, on := range f.Because {
			all = append(all, Edge{on, id})
		}
	}
	return all
}
