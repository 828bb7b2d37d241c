package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/why/answer"
)

// samples are one a second, from the first symptom on.
func samples(grades ...scenarios.Grade) []scenarios.Sample {
	var all []scenarios.Sample
	for i, g := range grades {
		one := scenarios.Sample{After: time.Duration(i) * 2 * time.Second, Took: time.Second, Grade: g}
		if g != scenarios.Right {
			one.Why = "it is " + string(g)
		}
		all = append(all, one)
	}
	return all
}

func TestReport(t *testing.T) {
	const right, wrong, unknown, beside = scenarios.Right, scenarios.Wrong, scenarios.Unknown, scenarios.Beside
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	overstated := samples(right, right, wrong)
	overstated[2].Overstated = true
	one := record{Cause: answer.AppHang, Sight: scenarios.ByNode, At: noon, Machine: "2 CPUs", Measured: 3, Width: 16}
	of := func(name string, in scenarios.Situation, load int, all []scenarios.Sample) record {
		r := one
		r.Scenario, r.Situation, r.Load, r.Samples = name, in, load, all
		return r
	}
	failed := of("three", scenarios.Restarted, 0, nil)
	failed.Failed, failed.Cause, failed.At, failed.Measured = "it did not start", answer.DiskFull, noon.AddDate(0, 0, 1), 7
	r := newReport([]record{
		of("one", scenarios.Live, 0, samples(unknown, right, right, right)), // what is said in the first seconds is no answer yet
		of("one", scenarios.Live, 15, samples(right, right, wrong, wrong, wrong, wrong)),
		of("two", scenarios.Deleted, 0, samples(right, beside)),
		of("two", scenarios.Live, 15, overstated),
		failed,
	})
	text := r.markdown()
	for _, want := range []string{
		"3 scenarios, 5 questions, 10 answers, each graded, from 3s after the first symptom on: **30.0 % right, 50.0 % wrong, score -15 %**; 1 wrong verdicts were called recorded; " +
			"2026-05-01 to 2026-05-02, 2 CPUs, 16 side by side at a measured load of 3 to 7.",
		"| live | 2 | 2 | 0 | 0 | 0 | 100 % | 1 | 0 | 1 | 1s | 1s |",
		"| live, busy | 5 | 0 | 0 | 0 | 5 | -100 % | 2 | 2 | 0 | 1s | 1s |",
		"| `one` | 100 % | -100 % | wrong, live, busy (4× from 4s to 10s): it is wrong |",
		"| `two` | 75 % | -100 % | wrong, live, busy (after 4s): it is wrong; beside, pod deleted (after 2s): it is beside |",
		"| `three` | 0 % | – | unknown, agent restarted (after 0s): it did not start |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Index(text, "| `one`") > strings.Index(text, "| `two`") {
		t.Error("the worst scenario is not the first")
	}
}

func TestWriteInto(t *testing.T) {
	begin, end := markers("table")
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte("above\n"+begin+"old\n"+end+"below\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := newReport(nil)
	for range 2 {
		if err := r.writeInto(file, "table"); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	if strings.Contains(text, "old") || strings.Count(text, "0 scenarios") != 1 || !strings.HasPrefix(text, "above\n") || !strings.HasSuffix(text, "below\n") {
		t.Errorf("the page is now:\n%s", text)
	}
	if err := r.writeInto(file, "another"); err == nil {
		t.Error("a page without markers was written")
	}
}

// What keeps the machine busy runs, and is gone afterwards.
func TestBusy(t *testing.T) {
	stop, err := busy(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
