package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
)

// schema is the part of JSON Schema (draft 2020-12) that docs/answer.schema.json uses.
type schema struct {
	Ref                  string             `json:"$ref"`
	Defs                 map[string]*schema `json:"$defs"`
	Type                 any                `json:"type"`
	Const                any                `json:"const"`
	Enum                 []any              `json:"enum"`
	Format               string             `json:"format"`
	Minimum, Maximum     *float64
	Required             []string
	Properties           map[string]*schema
	AdditionalProperties *bool
	Items                *schema

	Schema, ID, Title, Description string `json:"-"`
}

// check says where a value is not as the schema has it.
func (s *schema) check(root *schema, at string, value any) (wrong []string) {
	if s.Ref != "" {
		return root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")].check(root, at, value)
	}
	say := func(format string, args ...any) { wrong = append(wrong, at+": "+fmt.Sprintf(format, args...)) }
	if s.Const != nil && value != s.Const || s.Enum != nil && !slices.Contains(s.Enum, value) {
		say("%v is not one of %v%v", value, s.Enum, s.Const)
	}
	if types, ok := s.Type.([]any); s.Type != nil && !(ok && slices.Contains(types, any(typeOf(value)))) && !(!ok && s.Type == typeOf(value)) {
		say("%v is no %v", value, s.Type)
	}
	switch v := value.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339Nano, v); s.Format == "date-time" && err != nil {
			say("%v", err)
		}
	case float64:
		if s.Minimum != nil && v < *s.Minimum || s.Maximum != nil && v > *s.Maximum {
			say("%v is out of bounds", v)
		}
	case []any:
		for i, item := range v {
			wrong = append(wrong, s.Items.check(root, fmt.Sprintf("%s[%d]", at, i), item)...)
		}
	case map[string]any:
		for _, name := range s.Required {
			if _, ok := v[name]; !ok {
				say("%s is missing", name)
			}
		}
		for name, item := range v {
			if p := s.Properties[name]; p != nil {
				wrong = append(wrong, p.check(root, at+"."+name, item)...)
			} else if s.AdditionalProperties != nil && !*s.AdditionalProperties {
				say("%s is not described", name)
			}
		}
	}
	return wrong
}

func typeOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if v == math.Trunc(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	raw, err := os.ReadFile("../../docs/answer.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s := &schema{}
	if err := json.Unmarshal(raw, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func asJSON(t *testing.T, value any) any {
	t.Helper()
	raw, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// What scripts are promised of an answer is so: of those about the recorded histories,
// and of one that has everything an answer can have.
func TestAnswersFitTheSchema(t *testing.T) {
	s := readSchema(t)
	files, err := filepath.Glob("testdata/*.facts")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := journal.OpenFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range source.Pods() {
			if p.Pod.Name == "" {
				continue
			}
			q := Question{Namespace: p.Pod.Namespace, Name: p.Pod.Name, UID: p.Pod.UID}
			q.Now = source.Stats().Last
			a, err := One(source, q)
			if err != nil {
				t.Fatal(file, err)
			}
			for _, wrong := range s.check(s, file, asJSON(t, a)) {
				t.Error(wrong)
			}
		}
	}
	for _, wrong := range s.check(s, "full", asJSON(t, fullAnswer())) {
		t.Error(wrong)
	}
}

// fullAnswer has something in each field.
func fullAnswer() answer.Answer {
	at := time.Date(2026, 11, 21, 5, 0, 0, 1, time.UTC)
	a := answer.New(answer.Subject{Kind: "Pod", Namespace: "shop", Name: "web-1", UID: "u1"}, at, answer.Coverage{
		From: at, Complete: true, Gaps: []answer.Gap{{From: at, To: at, Reason: "kernel: overrun"}},
	})
	notes := []answer.Note{{Cause: answer.DiskFull, Text: "no", Facts: nil}}
	told := answer.Told{Quotes: []answer.Quote{{Role: answer.RoleLog, Text: "no"}}, Needs: []answer.Need{{Place: "db:5432", Awaited: true}}}
	a.Put(answer.Symptom{Kind: answer.Restarted, Pod: "web-1", Container: "app", Count: 2, First: at, Last: at, Text: "again"}, answer.Verdict{
		Cause: answer.CauseUnknown, Certainty: answer.Unknown, Rule: "r", By: "kubelet", Basis: "told", Container: "app", Text: "It is not known.",
		Parts:        answer.Parts{Subject: "container app", What: "It is not known.", Because: []string{"a"}, Then: []string{"b"}},
		Chain:        []answer.Link{{Fact: 7, At: at, Kind: "Exited", Text: "it ended", Evidence: map[string]any{"exitCode": 1}, Status: 503, SignedBy: "nginx", Outcome: "Failure", TimedOut: true}},
		Contributing: notes, RuledOut: notes, Fixes: []answer.Fix{{Text: "look", Command: "kubectl get pods", Risk: answer.Inspect, ID: answer.StepExec, Target: "pod/shop/web-1", Slots: answer.Slots{answer.SlotContainer: "app"}, Variables: []string{"DB_HOST"}}},
		Told: told, Probe: "Liveness", Own: answer.AppHang, Pod: "shop/db-0", Hops: []answer.Hop{{Policy: "shop/deny", Service: "shop/db", Job: "shop/load", Pod: "shop/db-0", By: "it asks db", Cause: answer.AppHang, Text: "It hangs.", Told: told, Chain: []answer.Link{{Fact: 8, At: at, Kind: "Looked", Text: "idle"}}}},
		Repeats:   []answer.Repeat{{Container: "app", Text: "it broke", Count: 3, First: at, Last: at}},
		TakesDown: []answer.Hop{{Pod: "shop/api-0", By: "it asks web", Cause: answer.AppHang, Text: "It waits."}}, SteadySince: at,
		InCommon: []answer.Common{{
			Kind: answer.CommonRevision, Name: "deployment/web, revision 2", Certainty: answer.Inferred, Text: "It came with revision 2.",
			With: answer.Tally{Failing: 3, All: 3}, Without: answer.Tally{All: 5}, Nodes: 2, Changes: []string{"image of container app"},
		}},
		LastWords: []string{"bye"}, Entries: []string{"acme.bye"}, Possible: []answer.Cause{answer.AppHang}, Missing: "Somebody who looked.",
	})
	busy := 0.5
	a.Well, a.Listening = 3, &answer.Listening{At: at, Ports: []int32{8080}, Room: []int32{8080}, Loopback: []int32{9090}, From: []string{"10.42.0.7"}, Busy: &busy, Throttled: "its own CPU limit"}
	a.Reaches = []answer.Reach{{Container: "app", Place: "db:5432", How: answer.ReachSaid, Heard: true, Since: a.AsOf, Text: "connection refused", Said: "connection refused", Fact: 7}}
	a.Complaints = []answer.Complaint{{Container: "app", Text: "no space left on device", Another: true, Before: true, Cause: answer.DiskFull, Means: "That means: full.", Fixes: []answer.Fix{{Text: "look", Risk: answer.Inspect}}, Entries: []string{"acme.full"}, Fact: 7}}
	a.Changes = []answer.Changed{{At: at, Text: "ConfigMap settings was changed", Object: "ConfigMap", Name: "settings", Fact: 6}}
	return a
}

// The schema names every cause, and everything that it has is in a full answer: a
// field of which no answer can have anything is promised to nobody.
func TestSchemaIsComplete(t *testing.T) {
	s := readSchema(t)
	var causes []string
	for _, c := range s.Defs["cause"].Enum {
		causes = append(causes, fmt.Sprint(c))
	}
	var want []string
	for _, c := range answer.Causes {
		want = append(want, string(c))
	}
	if !slices.Equal(causes, want) {
		t.Errorf("causes are %v, want %v", causes, want)
	}
	full, err := json.Marshal(fullAnswer())
	if err != nil {
		t.Fatal(err)
	}
	for of, d := range map[string]*schema{"answer": s, "verdict": s.Defs["verdict"], "symptom": s.Defs["symptom"], "link": s.Defs["link"], "fix": s.Defs["fix"], "parts": s.Defs["parts"], "journal": s.Defs["journal"], "gap": s.Defs["gap"], "common": s.Defs["common"], "tally": s.Defs["tally"], "hop": s.Defs["hop"], "reach": s.Defs["reach"], "complaint": s.Defs["complaint"], "changed": s.Defs["changed"], "quote": s.Defs["quote"], "need": s.Defs["need"], "listening": s.Defs["listening"]} {
		for name := range d.Properties {
			if !strings.Contains(string(full), `"`+name+`":`) {
				t.Errorf("no %s has %s", of, name)
			}
		}
	}
	broken := asJSON(t, fullAnswer()).(map[string]any)
	broken["asOf"], broken["new"] = "yesterday", 1
	delete(broken, "subject")
	if wrong := s.check(s, "broken", any(broken)); len(wrong) != 3 {
		t.Errorf("three things are wrong, found %v", wrong)
	}
}
