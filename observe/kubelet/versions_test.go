package kubelet

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
)

// wants checks what Read returns for each of Messages.
var wants = map[string]func(Word) bool{
	lineProbeFailed:  func(w Word) bool { return w.Probe != "" && !w.Success && !w.Errored && w.Output != "" && w.UID != "" },
	lineProbeErrored: func(w Word) bool { return w.Probe == fact.Liveness && w.Errored && w.Output != "" && w.UID != "" },
	lineProbeGood:    func(w Word) bool { return w.Probe != "" && w.Success },
	lineProbeWarning: func(w Word) bool { return w.Probe == fact.Readiness && w.Success },
	lineKilling: func(w Word) bool {
		return w.ContainerID != "" && w.Container == "c" && w.Said.Values["gracePeriod"] != ""
	},
	lineMessage: func(w Word) bool {
		return w.Container == "c" && w.Said.Message == "Container c failed liveness probe, will be restarted"
	},
	linePostStart: func(w Word) bool { return w.Hook == fact.PostStart && w.Said.Message != "" && w.Container == "c" },
	linePreStop:   func(w Word) bool { return w.Hook == fact.PreStop && w.Said.Message != "" && w.Container == "c" },
	lineReclaim:   func(w Word) bool { return w.Reclaims == "memory" },
	lineRanked:    func(w Word) bool { return len(w.Ranked) > 1 && w.Ranked[0].Namespace == "shop" },
	lineEvicted:   func(w Word) bool { return w.Namespace == "shop" && w.Name != "" && w.Said != nil },
}

// Each file in testdata has Messages in their order; make test-observe writes it (TestObserveLog).
func TestLogsOfAllVersionsAreRead(t *testing.T) {
	files, err := filepath.Glob("testdata/1.*.log")
	if err != nil || len(files) == 0 {
		t.Fatal("no logs:", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			n := 0
			record := func(text string) {
				line, ok := ParseLine(text, now, time.UTC)
				if !ok || n >= len(Messages) {
					t.Fatalf("no record, or one too many: %s", text)
				}
				w, about, understood := Read(line)
				if line.Message != Messages[n] || !about || !understood || !wants[line.Message](w) {
					t.Errorf("%s is read as %+v", text, w)
				}
				n++
			}
			ctx, caughtUp := context.WithCancel(t.Context())
			if err := FollowFile(ctx, file, record, caughtUp); err != nil || n != len(Messages) {
				t.Errorf("%d of %d records: %v", n, len(Messages), err)
			}
		})
	}
}
