package replay

import (
	"encoding/json"
	"flag"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/health"
	"whylet.dev/whylet/journal"
	"whylet.dev/whylet/journal/fold"
)

var recordAs = flag.String("record", "", "write testdata/journal-NAME.tgz, as this build keeps and decides")

// patient keeps what was recorded long ago.
var patient = journal.Options{MaxAge: 100 * 365 * 24 * 3600e9, SegmentBytes: 32 << 10}

// Journals of earlier builds, as their nodes left them, give the same decisions today:
//
//   - 78dc8e6 knew no fact for the room that an admission rests on: a pod that runs, with a
//     probe each second, and one that ended three times.
//   - 0350fefa was the release before versions were promised to work together (docs/skew.md):
//     two whole lives, and a pod whose beginning is gone and that goes on from a checkpoint.
func TestJournalsOfEarlierBuilds(t *testing.T) {
	for name, want := range map[string]struct{ pods, resumed int }{"78dc8e6": {2, 0}, "0350fefa": {3, 1}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if out, err := exec.Command("tar", "-xzf", "testdata/journal-"+name+".tgz", "-C", dir).CombinedOutput(); err != nil {
				t.Fatalf("unpack: %v: %s", err, out)
			}
			j, err := fold.Open(filepath.Join(dir, "journal"), patient, fold.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = j.Close() }()
			report, err := Facts(j.Query(journal.Query{}), health.Policy{})
			if err != nil {
				t.Fatal(err)
			}
			if report.Pods != want.pods || len(report.Resumed) != want.resumed || report.Decisions == 0 || len(report.Differences)+len(report.Unreadable)+len(report.Partial) > 0 {
				t.Errorf("%d pods, %d of them resumed, %d decisions; differences: %v %v %v", report.Pods, len(report.Resumed), report.Decisions, report.Differences, report.Unreadable, report.Partial)
			}
			if err := j.Append(fact.Fact{ID: j.Next(1), Seen: time.Now(), Body: fact.AgentStarted{Version: "now"}}); err != nil { // it goes on in the same files
				t.Error(err)
			}
		})
	}
}

// TestRecord writes such a journal of this build: what nodes once observed, with what is
// decided now.
func TestRecord(t *testing.T) {
	if *recordAs == "" {
		t.Skip("it writes testdata: -record NAME")
	}
	dir := t.TempDir()
	j, err := fold.Open(filepath.Join(dir, "journal"), patient, fold.Options{})
	if err != nil {
		t.Fatal(err)
	}
	j.SetLive(func(types.UID) bool { return true })
	relive(t, j, "oom-main", false)
	relive(t, j, "seed-000-late", false)
	relive(t, j, "listener-gone", true)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-czf", "testdata/journal-"+*recordAs+".tgz", "-C", dir, "--exclude", "lock", "journal").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// relive appends what was observed of a pod once, with the decisions of now. With a checkpoint
// the first half is left out, as retention does.
func relive(t *testing.T, j *fold.Journal, recorded string, checkpoint bool) {
	t.Helper()
	f, err := journal.OpenFile(filepath.Join("..", "..", "why", "serve", "testdata", recorded+".facts"))
	if err != nil {
		t.Fatal(err)
	}
	var observed []fact.Fact
	for f, err := range f.Query(journal.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		if _, kept := f.Body.(fact.Checkpoint); f.Pod.UID != "" && !kept && !fact.IsDecided(f.Body) {
			observed = append(observed, f)
		}
	}
	state, half := health.New(health.Policy{}), len(observed)/2
	for i, f := range observed {
		f.ID, f.Because = 0, nil
		if !checkpoint || i >= half {
			f.ID = j.Next(1)
		}
		var due []fact.Decision
		state, due = health.Step(state, f)
		if f.ID == 0 {
			continue
		}
		facts := []fact.Fact{f}
		for _, d := range due {
			facts = append(facts, d.Fact(j.Next(1), f))
		}
		if err := j.Append(facts...); err != nil {
			t.Fatal(err)
		}
		if checkpoint && i == half {
			kept, err := json.Marshal(state)
			if err != nil {
				t.Fatal(err)
			}
			c := fact.Fact{ID: j.Next(1), Seen: f.Seen, Mono: f.Mono, Boot: f.Boot, Pod: f.Pod, Body: fact.Checkpoint{State: kept, Node: json.RawMessage("{}")}}
			if err := j.Append(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(observed) == 0 {
		t.Fatalf("%s has nothing", recorded)
	}
}
