package corpus

import (
	"path/filepath"
	"testing"
)

// What people are told to do is short, each thing once, tagged as its command is, begins with a change wherever the
// cause is known and a change is, and says after a look what to do then: what is otherwise stands in a list, with why.
func TestSteps(t *testing.T) {
	rules, err := ReadStepRules("testdata")
	if err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob("testdata/*.tar.zst")
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{}
	for _, file := range archives {
		err := EachOf(file, func(c Case) error {
			for _, by := range Sights {
				a, err := c.Ask(t.Context(), by)
				if err != nil {
					continue // TestCorpus tells
				}
				for _, v := range a.Verdicts {
					for _, fault := range rules.Check(v) {
						if !told[fault] {
							t.Errorf("%s, %s: %s", c.Scenario, by, fault)
						}
						told[fault] = true
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
