package containers

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

func exited(dir string, code int32, policy v1.TerminationMessagePolicy) ContainerView {
	return ContainerView{
		State: Exited, ExitCode: code, Reason: "Error", LogPath: filepath.Join(dir, "0.log"),
		Recorded: Recorded{MessagePath: "/dev/termination-log", MessagePolicy: policy},
		Mounts:   []Mount{{HostPath: filepath.Join(dir, "message"), ContainerPath: "/dev/termination-log"}},
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const stamp = "2026-01-02T03:04:05.678901234Z stdout F "

func TestTerminationMessage(t *testing.T) {
	fallback := v1.TerminationMessageFallbackToLogsOnError
	for name, test := range map[string]struct {
		message, log string
		change       func(*ContainerView)
		want         string
	}{
		"file":                          {message: "why\n", log: stamp + "log\n", want: "why\n"},
		"nothing said":                  {log: stamp + "log\n", want: ""},
		"empty file, log on error":      {log: stamp + "log\n", change: func(v *ContainerView) { v.Recorded.MessagePolicy = fallback }, want: "log\n"},
		"file wins over log":            {message: "why", log: stamp + "log\n", change: func(v *ContainerView) { v.Recorded.MessagePolicy = fallback }, want: "why"},
		"no log on success":             {log: stamp + "log\n", change: func(v *ContainerView) { v.Recorded.MessagePolicy, v.ExitCode = fallback, 0 }},
		"no log of what cannot run":     {log: stamp + "log\n", change: func(v *ContainerView) { v.Recorded.MessagePolicy, v.Reason = fallback, "ContainerCannotRun" }},
		"runtime's message first":       {message: "why", change: func(v *ContainerView) { v.Message = "runtime" }, want: "runtime: why"},
		"runtime's message alone":       {change: func(v *ContainerView) { v.Message = "runtime" }, want: "runtime"},
		"no path":                       {message: "why", change: func(v *ContainerView) { v.Recorded.MessagePath = "" }},
		"relative path":                 {message: "why", change: func(v *ContainerView) { v.Recorded.MessagePath = "dev/termination-log" }, want: "why"},
		"not mounted":                   {message: "why", change: func(v *ContainerView) { v.Mounts = nil }},
		"still running":                 {message: "why", change: func(v *ContainerView) { v.State = Running }},
		"the end of a long file":        {message: strings.Repeat("a", 5000) + "end", want: strings.Repeat("a", 4093) + "end"},
		"log missing":                   {change: func(v *ContainerView) { v.Recorded.MessagePolicy, v.LogPath = fallback, "/none" }, want: "Error on reading termination message from logs: "},
		"no path, but the log on error": {log: stamp + "log\n", change: func(v *ContainerView) { v.Recorded = Recorded{MessagePolicy: fallback} }, want: "log\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "message", test.message)
			write(t, dir, "0.log", test.log)
			v := exited(dir, 1, v1.TerminationMessageReadFile)
			if test.change != nil {
				test.change(&v)
			}
			got := TerminationMessage(v)
			if got != test.want && !(strings.HasPrefix(test.want, "Error on") && strings.HasPrefix(got, test.want)) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestWhatSaysMost(t *testing.T) {
	many := func(n int, text string) string { return strings.Repeat(stamp+text+"\n", n) }
	for name, test := range map[string]struct {
		log  string
		want []string
	}{
		"nothing":              {"", nil},
		"one":                  {stamp + "bye\n", []string{"bye"}},
		"both streams":         {stamp + "out\n" + strings.Replace(stamp, "stdout", "stderr", 1) + "err\n", []string{"out", "err"}},
		"only the last":        {many(20, "old") + many(10, "new"), slices.Repeat([]string{"new"}, 10)},
		"no more than 1 KiB":   {many(10, strings.Repeat("x", 300)), slices.Repeat([]string{strings.Repeat("x", 300)}, 3)},
		"one that is too long": {many(1, strings.Repeat("x", 3000)), []string{strings.Repeat("x", 1024)}},
		"a secret":             {stamp + "connecting, password=hunter2\n", []string{"connecting, password=[redacted]"}},
		"not text":             {stamp + "a\xff\xfeb\n", []string{"ab"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "0.log", test.log)
			if got := LastSaid(exited(dir, 0, v1.TerminationMessageReadFile)).Lines; !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got := LastSaid(exited("/none", 1, v1.TerminationMessageReadFile)).Lines; got != nil {
		t.Errorf("without a log: %q", got)
	}
}

// Each line comes with when the runtime wrote it down; a secret of several lines leaves none.
func TestLastSaid(t *testing.T) {
	log := "2026-11-22T23:00:00.123456789Z stdout F one\n2026-11-22T23:00:01Z stdout F \n2026-11-23T00:00:02+01:00 stderr F   two\n"
	for name, test := range map[string]struct {
		log   string
		lines []string
		at    []string
	}{
		"lines":    {log, []string{"one", "  two"}, []string{"23:00:00.123", "23:00:02.000"}},
		"a secret": {stamp + "-----BEGIN PRIVATE KEY-----\n" + stamp + "AAAA\n" + stamp + "-----END PRIVATE KEY-----\n" + stamp + "bye\n", []string{"[redacted]", "bye"}, nil},
	} {
		dir := t.TempDir()
		write(t, dir, "0.log", test.log)
		said := LastSaid(exited(dir, 0, v1.TerminationMessageReadFile))
		lines, at := said.Lines, said.At
		var times []string
		for _, a := range at {
			times = append(times, a.Format("15:04:05.000"))
		}
		if !slices.Equal(lines, test.lines) || !slices.Equal(times, test.at) {
			t.Errorf("%s: %q at %q", name, lines, times)
		}
	}
}

// FuzzTerminationMessage feeds files and logs as a hostile container could write
// them. The message stays within its bounds, and nothing breaks.
func FuzzTerminationMessage(f *testing.F) {
	f.Add([]byte("message"), []byte(stamp+"a\n"))
	f.Add([]byte{}, []byte(stamp+"a\n2026-01-02T03:04:05Z stderr P half"))
	f.Add([]byte{}, []byte("\n\n \x00\n"+stamp))
	f.Add([]byte{}, []byte(`{"log":"x\n","stream":"stdout","time":"2016-10-20T18:39:20.57606443Z"}`+"\n"))
	f.Add([]byte{}, []byte(strings.Repeat(stamp+strings.Repeat("x", 100)+"\n", 100)))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, message, log []byte) {
		write(t, dir, "message", string(message))
		write(t, dir, "0.log", string(log))
		got := TerminationMessage(exited(dir, 1, v1.TerminationMessageFallbackToLogsOnError))
		switch {
		case len(message) > 0:
			end := string(message[max(0, len(message)-maxMessage):])
			if got != end {
				t.Errorf("%d bytes of a message of %d", len(got), len(message))
			}
		case strings.HasPrefix(got, "Error on reading termination message from logs: "):
			// The log is not one that a runtime writes; the error quotes it.
		case len(got) > maxMessageLog:
			t.Errorf("%d bytes from the log", len(got))
		case strings.Count(got, "\n") > maxMessageLines:
			t.Errorf("%d lines from the log", strings.Count(got, "\n"))
		case utf8.Valid(log) && len(got) < maxMessageLog && !utf8.ValidString(got) && !strings.Contains(string(log), "\\"):
			t.Errorf("text was cut within a character: %q", got)
		}
		said := LastSaid(exited(dir, 1, v1.TerminationMessageReadFile))
		lines, at := said.Lines, said.At
		if len(at) != 0 && len(at) != len(lines) {
			t.Errorf("%d times of %d lines", len(at), len(lines))
		}
		if text := strings.Join(lines, ""); len(lines) > 10 || len(text) > 1<<10 || !utf8.ValidString(text) {
			t.Errorf("last lines: %d of %d bytes", len(lines), len(text))
		}
	})
}

// FuzzLabels feeds annotations of containers that somebody else made.
func FuzzLabels(f *testing.F) {
	f.Add("1f", "3", "30", `{"exec":{"command":["x"]}}`, `[{"containerPort":80}]`)
	f.Add("", "", "", "", "")
	f.Add("zz", "99999999999", "-1", "{", "null")
	f.Fuzz(func(t *testing.T, hash, count, grace, hook, ports string) {
		a := map[string]string{
			AnnotationHash: hash, AnnotationRestartCount: count, AnnotationGrace: grace, AnnotationPreStop: hook, AnnotationPorts: ports,
		}
		recordedOf(a)
		attemptOf(a, 7)
	})
}

// What a program said before a line without end is told, and that there was such a line.
func TestALineWithoutEndHidesNothing(t *testing.T) {
	for _, size := range []int{9 << 10, 100 << 10, 9 << 20} {
		var log strings.Builder
		log.WriteString("2026-01-01T00:00:00.1Z stdout F FATAL: no licence\n")
		for n := size; n > 0; n -= 16 << 10 {
			tag := "P"
			if n <= 16<<10 {
				tag = "F"
			}
			log.WriteString("2026-01-01T00:00:01.1Z stdout " + tag + " " + strings.Repeat("x", min(n, 16<<10)) + "\n")
		}
		dir := t.TempDir()
		write(t, dir, "0.log", log.String())
		said := LastSaid(ContainerView{LogPath: filepath.Join(dir, "0.log")})
		lines, at := said.Lines, said.At
		if want := fmt.Sprintf("[a line of %d bytes, too long to be kept]", size); !slices.Equal(lines, []string{"FATAL: no licence", want}) || len(at) != 2 {
			t.Errorf("%d bytes: %q %v", size, lines, at)
		}
	}
}

// The rest of a line whose beginning was not read is left out: what tells a secret may stand in the beginning.
func TestTheRestOfALineIsLeftOut(t *testing.T) {
	part := strings.Replace(stamp, " F ", " P ", 1)
	for after, want := range map[int]int{98: 99, 99: 99, 100: 100, 101: 100} { // 101 records are read
		dir := t.TempDir()
		write(t, dir, "0.log", part+"password=\n"+stamp+"hunter2\n"+strings.Repeat(stamp+"x\n", after))
		end := LastSaid(exited(dir, 1, v1.TerminationMessageReadFile)).End
		if len(end.Lines) != want || strings.Contains(strings.Join(end.Lines, " "), "hunter2") || end.All != (after == 98) {
			t.Errorf("%d lines after it: all: %v, %q", after, end.All, end.Lines)
		}
	}
}

// The end of a log is kept as it is, within its bounds, beside the lines that say most.
func TestLogEnd(t *testing.T) {
	many := func(n int, text string) string { return strings.Repeat(stamp+text+"\n", n) }
	for name, test := range map[string]struct {
		log   string
		lines int
		all   bool
	}{
		"a short one":             {many(20, "one"), 20, true},
		"more than 4 KiB":         {many(60, strings.Repeat("x", 99)), 40, false},
		"more lines than is read": {many(200, "x"), 100, false},
		"a line that is too long": {many(3, "x") + many(1, strings.Repeat("y", 5000)), 0, false},
	} {
		dir := t.TempDir()
		write(t, dir, "0.log", test.log)
		end := LastSaid(exited(dir, 1, v1.TerminationMessageReadFile)).End
		if end == nil {
			end = &fact.LogEnd{}
		}
		if size := len(strings.Join(end.Lines, "\n")); len(end.Lines) != test.lines || end.All != test.all || size > fact.MostLogEnd || len(end.At) != len(end.Lines) {
			t.Errorf("%s: %d lines of %d bytes, all: %v", name, len(end.Lines), size, end.All)
		}
	}
	dir := t.TempDir()
	write(t, dir, "0.log", many(20, "x")+stamp+"password=hunter2\n")
	if end := LastSaid(exited(dir, 1, v1.TerminationMessageReadFile)).End; strings.Contains(strings.Join(end.Lines, " "), "hunter2") {
		t.Errorf("%q", end.Lines)
	}
}

// What the end of a log costs: the time of an end with it, and its bytes in the journal.
func BenchmarkLogEnd(b *testing.B) {
	var log strings.Builder
	for i := range 90 {
		fmt.Fprintf(&log, "2026-11-28T20:%02d:%02d.%03dZ stdout F level=info msg=\"request done\" path=/orders/%d status=%d took=%dms\n", i/60, i%60, i*7%1000, i*7919, 200+i%3, i*13%97)
	}
	log.WriteString("2026-11-28T21:00:00Z stderr F Traceback (most recent call last):\n2026-11-28T21:00:00Z stderr F   File \"/app/main.py\", line 12, in <module>\n2026-11-28T21:00:00Z stderr F ConnectionRefusedError: [Errno 111] Connection refused\n")
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "0.log"), []byte(log.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	v := exited(dir, 1, v1.TerminationMessageReadFile)
	for name, keep := range map[string]bool{"with": true, "without": false} {
		b.Run(name, func(b *testing.B) {
			size := 0
			for b.Loop() {
				e := fact.Exited{ExitCode: 1}
				said := LastSaid(v)
				if !keep {
					said.End = nil
				}
				e.Hear(said, v.FinishedAt)
				raw, err := json.Marshal(e)
				if err != nil {
					b.Fatal(err)
				}
				size = len(raw)
			}
			b.ReportMetric(float64(size), "bytes/end")
		})
	}
}

// TestTail: the newest whole lines, with their times.
func TestTail(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "0.log", stamp+"one\n"+stamp+"two\n"+stamp+"three\n")
	for _, c := range []struct {
		lines int64
		most  int
		want  []string
	}{
		{10, 1 << 20, []string{"one", "two", "three"}},
		{2, 1 << 20, []string{"two", "three"}},
		{10, 90, []string{"two", "three"}},
	} {
		if got, at, err := Tail(filepath.Join(dir, "0.log"), c.lines, c.most); err != nil || !slices.Equal(got, c.want) || len(at) != len(got) {
			t.Errorf("%d lines of %d bytes: %q at %v: %v", c.lines, c.most, got, at, err)
		}
	}
	if _, _, err := Tail(filepath.Join(dir, "1.log"), 10, 1<<20); err == nil {
		t.Error("a log that is not there was read")
	}
}
