package words

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/logline"
)

// What an entry says that it stands for counts, for each of its samples and without a line of code: a client's log is
// read by it, and a line without a level has its severity.
func TestRoles(t *testing.T) {
	roles := map[knowledge.Outcome]bool{}
	for _, e := range knowledge.Embedded().Entries() {
		for _, said := range e.Samples {
			if o := e.Role.Client; o != "" {
				roles[o] = true
				_, _, never := Unreached(said)
				_, _, fails := FailedBy(said)
				switch {
				case slices.Contains(unreached, o) && !never, slices.Contains(failed, o) && !fails, !OfAnother(said):
					t.Errorf("%s is %s in a client's log, and is not read so: %s", e.ID, o, said)
				}
			}
			if e.Role.Server == knowledge.NoCluster && !Says(said, knowledge.NoCluster) {
				t.Errorf("%s: %s", e.ID, said)
			}
		}
		if e.Severity != "" && !slices.ContainsFunc(e.Samples, func(said string) bool { return decided(e, said) }) {
			t.Errorf("%s is %s, which decides nothing for any of its samples", e.ID, e.Severity)
		}
	}
	for _, o := range knowledge.Outcomes {
		if !roles[o] {
			t.Errorf("no entry is %s in a client's log", o)
		}
	}
}

// decided reports whether the severity of an entry is that of a line, and would be another without it: bare, or at a
// mild level.
func decided(e *knowledge.Entry, said string) bool {
	want := map[string]logline.Severity{"error": logline.Error, "warning": logline.Warning}[e.Severity]
	for _, line := range []string{said, strings.NewReplacer("WARN ", "INFO ", "[warning]", "[info]").Replace(said), "level=info msg=" + strconv.Quote(said), "level=info msg=tried error=" + strconv.Quote(said)} {
		if Read([]string{line}).Severity(0) == want && logline.Parse([]string{line}, nil).Severity(0) != want {
			return true
		}
	}
	return false
}
