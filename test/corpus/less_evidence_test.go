package corpus

import (
	"bytes"
	"encoding/json"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/why/answer"
)

// lessFile names the cases in which less evidence gives another cause, each with why.
const lessFile = "testdata/less-evidence.txt"

// TestLessEvidence asks every case with facts, then by the API alone, then without logs, then without
// events: a cause may stay or become unknown, and never become another one.
func TestLessEvidence(t *testing.T) {
	excused, err := ReadReasons(lessFile)
	if err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob("testdata/*.tar.zst")
	if err != nil || len(archives) == 0 {
		t.Fatalf("there are no archives: %v", err)
	}
	var lock sync.Mutex
	needed := map[string]bool{}
	scenarios.SideBySide(len(archives), runtime.GOMAXPROCS(0), func(i int) {
		err := EachOf(archives[i], func(c Case) error {
			for _, other := range c.otherCauses(t) {
				lock.Lock()
				needed[c.Scenario] = true
				lock.Unlock()
				if excused[c.Scenario] == "" {
					t.Errorf("%s: %s", c.Scenario, other)
				}
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", archives[i], err)
		}
	})
	for name := range excused {
		if !needed[name] {
			t.Errorf("%s needs no excuse any more: take it out of %s", name, lessFile)
		}
	}
	t.Logf("%d cases have an excuse", len(excused))
}

// otherCauses are the causes that come only with less evidence.
func (c Case) otherCauses(t *testing.T) (others []string) {
	var known []answer.Cause
	for i, step := range []struct {
		name string
		by   scenarios.Sight
		take func(*Case)
	}{
		{"with facts", scenarios.ByAgent, func(*Case) {}},
		{"by the API alone", scenarios.ByAPI, func(*Case) {}},
		{"without logs", scenarios.ByAPI, func(c *Case) { c.Logs = nil }},
		{"without events", scenarios.ByAPI, func(c *Case) { c.Objects = slices.DeleteFunc(slices.Clone(c.Objects), isEvent) }},
	} {
		less := *c.Case
		c.Case = &less
		step.take(&c)
		a, err := c.Ask(t.Context(), step.by)
		if err != nil {
			return others // nothing is left of it
		}
		causes := causesOf(a)
		for cause := range maps.Keys(causes) {
			if i > 0 && causes[cause] && !slices.Contains(known, cause) {
				others = append(others, step.name+": "+string(cause)+", which was none of its causes")
			}
		}
		known = slices.AppendSeq(known[:0], maps.Keys(causes))
	}
	return others
}

// causesOf are the causes that an answer names; those of its verdicts are marked.
func causesOf(a answer.Answer) map[answer.Cause]bool {
	all := map[answer.Cause]bool{}
	for _, v := range a.Verdicts {
		beside := []answer.Cause{v.Own}
		for _, n := range v.Contributing {
			beside = append(beside, n.Cause)
		}
		for _, cause := range beside {
			if !all[cause] {
				all[cause] = false
			}
		}
		if v.Cause != answer.CauseUnknown && v.Cause != answer.None {
			all[v.Cause] = true
		}
	}
	return all
}

func isEvent(raw json.RawMessage) bool {
	var of struct {
		Kind string `json:"kind"`
	}
	return bytes.Contains(raw, []byte(`"Event"`)) && json.Unmarshal(raw, &of) == nil && of.Kind == "Event"
}
