package serve

import (
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
)

// An answer says for how long it has been the same, and never for longer than there was
// something to be told.
func TestSteady(t *testing.T) {
	source, err := journal.OpenFile("testdata/wrong-port.facts")
	if err != nil {
		t.Fatal(err)
	}
	var pod fact.Pod
	for _, p := range source.Pods() {
		if p.Pod.Name != "" {
			pod = p.Pod
		}
	}
	first, last := source.Stats().First, source.Stats().Last
	for name, test := range map[string]struct {
		now  time.Time
		want time.Duration
	}{
		"from the beginning": {first.Add(20 * time.Second), 0},
		"after some ends":    {last, 5 * time.Minute},
		"long after them":    {last.Add(48 * time.Hour), time.Hour},
	} {
		q := Question{Namespace: pod.Namespace, Name: pod.Name}
		q.Now = test.now
		a, err := One(source, q)
		if err != nil {
			t.Fatal(err)
		}
		v, got := a.Verdicts[0], time.Duration(0)
		if !v.SteadySince.IsZero() {
			got = q.Now.Sub(v.SteadySince)
		}
		if v.Cause != answer.ProbeWrongPort || got != test.want {
			t.Errorf("%s: %s, the same for %v, want %v", name, v.Cause, got, test.want)
		}
	}
}
