package scenarios

import (
	"fmt"
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
	playAll(t, s, all, func(c *Scenario) bool { return !endedBefore(c) })
	installedLate(t, s, slices.DeleteFunc(all, func(c Scenario) bool { return !endedBefore(&c) }))
}

// playAll plays scenarios side by side, ends those that are to be ended, and wants most of
// them answered rightly.
func playAll(t *testing.T, s *Suite, all []Scenario, end func(*Scenario) bool) {
	t.Helper()
	var y tally
	SideBySide(len(all), width(t), func(i int) {
		y.take(t, s.one(t.Context(), &all[i], Live, nil)[0])
		if !end(&all[i]) {
			return
		}
		if err := s.End(t.Context(), &all[i]); err != nil {
			t.Error(err)
		}
	})
	if t.Log(y.String()); y.share() < leastRight {
		t.Errorf("%s, %.0f %%", y.String(), 100*y.share())
	}
}

// tally counts results by their grades.
type tally struct {
	mu     sync.Mutex
	all    int
	grades map[Grade]int
}

func (y *tally) take(t *testing.T, r Result) {
	t.Helper()
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.grades == nil {
		y.grades = map[Grade]int{}
	}
	y.all++
	y.grades[r.Grade]++
	graded(t, r)
}

// share is that of the right ones.
func (y *tally) share() float64 { return float64(y.grades[Right]+y.grades[Beside]) / float64(y.all) }

func (y *tally) String() string {
	return fmt.Sprintf("of %d %d are answered rightly, %d partly, %d with unknown, %d wrongly", y.all, y.grades[Right]+y.grades[Beside], y.grades[Part], y.grades[Unknown], y.grades[Wrong])
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
	var y tally
	SideBySide(len(all), len(all), func(i int) { y.take(t, s.one(t.Context(), &all[i], Installed, nil)[0]) })
	if t.Log("installed afterwards,", y.String()); y.share() < leastLater || y.grades[Wrong] > mostWrongLater {
		t.Errorf("installed afterwards, %s, %.0f %%", y.String(), 100*y.share())
	}
}

// third is every third scenario that can be played beside a real kubelet in a test.
func third(t *testing.T) []Scenario {
	t.Helper()
	all, err := Load("own")
	if err != nil {
		t.Fatal(err)
	}
	var kept []Scenario
	n := 0
	for _, c := range all {
		reason := c.Elsewhere()
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
		all, err := Load("own", name)
		if err != nil {
			t.Fatal(err)
		}
		if reason := all[0].Elsewhere(); (reason == "") != want {
			t.Errorf("%s: %q", name, reason)
		}
	}
}
