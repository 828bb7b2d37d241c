package cluster

import "testing"

// Who holds a lock, or is the member of a health check that fails, is named by that, however common its
// name is.
func TestHasWord(t *testing.T) {
	for name, test := range map[string]struct {
		text, name string
		has        bool
	}{
		"held by it":           {"WARNING could not acquire lock:catalog, held by importer", "importer", true},
		"a holder in JSON":     {`{"holder":"worker","lock":"lock:catalog"}`, "worker", true},
		"a lease's":            {"lease is owned by pod web-7d9f", "web-7d9f", true},
		"another's":            {"held by importer-2", "importer", false},
		"a member that fails":  {"queue.status: unhealthy, status: DOWN", "queue", true},
		"one that is well":     {"queue.status: UP, status: DOWN", "queue", false},
		"its time is no fault": {"scheduler.heartbeat: 18:53", "scheduler", false},
	} {
		if got := HasWord(test.text, test.name); got != test.has {
			t.Errorf("%s: %v", name, got)
		}
	}
}
