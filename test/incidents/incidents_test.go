package incidents

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"whylet.dev/whylet/test/corpus"
	"whylet.dev/whylet/test/requests"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
)

var rewrite = flag.Bool("rewrite", false, "write the answers as they are now into testdata; read them")

// Incidents are answered as a good engineer answers them, by the API alone.
func TestIncidents(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no incidents", err)
	}
	rules, err := corpus.ReadStepRules("../corpus/testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			i, err := parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			a := i.answer(t)
			i.judge(t, a)
			for _, fault := range rules.Check(a.Verdicts[0]) {
				t.Error(fault)
			}
			text := a.Text(answer.Style{})
			at := slices.IndexFunc(i.archive.Files, func(f txtar.File) bool { return f.Name == "answer" })
			if at < 0 {
				at = len(i.archive.Files)
				i.archive.Files = append(i.archive.Files, txtar.File{Name: "answer"})
			}
			if string(i.archive.Files[at].Data) == text {
				return
			}
			i.archive.Files[at].Data = []byte(text)
			if !*rewrite {
				t.Errorf("the answer is another than in %s (-rewrite keeps it):\n%s", file, text)
			} else if err := os.WriteFile(file, txtar.Format(i.archive), 0o644); err != nil {
				t.Error(err)
			}
		})
	}
}

func (i *incident) answer(t *testing.T) *answer.Answer {
	t.Helper()
	from, count, err := requests.Counted(i.made, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, fault := range count.Faults() {
			t.Error(fault)
		}
	}()
	targets, err := ask.ParseTargets(i.want["ask"], false)
	if err != nil {
		t.Fatal(err)
	}
	all, err := ask.Several(t.Context(), from, targets)
	if len(all) == 0 {
		t.Fatalf("no answer: %v", err)
	}
	return &all[0]
}

// judge says where an answer is not what the incident's file says.
func (i *incident) judge(t *testing.T, a *answer.Answer) {
	t.Helper()
	s, v := a.Symptoms[0], a.Verdicts[0]
	if want := i.want["symptom"]; len(want) > 0 && want[0] != string(s.Kind) {
		t.Errorf("symptom %s, not %s", s.Kind, want[0])
	}
	if want := i.want["cause"]; len(want) > 0 && !slices.Contains(strings.Fields(want[0]), string(v.Cause)) {
		t.Errorf("cause %s, not %s", v.Cause, want[0])
	}
	for _, want := range i.want["leads"] {
		if v.Pod != want && "shop/"+s.Pod != want {
			t.Errorf("it leads to %q, not to %s", v.Pod, want)
		}
	}
	text := strings.Join(strings.Fields(a.Text(answer.Style{})), " ")
	for _, want := range i.want["says"] {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("it does not say %q", want)
		}
	}
	for _, open := range i.want["open"] {
		if regexp.MustCompile(open).MatchString(text) {
			t.Errorf("it says %q by now: that is open no more", open)
		}
	}
	for _, not := range i.want["never"] {
		if regexp.MustCompile(not).MatchString(text) {
			t.Errorf("it says %q", not)
		}
	}
}
