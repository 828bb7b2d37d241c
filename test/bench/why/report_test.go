package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/why"
)

func TestReport(t *testing.T) {
	noon := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	r := newReport([]record{
		{Scenario: "one", Cause: why.AppHang, Situation: scenarios.Live, Grade: scenarios.Right, Took: time.Second, Until: 3 * time.Second, At: noon, Machine: "2 CPUs", Load: 3, Width: 16},
		{Scenario: "one", Cause: why.AppHang, Situation: scenarios.Deleted, Grade: scenarios.Beside, Why: "it also says x", At: noon, Machine: "2 CPUs", Load: 7, Width: 16},
		{Scenario: "two", Cause: why.DiskFull, Situation: scenarios.Live, Grade: scenarios.Wrong, Why: "no verdict", At: noon.AddDate(0, 0, 1), Machine: "2 CPUs", Load: 5, Width: 16},
		{Scenario: "two", Cause: why.DiskFull, Situation: scenarios.Deleted, Grade: scenarios.Unknown, Why: "no verdict", At: noon, Machine: "2 CPUs", Load: 5, Width: 16},
	})
	text := r.markdown()
	for _, want := range []string{
		"2 scenarios, played 2 times, 4 questions: **score 12 %**, 1 wrong, 1 unknown; 2026-05-01 to 2026-05-02, 2 CPUs, 16 side by side at a load of 3 to 7.",
		"| live | 2 | 1 | 0 | 0 | 1 | 0 % | 1s | 1s |",
		"| `app-hang` | 2 | 1 | 1 | 0 | 0 | 75 % |",
		"| wrong | `two` | live 1× | no verdict |\n| unknown | `two` | pod deleted 1× | no verdict |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Index(text, "`disk-full`") > strings.Index(text, "`app-hang`") {
		t.Error("the weakest cause is not the first")
	}
}

func TestWriteInto(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte("above\n"+begin+"old\n"+end+"below\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := newReport(nil)
	for range 2 {
		if err := r.writeInto(file); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	if strings.Contains(text, "old") || strings.Count(text, "**score") != 1 || !strings.HasPrefix(text, "above\n") || !strings.HasSuffix(text, "below\n") {
		t.Errorf("the page is now:\n%s", text)
	}
	if err := os.WriteFile(file, []byte("no markers"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := r.writeInto(file); err == nil {
		t.Error("a page without markers was written")
	}
}
