package corpus

import (
	"bytes"
	"encoding/json"
	"maps"
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
	known, err := labels()
	if err != nil {
		t.Fatal(err)
	}
	var lock sync.Mutex
	needed := map[string]bool{}
	err = eachCase(func(_ string, c Case) {
		for _, other := range c.otherCauses(t, known[c.Scenario]) {
			lock.Lock()
			needed[c.Scenario] = true
			lock.Unlock()
			if excused[c.Scenario] == "" {
				t.Errorf("%s: %s", c.Scenario, other)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range excused {
		if !needed[name] {
			t.Errorf("%s needs no excuse any more: take it out of %s", name, lessFile)
		}
	}
	t.Logf("%d cases have an excuse", len(excused))
}

// otherCauses are the causes that come only with less evidence. What a label calls true, if short of the root, is none; nor
// is app-unhealthy of one whose logs cannot be read, where they lead to another pod: it says itself that it is not well.
func (c Case) otherCauses(t *testing.T, want scenarios.Expected) (others []string) {
	of := slices.Concat([]answer.Cause{want.Cause}, want.Either, want.Short, want.Also)
	var known []answer.Cause
	leads := false
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
		leads = leads || slices.ContainsFunc(a.Verdicts, func(v answer.Verdict) bool { return len(v.Hops) > 0 })
		if leads && step.name == "without logs" {
			known = append(known, answer.AppUnhealthy)
		}
		for cause := range maps.Keys(causes) {
			if i > 0 && causes[cause] && !slices.Contains(known, cause) && !slices.Contains(of, cause) {
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
