package serve

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why/answer"
)

var rewrite = flag.Bool("rewrite", false, "write the answers as they are now into testdata; look at the difference")

// wanted are the causes of the recorded histories, which come from real
// containers: pairs that look alike in kubectl describe, and are not.
var wanted = map[string]answer.Cause{
	"oom-main":             answer.MemoryLimit,      // 137
	"grace-kill":           answer.AppUnhealthy,     // 137 too
	"child-oom-propagated": answer.MemoryLimitChild, // 137, handed on by a shell
	"sticky-oom":           answer.AppExitError,     // OOMKilled, says the runtime
	"silent-child-oom":     answer.MemoryLimitChild, // Running, no restarts, no events
	"cache-at-limit":       answer.None,             // usage equals the limit
	"slow-handler":         answer.AppOverloaded,    // Client.Timeout exceeded
	"wrong-port":           answer.ProbeWrongPort,   // connection refused
	"listener-gone":        answer.ChildProcessEnded,
	"proxy-503":            answer.AppNotListening,
	"seed-000":             answer.MemoryLimitChild, // caught SIGWINCH, says its log
	"seed-000-late":        answer.MemoryLimitChild, // and its server says that its one worker is taken
	"seed-002":             answer.AppUnhealthy,     // exit 0, and again
	"noise-then-crash":     answer.AppExitError,     // exit 1 after many Unhealthy events
	"threshold-exit1":      answer.AppUnhealthy,     // exit 1 on its TERM trap
	"other-container":      answer.MemoryLimitChild,
	"gate":                 answer.ReadinessGate,
	"config-key":           answer.ConfigMissing,   // CreateContainerConfigError
	"nonroot":              answer.SecurityRefused, // CreateContainerConfigError
	"emptydir-limit":       answer.EvictedDisk,
}

func TestRecordedHistories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.facts")
	if err != nil || len(files) != len(wanted) {
		t.Fatalf("%d files for %d causes: %v", len(files), len(wanted), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".facts")
		t.Run(name, func(t *testing.T) {
			source, err := journal.OpenFile(file)
			if err != nil {
				t.Fatal(err)
			}
			q := Question{}
			for _, p := range source.Pods() {
				if p.Pod.Name != "" {
					q.Namespace, q.Name = p.Pod.Namespace, p.Pod.Name
				}
			}
			q.Now = source.Stats().Last
			a, err := One(source, q)
			if err != nil {
				t.Fatal(err)
			}
			found := false
			for _, v := range a.Verdicts {
				found = found || v.Cause == wanted[name]
			}
			if !found {
				t.Errorf("no verdict is %s:\n%s", wanted[name], a.Text(answer.Style{}))
			}
			golden(t, filepath.Join("testdata", name+".txt"), a.Text(answer.Style{}))
		})
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s has another answer; look at it, then go test ./why/serve -rewrite\n%s", file, got)
	}
}
