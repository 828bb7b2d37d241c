package why

import (
	"slices"
	"testing"

	"whylet.dev/whylet/why/answer"
)

// Every rule that another yields to is one about the same case, and no rule yields to
// itself, by whatever way: else nobody would have the last word.
func TestYields(t *testing.T) {
	checkYields(t, &exitRules)
	checkYields(t, &probeRules)
	checkYields(t, &startRules)
	checkYields(t, &imageRules)
	checkYields(t, &deletedRules)
}

func checkYields[C any](t *testing.T, b *rulebook[C]) {
	t.Helper()
	if len(b.rules) == 0 {
		t.Error("a book without rules")
	}
	yields := map[string][]string{}
	for _, r := range b.rules {
		if _, twice := yields[r.name]; twice {
			t.Errorf("two rules are called %s", r.name)
		}
		yields[r.name] = r.yields
	}
	var follow func(name string, way []string)
	follow = func(name string, way []string) {
		if slices.Contains(way, name) {
			t.Fatalf("rules yield in a circle: %v", append(way, name))
		}
		to, known := yields[name]
		if !known {
			t.Errorf("%v yields to %s, which no rule of its kind is called", way, name)
		}
		for _, next := range to {
			follow(next, append(way, name))
		}
	}
	for name := range yields {
		follow(name, nil)
	}
}

// A rule is judged once in a case, whoever asks for what it says; it yields to one that
// explains the case strongly, or at least as well, and to no weaker one; and the order of
// the rules has no effect.
func TestHearing(t *testing.T) {
	for _, c := range []struct {
		reason, effect weight
		wins           string // empty: neither
	}{
		{strong, certain, "reason"},
		{fair, fair, "reason"},
		{fair, strong, "effect"},
		{weak, fair, "effect"},
		{refuted, strong, "effect"},
		{weak, weak, ""},
	} {
		judged := map[string]int{}
		says := func(name string, cause answer.Cause, w weight, yields ...string) rule[int] {
			return rule[int]{name: name, yields: yields, judge: func(int) *finding {
				judged[name]++
				return &finding{cause: cause, weight: w}
			}}
		}
		rules := []rule[int]{
			says("effect", answer.AppHang, c.effect, "reason"), says("reason", answer.CPUThrottled, c.reason), says("third", answer.AppHang, weak, "reason"),
		}
		for range 2 {
			slices.Reverse(rules)
			clear(judged)
			h := (&rulebook[int]{rules: rules}).hear(1)
			h.finding("reason")
			best, _ := h.judge()
			if got := ruleOf(best); got != c.wins {
				t.Errorf("%v of the reason, %v of the effect: %q wins", c.reason, c.effect, got)
			}
			for name, n := range judged {
				if n != 1 {
					t.Errorf("%s was judged %d times", name, n)
				}
			}
		}
	}
}

func ruleOf(f *finding) string {
	if f == nil {
		return ""
	}
	return f.rule
}
