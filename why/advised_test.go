package why

import (
	"strings"
	"testing"
	"time"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// What a container's own words advise is the first step, in short where the answer quotes it, and
// with a risk that fits; what is old, or empty, is none.
func TestAdvised(t *testing.T) {
	ends := func(lines ...string) func(*tale) {
		return func(s *tale) { s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, LastLines: lines}) }
	}
	long := "DETAIL:  " + strings.Repeat("The database was initialized with a locale that is not there. ", 5)
	for name, c := range map[string]struct {
		tale func(*tale)
		risk answer.Risk
		want string
	}{
		"a hint that is quoted": {
			ends("pg_dump: error: query failed: ERROR:  out of shared memory", "HINT:  You might need to increase max_locks_per_transaction."),
			answer.Restarts, "do what its words advise: increase max_locks_per_transaction: ",
		},
		"a hint for which there was no room": {
			ends("2026-11-24 02:35:11 UTC [40] FATAL:  lock file \"/data/postmaster.pid\" exists", long, "HINT:  Remove the file \"/data/postmaster.pid\" if no other server runs."),
			answer.Destructive, `do what its words advise: "Remove the file \"/data/postmaster.pid\" if no other server runs.": `,
		},
		"to look": {
			ends("Error: Mismatching labels. Please make sure both labels match."),
			answer.Inspect, "do what its words advise: make sure both labels match: kubectl -n shop logs web-1 -c app -p --tail=100",
		},
		"a question": {
			ends("[ALERT]    (1) : config : unknown keyword 'maxcon' in 'global' section; did you mean 'maxconn' maybe ?"),
			answer.Inspect, "check what its words ask: did you mean 'maxconn' maybe ?: kubectl -n shop logs web-1 -c app -p --tail=100",
		},
		"a termination message": {
			func(s *tale) {
				s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, Message: "cannot read the cache. Please run warm-cache first."})
			},
			answer.Restarts, "do what its words advise: run warm-cache first: ",
		},
		"how it has to be": {ends("Error: the region must be set"), answer.Inspect, "read more of its log"},
		"what is empty":    {ends("Error: the server is busy. Please try again later."), answer.Inspect, "read more of its log"},
		"what was said long before": {
			func(s *tale) {
				at := s.now
				s.wait(10 * time.Minute)
				s.exit("app", fact.Exited{ExitCode: 1, OOMKnown: true, LastLines: []string{"ERROR: no cache. Please run warm-cache first.", "serving"}, LastLinesAt: []time.Time{at, s.now}})
			},
			answer.Inspect, "read more of its log",
		},
		"a log while a probe fails": {
			func(s *tale) {
				s.probe("app", 3, status(fact.Readiness, 500, "down"))
				s.said([]time.Duration{time.Second, time.Second}, "ERROR:  relation \"orders\" does not exist", "HINT:  Run the migrations of this version.")
				s.probe("app", 1, status(fact.Readiness, 500, "down"))
			},
			answer.Restarts, "run the program's migrations against that database",
		},
	} {
		s := tell(t, web(silentProbe))
		if strings.Contains(name, "probe") {
			s = tell(t, web(ready))
		}
		c.tale(s)
		v := s.ask().Verdicts[0]
		if len(v.Fixes) == 0 || !strings.HasPrefix(v.Fixes[0].Text+": "+v.Fixes[0].Command, c.want) || v.Fixes[0].Risk != c.risk {
			t.Errorf("%s: %+v\n%s", name, v.Fixes, v.Text)
		}
	}
}
