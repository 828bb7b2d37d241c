package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/why"
)

func TestReport(t *testing.T) {
	one := &scenarios.Scenario{Name: "one", Want: scenarios.Expected{Cause: why.AppHang}}
	two := &scenarios.Scenario{Name: "two", Want: scenarios.Expected{Cause: why.DiskFull}}
	r := newReport([]scenarios.Result{
		{Scenario: one, Situation: scenarios.Live, Grade: scenarios.Right, Took: time.Second, Until: 3 * time.Second},
		{Scenario: one, Situation: scenarios.Deleted, Grade: scenarios.Beside, Err: errors.New("it also says x")},
		{Scenario: two, Situation: scenarios.Live, Grade: scenarios.Wrong, Err: errors.New("no verdict")},
		{Scenario: two, Situation: scenarios.Deleted, Grade: scenarios.Unknown, Err: errors.New("no verdict")},
	}, "at rest")
	text := r.markdown()
	for _, want := range []string{
		"2 scenarios, played 2 times, 4 questions: **score 12 %**, 1 wrong, 1 unknown; at rest.",
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
	r := newReport(nil, "at rest")
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
