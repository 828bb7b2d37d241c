package journal

import (
	"fmt"
	"iter"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// day is when the tests' world begins.
var day = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// testPod is pod number i.
func testPod(i int) fact.Pod {
	return fact.Pod{
		Namespace: "shop", Name: fmt.Sprintf("web-%d", i),
		UID: types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", i)),
	}
}

// failure is a failed probe of a pod, at a second of the test's day.
func failure(id fact.ID, pod fact.Pod, second int) fact.Fact {
	at := day.Add(time.Duration(second) * time.Second)
	return fact.Fact{
		ID: id, At: at, Seen: at.Add(3 * time.Millisecond), Mono: time.Hour + at.Sub(day), Boot: "b007",
		Pod: pod, Container: "app",
		Body: fact.Probed{
			Probe: fact.Readiness, Verdict: fact.Failure, Message: "HTTP probe failed with statuscode: 503",
			Took: 2 * time.Millisecond, Evidence: &fact.Evidence{Handler: "httpGet", Target: "http://10.0.0.7:8080/ready", Status: 503},
		},
	}
}

// success is a success of the pod's liveness probe.
func success(id fact.ID, pod fact.Pod, second int) fact.Fact {
	f := failure(id, pod, second)
	f.Body = fact.Probed{
		Probe: fact.Liveness, Verdict: fact.Success, Took: time.Duration(1+second%40) * time.Millisecond,
		Evidence: &fact.Evidence{
			Handler: "httpGet", Target: "http://10.0.0.7:8080/live", Remote: "10.0.0.7:8080", Status: 200, Proto: "HTTP/1.1",
			Local:   fmt.Sprintf("10.0.0.1:%d", 30000+second%20000),
			Connect: 100 * time.Microsecond, Sent: 120 * time.Microsecond, FirstByte: 800 * time.Microsecond,
			Header: map[string]string{"Server": "nginx", "Content-Type": "text/html"}, Output: "ok",
		},
	}
	return f
}

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
