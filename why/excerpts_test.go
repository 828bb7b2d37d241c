package why

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/history"
	"whylet.dev/whylet/why/words"
)

// Of the logs in package words' testdata, those and only those of which a person would say that
// something could not be reached make that the cause, with its name.
func TestExcerptsNameWhatIsNotReached(t *testing.T) {
	files, err := filepath.Glob("../logline/testdata/excerpts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no excerpts:", err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range strings.Split("\n"+string(raw), "\n=== ")[1:] {
			head, log, _ := strings.Cut(text, "\n---\n")
			if strings.Contains(head, "\nlives") || strings.Contains(head, "\nmiss") {
				continue
			}
			_, means, _ := strings.Cut(head, "\nmeans: ")
			means, _, _ = strings.Cut(means, "\n")
			kind, place, _ := strings.Cut(means, " ")
			lines, _ := words.Keep(strings.Split(strings.TrimRight(log, "\n"), "\n"), 10, 1<<10)
			s := tell(t, web(silentProbe))
			s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, LastLines: lines})
			v := Explain(history.New(s.key, s.facts, s.node, s.near), Options{Now: s.now}).Verdicts[0]
			unreached := slices.Contains([]string{"refused", "unknown", "timeout", "nodns", "unreached"}, kind)
			if unreached != (v.Cause == answer.DependencyDown) || unreached && !strings.Contains(v.Text, place) {
				t.Errorf("%s, %s: %s: %s", file, strings.ReplaceAll(head, "\n", "; "), v.Cause, v.Text)
			}
		}
	}
}
