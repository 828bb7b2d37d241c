package journal

import (
	"os"
	"sync"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
)

// BenchmarkAppend is the sustained rate of facts, one Append each, sealing
// included: run it with -benchtime=1000000x.
func BenchmarkAppend(b *testing.B) {
	for _, sync := range []struct {
		name   string
		policy SyncPolicy
	}{{"periodic", SyncPeriodic}, {"always", SyncAlways}} {
		b.Run(sync.name, func(b *testing.B) {
			j := open(b, b.TempDir(), Options{MaxBytes: 1 << 40, Sync: sync.policy})
			facts := benchFacts(4096)
			b.ResetTimer()
			for i := range b.N {
				f := facts[i%len(facts)]
				f.ID = j.Next(1)
				if err := j.Append(f); err != nil {
					b.Fatal(err)
				}
			}
			must(b, j.Sync())
			must(b, j.keep()) // what the keeper has not caught up with is not sustained
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "facts/s")
			s := j.Stats()
			b.ReportMetric(float64(s.SegmentBytes+s.LogBytes)/float64(b.N), "disk-B/fact")
		})
	}
}

// BenchmarkAppendParallel has eight goroutines write, each fact durable.
func BenchmarkAppendParallel(b *testing.B) {
	j := open(b, b.TempDir(), Options{MaxBytes: 1 << 40, Sync: SyncAlways})
	facts := benchFacts(4096)
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			f := facts[i%len(facts)]
			f.ID = j.Next(1)
			if err := j.Append(f); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "facts/s")
}

// benchFacts are whole probe attempts of a thousand pods, one a second each.
func benchFacts(n int) []fact.Fact {
	facts := make([]fact.Fact, n)
	for i := range facts {
		if i%4 == 0 {
			facts[i] = failure(fact.ID(i+1), testPod(i%1000), i/1000)
		} else {
			facts[i] = success(fact.ID(i+1), testPod(i%1000), i/1000)
		}
	}
	return facts
}

// million is a directory with a million facts of a thousand pods. It is left to
// whoever cleans the directory for temporary files, since benchmarks share it.
var million = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "whylet-million-")
	if err != nil {
		return "", err
	}
	j, err := Open(dir, Options{MaxBytes: 1 << 40}.inTest())
	if err != nil {
		return dir, err
	}
	facts := benchFacts(1_000_000)
	for i := 0; i < len(facts); i += 100 {
		if err := j.Append(facts[i : i+100]...); err != nil {
			return dir, err
		}
	}
	if err := j.keep(); err != nil {
		return dir, err
	}
	return dir, j.Close()
})

func openMillion(b *testing.B) *Journal {
	b.Helper()
	dir, err := million()
	must(b, err)
	return open(b, dir, Options{MaxBytes: 1 << 40})
}

// BenchmarkQuery asks one question about a million facts.
func BenchmarkQuery(b *testing.B) {
	j := openMillion(b)
	pod := testPod(417).UID
	for name, q := range map[string]Query{
		"one pod, all its 1000 facts": {UID: pod},
		"one pod, its newest 100":     {UID: pod, Reverse: true, Limit: 100},
		"one pod, two minutes":        {UID: pod, From: day.Add(300 * time.Second), To: day.Add(420 * time.Second)},
		"all pods, newest 100":        {Reverse: true, Limit: 100},
		"all pods, a kind not there":  {Kinds: []fact.Kind{"OOMKilled"}},
	} {
		b.Run(name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n = len(collect(b, j.Query(q)))
			}
			b.ReportMetric(float64(n), "facts")
		})
	}
	b.Run("get", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, ok, err := j.Get(fact.ID(1 + i*7919%1_000_000)); !ok || err != nil {
				b.Fatal(ok, err)
			}
		}
	})
	b.Run("pods", func(b *testing.B) {
		for b.Loop() {
			j.Pods()
		}
	})
}

// BenchmarkOpen opens a million facts, cleanly closed.
func BenchmarkOpen(b *testing.B) {
	dir, err := million()
	must(b, err)
	for b.Loop() {
		j, err := Open(dir, Options{MaxBytes: 1 << 40}.inTest())
		must(b, err)
		must(b, j.Close())
	}
}
