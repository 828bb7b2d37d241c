package why

import (
	"fmt"
	"os"
	"path/filepath"
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
// against them, as their files in testdata/rules have them.
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
	want := ruleTable(t)
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

func ruleTable(t *testing.T) string {
	var w strings.Builder
	w.WriteString("\n| cause | rule | what it needs to see | what speaks against it | yields to |\n|---|---|---|---|---|\n")
	row := func(cause string, r ruleText) {
		name := "`" + r.name + "`"
		if r.name == "" {
			name = "recorded"
		}
		fmt.Fprintf(&w, "| %s | %s | %s | %s | %s |\n", cause, name, r.needs, r.against, strings.Join(r.yields, ", "))
	}
	all := rulesTold(t)
	for _, c := range answer.Causes {
		for _, r := range all {
			if slices.Contains(r.causes, c) {
				row(fmt.Sprintf("`%s`", c), r)
			}
		}
	}
	for _, r := range all {
		if r.causes == nil {
			row("what others find, too", r)
		}
	}
	w.WriteString("\n")
	return w.String()
}

// Every cause has a rule, every rule of the program says what it needs, and every rule that is told of is one of
// the program.
func TestEveryCauseHasARule(t *testing.T) {
	all := rulesTold(t)
	for _, c := range answer.Causes {
		if c != answer.CauseUnknown && !slices.ContainsFunc(all, func(r ruleText) bool { return slices.Contains(r.causes, c) }) {
			t.Errorf("no rule finds %s", c)
		}
	}
	var code strings.Builder
	for _, path := range append(glob(t, "*.go"), glob(t, "*/*.go")...) {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(path, "_test.go") {
			code.Write(raw)
		}
	}
	for _, r := range all {
		if r.needs == "" {
			t.Errorf("rule %q lacks its needs", r.name)
		}
		if r.name != "" && !strings.HasPrefix(r.name, "act-") && !strings.Contains(code.String(), fmt.Sprintf("%q", r.name)) {
			t.Errorf("no code names rule %s", r.name)
		}
	}
	for name := range yieldsOf() {
		if !slices.ContainsFunc(all, func(r ruleText) bool { return r.name == name }) {
			t.Errorf("testdata/rules/%s.txt does not say what the rule needs", name)
		}
	}
}

// ruleText is a rule as the head of its file in testdata/rules tells of it.
type ruleText struct {
	name           string
	causes         []answer.Cause // nil where the head says any
	needs, against string
	noStory        string // why there is none
	yields         []string
}

// rulesTold returns all rules, in the order of their names. Those without a name are of recorded.txt.
func rulesTold(t *testing.T) (all []ruleText) {
	t.Helper()
	if readRules != nil {
		return readRules
	}
	yields := yieldsOf()
	for _, path := range glob(t, "testdata/rules/*.txt") {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		if name == "recorded" {
			name = ""
		}
		head, _, _ := strings.Cut("\n"+string(raw), "\n## ")
		for paragraph := range strings.SplitSeq(strings.TrimSpace(head), "\n\n") {
			if paragraph == "" {
				continue
			}
			r := ruleText{name: name, yields: yields[name]}
			for line := range strings.SplitSeq(paragraph, "\n") {
				key, value, _ := strings.Cut(line, ": ")
				switch key {
				case "causes":
					for cause := range strings.SplitSeq(value, ", ") {
						if cause != "any" {
							r.causes = append(r.causes, answer.Cause(cause))
						}
					}
				case "needs":
					r.needs = value
				case "against":
					r.against = value
				case "no story":
					r.noStory = value
				default:
					t.Errorf("%s: %s is nothing that the head of a rule says", path, line)
				}
			}
			all = append(all, r)
		}
	}
	readRules = all
	return all
}

// readRules is what [rulesTold] read.
var readRules []ruleText

// yieldsOf returns to which rules each of the program yields.
func yieldsOf() map[string][]string {
	all := map[string][]string{}
	addYields(all, exitRules.rules)
	addYields(all, probeRules.rules)
	addYields(all, startRules.rules)
	addYields(all, imageRules.rules)
	addYields(all, deletedRules.rules)
	return all
}

func addYields[C any](all map[string][]string, rules []rule[C]) {
	for _, r := range rules {
		all[r.name] = r.yields
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("nothing at %s: %v", pattern, err)
	}
	return paths
}
