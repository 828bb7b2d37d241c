package differential

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"whylet.dev/whylet/test/differential/record"
)

// expected is a difference that is meant. key, real and ours are regular
// expressions for the whole text; an empty one means that the side says nothing.
type expected struct {
	key, real, ours string
	// why is the heading in docs/differences.md that gives the reason.
	why string
	// sometimes is for what the real stack says in one run and not in another.
	sometimes bool
}

func (e expected) matches(d record.Difference) bool {
	return whole(e.key, d.Key) && whole(e.real, d.Real) && whole(e.ours, d.Ours)
}

func whole(pattern, text string) bool {
	return regexp.MustCompile(`(?s)^(?:` + pattern + `)$`).MatchString(text)
}

// wrong names each difference that nobody expects, and each expectation of the
// scenario that did not come true.
func (s scenario) wrong(found []record.Difference) (wrong []string) {
	used := make([]bool, len(s.differs))
	for _, d := range found {
		meant := false
		for i, e := range s.differs {
			if e.matches(d) {
				used[i], meant = true, true
			}
		}
		for _, e := range everywhere {
			meant = meant || e.matches(d)
		}
		if !meant {
			wrong = append(wrong, fmt.Sprintf("%s\n  kubelet: %s\n  whylet:  %s", d.Key, orNothing(d.Real), orNothing(d.Ours)))
		}
	}
	for i, e := range s.differs {
		if !used[i] && !e.sometimes {
			wrong = append(wrong, fmt.Sprintf("expected a difference that is not there (%s): %s\n  kubelet: %s\n  whylet:  %s", e.why, e.key, e.real, e.ours))
		}
	}
	return wrong
}

func orNothing(text string) string {
	if text == "" {
		return "(nothing)"
	}
	return text
}

// Each reason that a table names stands in the document.
func TestDifferencesAreExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	check := func(where string, all []expected) {
		for _, e := range all {
			if !strings.Contains(string(text), fmt.Sprintf("## %s\n", e.why)) {
				t.Errorf("%s: docs/differences.md has no section %q", where, e.why)
			}
		}
	}
	check("everywhere", everywhere)
	for _, table := range tables {
		for _, s := range table {
			check(s.name, s.differs)
		}
	}
}
