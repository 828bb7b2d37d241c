package cgroupfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	_ "whylet.dev/whylet/test/fixedseed"
)

func TestReadOfNothing(t *testing.T) {
	for _, g := range []Group{{V2: true, Unified: t.TempDir() + "/none"}, {Memory: t.TempDir() + "/none"}} {
		if _, err := g.Read(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	}
}

// A file larger than the buffer is read whole.
func TestReadLargeFile(t *testing.T) {
	dir := t.TempDir()
	text := bytes.Repeat([]byte("some_key_of_the_future 1\n"), 2000)
	text = append(text, "anon 4096\n"...)
	if err := os.WriteFile(filepath.Join(dir, "memory.stat"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Group{V2: true, Unified: dir}.Read()
	if err != nil || s.MemoryAnon != 4096 {
		t.Errorf("%+v %v", s, err)
	}
}

func TestNumbers(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "max\n": 0, "0\n": 0, "17\n": 17, " 4": 4, "12abc": 12, "-1": 0,
		"9223372036854775807": math.MaxInt64, "9999999999999999999999": math.MaxInt64,
	} {
		if got := number([]byte(text)); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int64{"max": 0, "9223372036854771712": 0, "1048576": 1 << 20} {
		if got := limit([]byte(text)); got != want {
			t.Errorf("limit %q: got %d, want %d", text, got, want)
		}
	}
}

func TestPressureFile(t *testing.T) {
	p := ParsePressure([]byte("some avg10=12.34 avg60=0.50 avg300=100.00 total=1500\nfull avg10=0.00 avg60=0.05 avg300=1.00 total=7\n"))
	want := Pressure{Some: Stall{12.34, 0.5, 100, 1500 * time.Microsecond}, Full: Stall{0, 0.05, 1, 7 * time.Microsecond}}
	if p != want {
		t.Errorf("got %+v", p)
	}
}

// What the kernel prints is what is read.
func TestParsersRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int64Min(0).Draw(t, "n")
		if got := number(strconv.AppendInt(nil, n, 10)); got != n {
			t.Fatalf("number: %d of %d", got, n)
		}
		key := rapid.StringMatching(`[a-z_]{1,12}`).Draw(t, "key")
		if got := field(fmt.Appendf(nil, "x 1\n%s %d\ny 2\n", key+"z", n), key+"z"); got != n {
			t.Fatalf("field: %d of %d", got, n)
		}
		hundredths := rapid.IntRange(0, 10000).Draw(t, "hundredths")
		total := rapid.Int64Range(0, 1<<50).Draw(t, "total")
		got := stall(fmt.Appendf(nil, "avg10=%d.%02d avg60=0.00 avg300=0.00 total=%d", hundredths/100, hundredths%100, total))
		if math.Abs(got.Avg10-float64(hundredths)/100) > 1e-9 || got.Total != time.Duration(total)*time.Microsecond {
			t.Fatalf("stall: %+v", got)
		}
	})
}

// Whatever a file holds, reading it neither panics nor gives a negative number.
func FuzzFiles(f *testing.F) {
	for _, tree := range []string{"testdata/v1/*/ctr/*", "testdata/v2/ctr/*"} {
		recorded, err := filepath.Glob(tree)
		if err != nil || len(recorded) == 0 {
			f.Fatalf("nothing recorded at %s: %v", tree, err)
		}
		for _, path := range recorded {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	f.Add([]byte("some avg10=1..2 avg60= total=-5\nfull"))
	f.Add([]byte("usage_usec 99999999999999999999\n\n \n="))
	all := [][]file{v2Files, pressureFiles, memoryFilesV1, cpuFilesV1, cpuAcctFilesV1, pidsFilesV1}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, files := range all {
			for _, file := range files {
				var s Sample
				file.parse(&s, bytes.Clone(text))
				for _, n := range []int64{
					s.MemoryCurrent, s.MemoryPeak, s.MemoryLimit, s.MemoryAnon, s.MemoryFile, s.MemoryShmem, s.WorkingSet,
					s.OOMKills, s.LimitHits, s.PageFaults, s.MajorFaults, s.Swap, s.PIDs, s.PIDLimit, s.Periods,
					int64(s.CPUUsage), s.ThrottledPeriods, int64(s.ThrottledTime), int64(s.CPUPressure.Some.Total),
					int64(s.MemoryPressure.Full.Total), int64(s.IOPressure.Some.Avg10),
				} {
					if n < 0 {
						t.Fatalf("%s reads a negative number from %q", file.name, text)
					}
				}
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	layout, err := DetectLayout()
	if err != nil {
		b.Fatal(err)
	}
	g := layout.At("/")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Read(); err != nil {
			b.Fatal(err)
		}
	}
}
