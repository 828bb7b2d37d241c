package serve

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
)

// BenchmarkMillion asks about a pod in a crash loop, whose facts lie among a
// million of a thousand pods: reading, replaying, explaining, and writing the
// answer. The goal is 50 ms a question.
func BenchmarkMillion(b *testing.B) {
	j, q := million(b)
	var a answer.Answer
	var err error
	b.ResetTimer()
	for b.Loop() {
		if a, err = One(j, q); err != nil {
			b.Fatal(err)
		}
		if a.Text(answer.Style{}) == "" {
			b.Fatal("no text")
		}
	}
	if a.Verdicts[0].Cause != answer.ChildProcessEnded {
		b.Fatal(a.Text(answer.Style{}))
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/question")
}

// million is a journal of a million facts: 999 pods whose probes fail, and among
// them, spread over the same time, one with a real history.
func million(b *testing.B) (*journal.Journal, Question) {
	b.Helper()
	source, err := journal.OpenFile("testdata/listener-gone.facts")
	if err != nil {
		b.Fatal(err)
	}
	real, err := collect(source, journal.Query{})
	if err != nil {
		b.Fatal(err)
	}
	j, err := journal.Open(b.TempDir(), journal.Options{MaxBytes: 1 << 40})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = j.Close() })
	first, last := real[0].Seen, real[len(real)-1].Seen
	const rounds, pods = 1000, 999
	step := last.Sub(first) / rounds
	ids := map[fact.ID]fact.ID{}
	var errs []error
	for i := range rounds {
		at := first.Add(time.Duration(i) * step)
		batch := make([]fact.Fact, 0, pods+8)
		for p := range pods {
			batch = append(batch, fact.Fact{
				ID: j.Next(1), At: at, Seen: at, Container: "c", Pod: fact.Pod{Namespace: "shop", Name: fmt.Sprintf("pod-%d", p), UID: types.UID(fmt.Sprintf("uid-%d", p))},
				Body: fact.Probed{Probe: fact.Liveness, Verdict: fact.Failure, Took: 3 * time.Millisecond, Message: "connection refused", Evidence: &fact.Evidence{Handler: fact.HTTPGet, Target: "http://10.0.0.1:8080/", Errno: "ECONNREFUSED"}},
			})
		}
		for len(real) > 0 && !real[0].Seen.After(at.Add(step)) {
			f := real[0]
			real = real[1:]
			id := j.Next(1)
			ids[f.ID] = id
			f.ID = id
			for k, because := range f.Because {
				f.Because[k] = ids[because]
			}
			batch = append(batch, f)
		}
		errs = append(errs, j.Append(batch...))
	}
	if err := errors.Join(errs...); err != nil {
		b.Fatal(err)
	}
	q := Question{Namespace: "default", Name: "p10b"}
	q.Now = last
	return j, q
}
