package ask

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why"
)

// A log is of the run that it was written in, whatever a status of a moment ago says.
func TestDuring(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 44, 41, 0, time.UTC)
	run := &v1.ContainerStateTerminated{StartedAt: metav1.NewTime(at), FinishedAt: metav1.NewTime(at.Add(3 * time.Second))}
	for _, c := range []struct {
		name string
		log  why.Log
		want bool
	}{
		{"its own", why.Log{Lines: []string{"dd: No space left on device"}, At: []time.Time{at.Add(3 * time.Second)}}, true},
		{"its own, and the last was copied late", why.Log{Lines: []string{"begins", "ends"}, At: []time.Time{at.Add(time.Second), at.Add(9 * time.Second)}}, true},
		{"the next run's", why.Log{Lines: []string{"begins"}, At: []time.Time{at.Add(5 * time.Second)}}, false},
		{"the one before", why.Log{Lines: []string{"begins"}, At: []time.Time{at.Add(-5 * time.Second)}}, false},
		{"nobody says when", why.Log{Lines: []string{"begins"}, At: []time.Time{{}}}, true},
		{"nothing", why.Log{}, false},
	} {
		if got := during(c.log, run); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
