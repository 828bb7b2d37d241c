package fact

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

const actLine = `{"id":3,"seen":"2026-11-21T03:50:00Z","because":[1],"kind":"Act","body":`

func TestEveryDecisionMayBeSomebodyElses(t *testing.T) {
	for _, body := range every(t) {
		decided, ok := body.(Decided)
		if _, act := body.(Act); act || !ok {
			continue
		}
		was := Act{By: "kubelet", Basis: Matched, Body: decided}
		data, err := json.Marshal(was)
		if err != nil {
			t.Fatal(err)
		}
		var is Act
		if err := json.Unmarshal(data, &is); err != nil || !reflect.DeepEqual(was, is) {
			t.Errorf("%v: was %+v, is %+v", err, was, is)
		}
	}
}

// A journal of a newer Whylet stays readable, and is written as it was read.
func TestAnActOfAnUnknownKindIsKept(t *testing.T) {
	const line = actLine + `{"by":"kubelet","basis":"told","act":"FromTheFuture","body":{"x":[1,2]}}}`
	var f Fact
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(f); err != nil || string(again) != line {
		t.Errorf("%v: is written as %s", err, again)
	}
}

func TestWhatIsNoActIsNotRead(t *testing.T) {
	for _, body := range []string{`{}`, `{"act":"Act"}`, `{"act":"Exited"}`, `null`, `{"act":"Kill","body":[]}`} {
		var f Fact
		if err := json.Unmarshal([]byte(actLine+body+`}`), &f); err == nil {
			t.Errorf("%s was read as %+v", body, f)
		}
	}
	if _, err := json.Marshal(Fact{ID: 1, Because: []ID{1}, Body: Act{By: "kubelet", Basis: Told}}); err == nil || !strings.Contains(err.Error(), "without a decision") {
		t.Errorf("an act without a decision was written: %v", err)
	}
}
