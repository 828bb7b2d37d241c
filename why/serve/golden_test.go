package serve

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/why"
)

var rewrite = flag.Bool("rewrite", false, "write the answers as they are now into testdata; look at the difference")

// wanted are the causes of the recorded histories, which come from real
// containers: pairs that look alike in kubectl describe, and are not.
var wanted = map[string]why.Cause{
	"oom-main":             why.MemoryLimit,      // 137
	"grace-kill":           why.AppUnhealthy,     // 137 too
	"child-oom-propagated": why.MemoryLimitChild, // 137, handed on by a shell
	"sticky-oom":           why.AppExitError,     // OOMKilled, says the runtime
	"silent-child-oom":     why.MemoryLimitChild, // Running, no restarts, no events
	"cache-at-limit":       why.None,             // usage equals the limit
	"slow-handler":         why.AppOverloaded,    // Client.Timeout exceeded
	"wrong-port":           why.ProbeWrongPort,   // connection refused
	"listener-gone":        why.ChildProcessEnded,
	"proxy-503":            why.AppNotListening,
	"noise-then-crash":     why.AppExitError, // exit 1 after many Unhealthy events
	"threshold-exit1":      why.AppUnhealthy, // exit 1 on its TERM trap
	"other-container":      why.MemoryLimitChild,
	"gate":                 why.ReadinessGate,
	"config-key":           why.ConfigMissing,   // CreateContainerConfigError
	"nonroot":              why.SecurityRefused, // CreateContainerConfigError
	"emptydir-limit":       why.EvictedDisk,
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
				t.Errorf("no verdict is %s:\n%s", wanted[name], a.Text(why.Style{}))
			}
			golden(t, filepath.Join("testdata", name+".txt"), a.Text(why.Style{}))
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
