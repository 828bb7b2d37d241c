package why

import (
	"os"
	"slices"
	"strings"
	"testing"

	"whylet.dev/whylet/why/answer"
)

// TestEveryRuleFires holds every rule to a story in which it gives the verdict, and every file of stories
// to a rule.
func TestEveryRuleFires(t *testing.T) {
	fired, none := 0, 0
	known := map[string]bool{"unknown": true, "recorded": true}
	for _, r := range rulesTold(t) {
		known[r.name] = true
		if r.name == "" || r.noStory != "" {
			none++
			continue
		}
		path := "testdata/rules/" + r.name + ".txt"
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		gives := strings.Contains(string(raw), ", inferred by "+r.name+"\n") || slices.ContainsFunc(strings.Split(string(raw), "\n"), func(line string) bool {
			_, verdict, _ := strings.Cut(line, ": ")
			cause, _, _ := strings.Cut(verdict, " ")
			return strings.HasSuffix(line, ", recorded") && slices.Contains(r.causes, answer.Cause(cause))
		})
		if fired++; !gives {
			t.Errorf("no story in %s ends with a verdict of rule %s", path, r.name)
		}
	}
	for name, path := range stories(t) {
		if !known[name] && !strings.HasPrefix(name, "recorded-") {
			t.Errorf("%s is about no rule", path)
		}
	}
	t.Logf("%d rules give a verdict in their own stories, %d have none", fired, none)
}
