package replay

import (
	"os/exec"
	"path/filepath"
	"testing"

	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/fold"
)

// The journal was written by a node of build 78dc8e6, which knew no fact for the room
// that an admission rests on: a pod that runs, with a probe each second, and one that
// ended three times. It was stopped with whylet down.
func TestJournalOfAnEarlierBuild(t *testing.T) {
	dir := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", "testdata/journal-78dc8e6.tgz", "-C", dir).CombinedOutput(); err != nil {
		t.Fatalf("unpack: %v: %s", err, out)
	}
	j, err := fold.Open(filepath.Join(dir, "journal"), journal.Options{}, fold.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	report, err := Facts(j.Query(journal.Query{}), health.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	if report.Pods != 2 || report.Decisions == 0 || len(report.Differences) > 0 {
		t.Errorf("%d pods, %d decisions; differences: %v", report.Pods, report.Decisions, report.Differences)
	}
}
