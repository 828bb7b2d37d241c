package runtime

import (
	"slices"
	"testing"

	"whylet.dev/whylet/fact"
)

// Which variables a run was given otherwise than the one before it is told by name; where the
// one before it was not seen, nothing is.
func TestVariablesOfRuns(t *testing.T) {
	var all variables
	run := func(attempt int32, environment ...string) view {
		return view{pod: fact.Pod{UID: "u"}, name: "app", attempt: attempt, environment: environment}
	}
	for _, c := range []struct {
		name  string
		v     view
		other []string
		ok    bool
	}{
		{"the first that is seen", run(3, "MODE=good", "PATH=/bin"), nil, false},
		{"the same", run(4, "PATH=/bin", "MODE=good"), nil, true},
		{"another value, one more and one less", run(5, "MODE=bad=", "NEW="), []string{"MODE", "NEW", "PATH"}, true},
		{"one between was not seen", run(7, "MODE=bad="), nil, false},
		{"an older one", run(6, "MODE=x"), nil, false},
		{"the runtime does not say", run(8), nil, false},
		{"the one after it", run(8, "MODE=bad="), nil, true},
	} {
		if other, ok := all.compare(c.v); ok != c.ok || !slices.Equal(other, c.other) {
			t.Errorf("%s: %v %v", c.name, other, ok)
		}
	}
	all.keep(map[string]view{"x": run(9)})
	if len(all.runs) != 1 {
		t.Error("a container that is there was forgotten")
	}
	if all.keep(nil); len(all.runs) != 0 {
		t.Error("a container that is gone is kept")
	}
}
