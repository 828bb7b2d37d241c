package why

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"whylet.dev/whylet/why/answer"
)

const (
	page       = "../docs/rules.md"
	tableBegin = "<!-- The table of rules. Written by: go test ./why -run TestRulePage -rewrite -->\n"
	tableEnd   = "<!-- The end of the table of rules. -->\n"
)

// The page shows every cause with its rules, what they need and what speaks
// against them, as the code has them.
func TestRulePage(t *testing.T) {
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), tableBegin)
	got, after, closed := strings.Cut(rest, tableEnd)
	if !ok || !closed {
		t.Fatal("the table has lost its beginning or its end")
	}
	want := ruleTable()
	if *rewrite {
		if err := os.WriteFile(page, []byte(before+tableBegin+want+tableEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Error("docs/rules.md does not show the rules as they are: go test ./why -run TestRulePage -rewrite")
	}
}

// manyCauses is from how many causes on a rule stands once at the end of the table, and
// not with each of them.
const manyCauses = 20

func ruleTable() string {
	var w strings.Builder
	w.WriteString("\n| cause | rule | what it needs to see | what speaks against it | yields to |\n|---|---|---|---|---|\n")
	for _, c := range answer.Causes {
		for _, r := range Rules() {
			if !slices.Contains(r.Causes, c) || len(r.Causes) > manyCauses {
				continue
			}
			name := "`" + r.Name + "`"
			if r.Name == "" {
				name = "recorded"
			}
			fmt.Fprintf(&w, "| `%s` | %s | %s | %s | %s |\n", c, name, r.Needs, r.Against, strings.Join(r.Yields, ", "))
		}
	}
	for _, r := range Rules() {
		if len(r.Causes) > manyCauses {
			fmt.Fprintf(&w, "| %d causes that others find, too | `%s` | %s | %s | %s |\n", len(r.Causes), r.Name, r.Needs, r.Against, strings.Join(r.Yields, ", "))
		}
	}
	w.WriteString("\n")
	return w.String()
}

// Every cause has a rule, and every rule says what it needs.
func TestEveryCauseHasARule(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if r.Needs == "" || len(r.Causes) == 0 || r.Name != "" && seen[r.Name] {
			t.Errorf("rule %q is there twice, or lacks its causes or its needs", r.Name)
		}
		seen[r.Name] = true
	}
	for _, c := range answer.Causes {
		has := slices.ContainsFunc(Rules(), func(r Rule) bool { return slices.Contains(r.Causes, c) })
		if !has && c != answer.CauseUnknown {
			t.Errorf("no rule finds %s", c)
		}
	}
}
