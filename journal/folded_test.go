package journal_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/fold"
	"whylet.dev/whylet/test/attempts"
)

// TestFoldingOnAFullDisk: open runs go on in memory too.
func TestFoldingOnAFullDisk(t *testing.T) {
	disk := journal.SmallDisk(t, "size=256k")
	dir := filepath.Join(disk, "journal")
	j, err := fold.Open(dir, journal.Options{Clock: journal.TestDay}, fold.Options{})
	journal.Must(t, err)
	journal.Must(t, os.WriteFile(filepath.Join(disk, "hog"), nil, 0o600))
	journal.Fill(t, filepath.Join(disk, "hog"))
	for i := range 100 {
		journal.Must(t, j.Append(attempts.Success(j.Next(1), attempts.Pod(i%2), i)))
	}
	if j.Degraded() == "" {
		t.Error("it does not say that runs are in memory only")
	}
	journal.Must(t, os.Remove(filepath.Join(disk, "hog")))
	for i := range 2 {
		journal.Must(t, j.Append(attempts.Success(j.Next(1), attempts.Pod(i%2), 100+i)))
	}
	if s := j.Degraded(); s != "" {
		t.Errorf("with room again it says %q", s)
	}
	journal.Crash(j.Journal)
	j, err = fold.Open(dir, journal.Options{Clock: journal.TestDay}, fold.Options{})
	journal.Must(t, err)
	defer func() { journal.Must(t, j.Close()) }()
	if n := attempts.Successes(journal.Collect(t, j.Query(journal.Query{}))); n != 102 {
		t.Errorf("%d successes are left", n)
	}
}

// BenchmarkSucceedingProbe is what probes that keep succeeding cost an hour: ten
// pods with two probes each, every ten seconds. It counts the growth of every
// file after the first minute, when each probe has its slot: its blocks on the
// disk, and in its length.
func BenchmarkSucceedingProbe(b *testing.B) {
	for _, hours := range []int{1, 24, 7 * 24} {
		b.Run(fmt.Sprintf("%dh", hours), func(b *testing.B) {
			for b.Loop() {
				succeedingProbes(b, 10, time.Duration(hours)*time.Hour)
			}
		})
	}
}

func succeedingProbes(b *testing.B, pods int, total time.Duration) {
	b.Helper()
	dir := b.TempDir()
	var now journal.TestClock
	j, err := fold.Open(dir, journal.Options{MaxBytes: 1 << 40, MaxAge: 1 << 60, Clock: now.Now}, fold.Options{})
	journal.Must(b, err)
	defer func() { journal.Must(b, j.Close()) }()
	made := 0
	var settled usage
	for second := 0; time.Duration(second)*time.Second < total; second += 10 {
		now.Set(time.Duration(second) * time.Second)
		for p := range pods {
			for _, probe := range []fact.ProbeKind{fact.Liveness, fact.Readiness} {
				f := attempts.Success(j.Next(1), attempts.Pod(p), second)
				body, _ := f.Body.(fact.Probed)
				body.Probe = probe
				f.Body = body
				journal.Must(b, j.Append(f))
				made++
			}
		}
		if second == 60 {
			journal.Must(b, j.Sync())
			settled = diskUsage(b, dir)
		}
		if second%86400 == 0 {
			journal.Must(b, journal.Keep(j.Journal))
		}
	}
	journal.Must(b, j.Sync())
	grown := diskUsage(b, dir)
	perHour := total.Hours() * float64(2*pods)
	b.ReportMetric(float64(grown.disk-settled.disk)/perHour, "disk-B/probe-hour")
	b.ReportMetric(float64(grown.length-settled.length)/perHour, "length-B/probe-hour")
	b.ReportMetric(float64(settled.disk)/float64(2*pods), "slot-disk-B/probe")
	b.ReportMetric(float64(made)/b.Elapsed().Seconds(), "attempts/s")
}

// usage is the space that files take, and their lengths, which are more where
// they have holes.
type usage struct{ disk, length int64 }

func diskUsage(t testing.TB, dir string) (u usage) {
	t.Helper()
	journal.Must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		var s unix.Stat_t
		if err := unix.Stat(path, &s); err != nil {
			return err
		}
		u.disk += s.Blocks * 512
		u.length += s.Size
		return nil
	}))
	return u
}
