package corpus

import (
	"errors"
	"sync"
	"testing"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/test/requests"
	"whylet.dev/whylet/why/ask"
)

// TestRequests asks every case again and counts what each question reads of the API server.
func TestRequests(t *testing.T) {
	var lock sync.Mutex
	most, all := 0, 0
	err := eachCase(func(_ string, c Case) {
		countRequests(t, c, func(lists int) {
			lock.Lock()
			defer lock.Unlock()
			most, all = max(most, lists), all+lists
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("at most %d LISTs for a question, %d for all", most, all)
}

// countRequests asks a case as well as it can be, and tells how many LISTs each question took.
func countRequests(t *testing.T, c Case, tell func(lists int)) {
	targets, err := ask.ParseTargets([]string{c.Subject}, false)
	if err != nil {
		t.Errorf("%s: %v", c.Scenario, err)
		return
	}
	for _, by := range Sights {
		from, count, err := requests.Counted(c.Case, by == scenarios.ByAgent)
		if err == nil {
			if _, err = from.About(t.Context(), targets[0]); errors.As(err, new(*ask.PartialError)) {
				err = nil
			}
		}
		if err != nil {
			t.Errorf("%s, %s: %v", c.Scenario, by, err)
			continue
		}
		for _, fault := range count.Faults() {
			t.Errorf("%s, %s: %s", c.Scenario, by, fault)
		}
		tell(count.Lists())
	}
}
