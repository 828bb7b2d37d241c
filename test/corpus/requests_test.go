package corpus

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"whylet.dev/whylet/test/e2e/scenarios"
	"whylet.dev/whylet/test/requests"
	"whylet.dev/whylet/why/ask"
)

// TestRequests asks every case again and counts what each question reads of the API server.
func TestRequests(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.tar.zst")
	if err != nil || len(archives) == 0 {
		t.Fatalf("there are no archives: %v", err)
	}
	var lock sync.Mutex
	most, all := 0, 0
	scenarios.SideBySide(len(archives), runtime.GOMAXPROCS(0), func(i int) {
		err := EachOf(archives[i], func(c Case) error {
			for _, by := range Sights {
				from, count, err := requests.Counted(c.Case, by == scenarios.ByAgent)
				if err != nil {
					return err
				}
				targets, err := ask.ParseTargets([]string{c.Subject}, false)
				if err != nil {
					return err
				}
				if _, err := from.About(t.Context(), targets[0]); err != nil && !errors.As(err, new(*ask.PartialError)) {
					t.Errorf("%s, %s: %v", c.Scenario, by, err)
				}
				for _, fault := range count.Faults() {
					t.Errorf("%s, %s: %s", c.Scenario, by, fault)
				}
				lock.Lock()
				most, all = max(most, count.Lists()), all+count.Lists()
				lock.Unlock()
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", archives[i], err)
		}
	})
	t.Logf("at most %d LISTs for a question, %d for all", most, all)
}
