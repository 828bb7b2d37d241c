package answer

import (
	"strings"
	"testing"
	"time"
)

// Of a job's pod that did its work nobody is told, whatever else its history has.
func TestOverview(t *testing.T) {
	answer := func(name string, symptoms ...Symptom) Answer {
		a := Answer{Subject: Subject{Namespace: "shop", Name: name}}
		for _, s := range symptoms {
			cause := map[SymptomKind]Cause{Healthy: None, Completed: RestartPolicy, Restarted: AppExitError}[s.Kind]
			a.Put(s, Verdict{Cause: cause, Text: "because"})
		}
		return a
	}
	done, well := Symptom{Kind: Completed}, Symptom{Kind: Healthy}
	for _, c := range []struct {
		all  []Answer
		want string
	}{
		{nil, "There are no pods.\n"},
		{[]Answer{answer("web", well), answer("tick", done)}, "All 2 pods are well or done.\n"},
		{[]Answer{answer("tick", Symptom{Kind: Restarted}, done), answer("web", well)}, "shop/tick                                Restarted    app-exit-error               because\n1 other pod well or done.\n"},
	} {
		if got := Overview(c.all, Style{}); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// A pod that is ready, and whose probe has begun to fail, asks for nobody yet; one in which something goes
// wrong unseen does.
func TestWellOrDone(t *testing.T) {
	for _, test := range []struct {
		symptom Symptom
		cause   Cause
		want    bool
	}{
		{Symptom{Kind: Healthy}, None, true},
		{Symptom{Kind: Healthy, BelowThreshold: true}, AppUnhealthy, true},
		{Symptom{Kind: Healthy}, MemoryLimitChild, false},
		{Symptom{Kind: NotReady}, AppUnhealthy, false},
		{Symptom{Kind: Completed}, RestartPolicy, true},
	} {
		if got := WellOrDone(test.symptom, Verdict{Cause: test.cause}); got != test.want {
			t.Errorf("%+v, %s: %v", test.symptom, test.cause, got)
		}
	}
}

// Pods that wait for each other are both shown, whoever is said to take down whom.
func TestOverviewOfACircle(t *testing.T) {
	ill := func(name, on string) Answer {
		a := New(Subject{Kind: "Pod", Namespace: "shop", Name: name}, time.Time{}, Coverage{})
		a.Put(Symptom{Kind: NotReady, Count: 1}, Verdict{Cause: DependencyDown, Pod: "shop/" + on, TakesDown: []Hop{{Pod: "shop/" + on}}})
		return a
	}
	text := Overview([]Answer{ill("a", "b"), ill("b", "a")}, Style{})
	if !strings.Contains(text, "shop/a ") || !strings.Contains(text, "shop/b ") || strings.Contains(text, "well") {
		t.Error(text)
	}
}
