package logline_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"whylet.dev/whylet/logline"
)

// everything asks a log all that can be asked of it.
func everything(lines []string) {
	s := logline.Parse(lines, nil)
	s.Primary()
	s.Reason()
	s.Root()
	s.Trouble(true)
	s.TroubleAt(true)
	s.TroubleAdvice(true)
	s.Advice()
	s.RaisedAt()
	s.SaidAgain()
	s.EndsFailed()
	s.OfPort(8080)
	s.Progress()
	s.Stepping()
	s.ByName()
	s.SinceWaits()
	s.Groups(logline.Warning, nil)
	logline.Keep(lines, 80, 4<<10, nil)
	for i := range min(3, len(lines)) {
		s.ErrorAt(i)
	}
}

// cost is the processor time that a question takes at best, of three times: the clock also counts what else runs.
func cost(lines []string) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var u syscall.Rusage
		if syscall.Getrusage(1, &u) != nil { // of this thread (RUSAGE_THREAD)
			return 0
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	best := time.Duration(1<<63 - 1)
	for range 3 {
		begin := used()
		everything(lines)
		best = min(best, used()-begin)
	}
	return best
}

// several is how many copies of a log are read, and growth how many times more of them then; what
// takes more than tolerated times longer grows faster than the log.
const several, growth, tolerated = 24, 8, 6

// checkLinear reads a log that says the same over and over, of several lengths.
func checkLinear(t *testing.T, text string) {
	t.Helper()
	var few, many []string
	for i := range several * growth {
		lines := strings.Split(strings.ReplaceAll(text, "¤", fmt.Sprint(i)), "\n")
		if many = append(many, lines...); i < several {
			few = append(few, lines...)
		}
	}
	if short, long := cost(few), cost(many); long > growth*tolerated*short && long > 60*time.Millisecond {
		t.Errorf("%d lines took %s, and %d took %s: %q", len(few), short, len(many), long, text)
	}
}

// troublesome are logs of which a part was read once for each line before.
var troublesome = []string{
	"ERROR a¤ failed\n/bin/cat: /x: Permission denied",
	"ERROR failed\n/bin/cat: /x: Permission denied",
	"Caused by: java.io.IOException: x\nCaused by: java.io.IOException: x",
	"Error: it broke\nCaused by: a.BException: c¤",
	"loading plugin x¤",
	"head:\n\nhead:\n",
	"INFO fine\nERROR could not start\nfailed",
	"Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n    g()\nValueError: ¤",
	"12 of 90 done\n¤ of 90 done",
	"WARN retry ¤\nwaiting for db",
	"{\"level\":\"error\",\"msg\":\"x\",\"error\":\"y ¤\"}",
	"    indented\nusage:\n  - a",
	"java, no jar\n---\nError: Unable to access jarfile /app/app.jar\n",
	"starting\n/entrypoint.sh: 3: DB_HOST: parameter not set\n",
	"dial tcp 10.0.0.7:5432: connect: connection refused\nconnection pool exhausted",
}

// FuzzParse checks what a story says of itself, and that a log that is longer takes no more than so much longer.
func FuzzParse(f *testing.F) {
	for _, text := range troublesome {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4<<10 {
			return
		}
		lines := strings.Split(text, "\n")
		s := logline.Parse(lines, nil)
		if s.Len() != len(lines) {
			t.Fatalf("%d lines of %d", s.Len(), len(lines))
		}
		n := 0
		for _, g := range s.Groups(logline.Empty, nil) {
			if g.First > g.Last || g.Count < 1 || g.Last >= len(lines) {
				t.Errorf("a group %+v of %d lines", g, len(lines))
			}
			n += g.Count
		}
		if n > len(lines) {
			t.Errorf("%d lines in groups, of %d", n, len(lines))
		}
		checkLinear(t, text)
	})
}

// BenchmarkParse reads the ends of logs as an agent does: what a container said last when it failed.
func BenchmarkParse(b *testing.B) {
	raw, err := os.ReadFile("testdata/excerpts/servers.txt")
	if err != nil {
		b.Fatal(err)
	}
	logs := strings.Split(string(raw), "\n=== ")
	for name, read := range map[string]func([]string){
		"parse":  func(lines []string) { logline.Parse(lines, nil) },
		"reason": func(lines []string) { logline.Parse(lines, nil).Reason() },
		"groups": func(lines []string) { logline.Parse(lines, nil).Groups(logline.Warning, nil) },
		"keep":   func(lines []string) { logline.Keep(lines, 10, 1<<10, nil) },
	} {
		b.Run(name, func(b *testing.B) {
			var lines [][]string
			n := 0
			for _, text := range logs {
				lines = append(lines, strings.Split(text, "\n"))
				n += len(text)
			}
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				for _, log := range lines {
					read(log)
				}
			}
		})
	}
}
