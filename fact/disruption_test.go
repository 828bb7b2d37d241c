package fact

import (
	"testing"
	"time"
)

// Controllers name the pods that they deleted; a StatefulSet's have the same name again and
// again.
func TestDeletedBy(t *testing.T) {
	at := time.Date(2026, 11, 23, 22, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		message string
		said    time.Duration
		want    bool
	}{
		{"Deleted pod: web-0", 0, true},
		{"delete Pod web-0 in StatefulSet web successful", 3 * time.Second, true},
		{"Deleted pod: web-0", -time.Minute, false},
		{"Deleted pod: web-0", time.Minute, false},
		{"Deleted pod: web-01", 0, false},
		{"Deleted pod: web", 0, false},
		{"", 0, false},
	} {
		if DeletedBy(DeletedPod, c.message, at.Add(c.said), "web-0", at) != c.want {
			t.Errorf("%q after %v: not %v", c.message, c.said, c.want)
		}
	}
	if DeletedBy("SuccessfulCreate", "Deleted pod: web-0", at, "web-0", at) || DeletedBy(DeletedPod, "", at, "", at) {
		t.Error("another event, or of no pod")
	}
}
