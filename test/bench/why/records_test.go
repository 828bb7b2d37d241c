package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/why/answer"
)

// A run that was stopped goes on where it was, and what is asked again counts once.
func TestGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results")
	one := &scenarios.Scenario{Name: "one", Recover: "recover.sh", Want: scenarios.Expected{Subject: "pod/subject", Cause: answer.AppHang}}
	both := []scenarios.Situation{scenarios.Live, scenarios.Recovered}
	keep := func(round int, played ...scenarios.Result) []record {
		t.Helper()
		o := options{results: file, width: 2}
		var err error
		if o.kept, err = readRecords(file); err != nil {
			t.Fatal(err)
		}
		if err := o.keep(round, played); err != nil {
			t.Fatal(err)
		}
		read, err := readRecords(file)
		if err != nil || len(read) != len(o.kept) {
			t.Fatalf("%d in the file, %d in memory, %v", len(read), len(o.kept), err)
		}
		return read
	}
	live := scenarios.Result{Scenario: one, Situation: scenarios.Live, Err: errors.New("it did not start\nat all")}
	if all := keep(0, live); played(all, 0, 0, one, both) || !played(all, 0, 0, one, both[:1]) || played(all, 1, 0, one, both[:1]) || played(all, 0, 15, one, both[:1]) {
		t.Error("what was played is not what was kept")
	} else if all[0].Failed != "it did not start" {
		t.Errorf("it failed for %q", all[0].Failed)
	}
	live.Samples, live.Err = samples(scenarios.Wrong, scenarios.Right), nil
	all := keep(0, live, scenarios.Result{Scenario: one, Situation: scenarios.Recovered, Samples: samples(scenarios.Right)})
	if len(all) != 2 || !played(all, 0, 0, one, both) || len(all[0].Samples) != 2 || all[0].Failed != "" {
		t.Errorf("kept: %+v", all)
	}
	if err := os.WriteFile(file, []byte("{\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readRecords(file); err == nil {
		t.Error("half a line was read")
	}
}
