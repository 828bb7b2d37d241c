package scenarios

import (
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"whylet.dev/whylet/why/answer"
)

// leastRight is the share of scenarios that the agent beside a real kubelet explains
// rightly within the patience; docs/results.md has what the benchmark measures.
const leastRight = 0.9

// leastLater is the share of them that is explained by an agent that was installed when all
// had happened, and mostWrongLater how many it may explain wrongly.
const (
	leastLater     = 0.6
	mostWrongLater = 1
)

// A third of the scenarios, the same ones every time, beside a real kubelet. What is
// wrong and called recorded fails the test at once, however much else is right.
func TestObserve(t *testing.T) {
	if os.Getenv("WHYLET_OBSERVE") == "" {
		t.Skip("it runs a real kubelet with the agent beside it: make test-observe")
	}
	all := third(t)
	node := besideKubelet(t, nil)
	s := &Suite{Node: node, Patience: min(patience(t), 2*time.Minute), Every: 2 * time.Second}
	if err := s.Prepare(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	var lock sync.Mutex
	right := 0
	var later []Scenario
	SideBySide(len(all), width(t), func(i int) {
		r := s.one(t.Context(), &all[i], Live, nil)[0]
		lock.Lock()
		defer lock.Unlock()
		if graded(t, r) {
			right++
		}
		if endedBefore(&all[i]) {
			later = append(later, all[i])
		} else if err := s.End(t.Context(), &all[i]); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%d of %d are right", right, len(all))
	if share := float64(right) / float64(len(all)); share < leastRight {
		t.Errorf("%d of %d are answered rightly, %.0f %%", right, len(all), 100*share)
	}
	installedLate(t, s, later)
}

// endedBefore says whether a scenario is about what was over, and takes no processor from the
// others while it waits.
func endedBefore(c *Scenario) bool {
	busy := []answer.Cause{answer.CPUThrottled, answer.AppOverloaded, answer.NodeCPUSaturated}
	return slices.Contains([]answer.SymptomKind{answer.Restarted, answer.NotStarting, answer.Failed, answer.Evicted}, c.Want.Symptom) && !slices.Contains(busy, c.Want.Cause)
}

// graded says whether a result counts as right. One that is wrong and called recorded fails
// the test.
func graded(t *testing.T, r Result) bool {
	t.Helper()
	for _, one := range r.Samples {
		if one.Overstated {
			t.Errorf("%s, %s: wrong, and called recorded: %s", r.Scenario.Name, r.Situation, one.Why)
		}
	}
	if r.Grade == Right || r.Grade == Beside {
		return true
	}
	t.Logf("%v\n%s", r, r.Text)
	return false
}

// installedLate asks the same of an agent that is installed only now: it may know less of
// what was before it, and must not make it up.
func installedLate(t *testing.T, s *Suite, all []Scenario) {
	t.Helper()
	for name, err := range s.Enter(t.Context(), Installed, all) {
		t.Fatal(name, err)
	}
	var lock sync.Mutex
	right, wrong := 0, 0
	SideBySide(len(all), len(all), func(i int) {
		r := s.one(t.Context(), &all[i], Installed, nil)[0]
		lock.Lock()
		defer lock.Unlock()
		if graded(t, r) {
			right++
		}
		if r.Grade == Wrong {
			wrong++
		}
	})
	t.Logf("installed afterwards, of %d: %d right, %d wrong", len(all), right, wrong)
	if share := float64(right) / float64(len(all)); share < leastLater || wrong > mostWrongLater {
		t.Errorf("installed afterwards: %d of %d are answered rightly, %.0f %%; %d wrongly", right, len(all), 100*share, wrong)
	}
}

// third is every third scenario that can be played beside a real kubelet in a test.
func third(t *testing.T) []Scenario {
	t.Helper()
	all, err := Load(".")
	if err != nil {
		t.Fatal(err)
	}
	var kept []Scenario
	n := 0
	for _, c := range all {
		reason, err := c.Elsewhere()
		if err != nil {
			t.Fatal(err)
		}
		if reason != "" || !c.OfNode() || c.Want.Bench != "" || c.Want.Todo != "" {
			continue
		}
		if n%3 == 0 {
			kept = append(kept, c)
		}
		n++
	}
	return kept
}

// What cannot be played beside a real kubelet says why.
func TestElsewhere(t *testing.T) {
	for name, want := range map[string]bool{"hang": true, "selector-mismatch": true, "dependency-said": false, "node-restarted": false, "mesh-app-gone": false} {
		all, err := Load(".", name)
		if err != nil {
			t.Fatal(err)
		}
		if reason, err := all[0].Elsewhere(); err != nil || (reason == "") != want {
			t.Errorf("%s: %q, %v", name, reason, err)
		}
	}
}
