package observe

import (
	"testing"

	"whylet.dev/whylet/fact"
)

// Near the limit detail is left out and nothing else, and it is told how much.
func TestDetailIsShed(t *testing.T) {
	l, k := aLoop()
	take := func(f fact.Fact) {
		if !l.shed.drops(f) {
			l.take(f)
		}
	}
	take(spec())
	take(start(0, 0, "a"))
	l.shed.look(shedFrom-1, at(0))
	take(about(0, 1, fact.Sampled{}))
	l.shed.look(shedFrom+1, at(2))
	for _, body := range []fact.Body{fact.Sampled{}, fact.Looked{}, fact.Probed{Probe: fact.Liveness, Verdict: fact.Success}, fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure}} {
		take(about(0, 3, body))
	}
	if _, ok := l.shed.look(shedFrom-1, at(4)); ok {
		t.Error("it ends as soon as it is below: it would begin at once again")
	}
	take(end(0, 5, "a", 1))
	told, ok := l.shed.look(shedUntil-1, at(6))
	if !ok || told.Count != 2 || !told.From.Equal(at(2)) || !told.Until.Equal(at(6)) {
		t.Errorf("%+v, %v", told, ok)
	}
	take(about(0, 7, fact.Sampled{}))
	kinds := map[fact.Kind]int{}
	for _, kind := range k.kinds() {
		kinds[kind]++
	}
	if kinds["Sampled"] != 2 || kinds["Looked"] != 0 || kinds["Probed"] != 2 || kinds["Exited"] != 1 {
		t.Errorf("%v", kinds)
	}
}

// What ends the run of a container 100,000 times leaves nothing behind but the newest.
func TestNothingGrows(t *testing.T) {
	l, k := aLoop()
	l.take(spec())
	for i := range int32(100_000) {
		id := string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676%26)) + string(rune('a'+i/17576%26))
		l.take(start(i, float64(i), id))
		l.take(end(i, float64(i)+0.5, id, 1))
		k.facts = k.facts[:0]
	}
	if n := len(l.runs.all["u"]["app"]); n > mostRuns {
		t.Errorf("%d runs", n)
	}
	if n := len(l.shadows["u"].Runs); n != 1 {
		t.Errorf("%d runs in the shadow", n)
	}
	if n := len(l.once["u"]) + len(l.images) + len(l.early); n > 4 {
		t.Errorf("%d others", n)
	}
}
