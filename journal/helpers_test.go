package journal

import (
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/test/attempts"
)

// The tests' world, and what happens in it.
var (
	day              = attempts.Day
	testPod          = attempts.Pod
	failure, success = attempts.Failure, attempts.Success
)

func open(t testing.TB, dir string, o Options) *Journal {
	t.Helper()
	j, err := Open(dir, o.inTest())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !j.closed.Load() {
			if err := j.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	})
	return j
}

// testClock is a clock that a test sets, while the journal's goroutines read it.
type testClock struct{ since atomic.Int64 }

func (c *testClock) now() time.Time          { return day.Add(time.Duration(c.since.Load())) }
func (c *testClock) advance(d time.Duration) { c.since.Add(int64(d)) }

// inTest has the journal live on the test's day, so that nothing is too old.
func (o Options) inTest() Options {
	if o.Clock == nil {
		o.Clock = func() time.Time { return day.Add(time.Hour) }
	}
	return o
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// collect gives the facts of an answer, which must have no error in it.
func collect(t testing.TB, facts iter.Seq2[fact.Fact, error]) []fact.Fact {
	t.Helper()
	var all []fact.Fact
	for f, err := range facts {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	return all
}

func ids(fs []fact.Fact) []fact.ID {
	out := []fact.ID{}
	for _, f := range fs {
		out = append(out, f.ID)
	}
	return out
}

// ofKind leaves only facts of one kind.
func ofKind(fs []fact.Fact, kind fact.Kind) []fact.Fact {
	var out []fact.Fact
	for _, f := range fs {
		if f.Body.Kind() == kind {
			out = append(out, f)
		}
	}
	return out
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// wire is the fact's bytes, for comparing.
func wire(t testing.TB, f fact.Fact) string {
	t.Helper()
	b, err := f.MarshalJSON()
	must(t, err)
	return string(b)
}
