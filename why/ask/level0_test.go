package ask

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A log is of the run that it was written in, whatever a status of a moment ago says.
func TestDuring(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 44, 41, 0, time.UTC)
	run := &v1.ContainerStateTerminated{StartedAt: metav1.NewTime(at), FinishedAt: metav1.NewTime(at.Add(3 * time.Second))}
	for _, c := range []struct {
		name  string
		lines []logged
		want  bool
	}{
		{"its own", []logged{{at.Add(3 * time.Second), "dd: No space left on device"}}, true},
		{"its own, and the last was copied late", []logged{{at.Add(time.Second), "begins"}, {at.Add(9 * time.Second), "ends"}}, true},
		{"the next run's", []logged{{at.Add(5 * time.Second), "begins"}}, false},
		{"the one before", []logged{{at.Add(-5 * time.Second), "begins"}}, false},
		{"nobody says when", []logged{{time.Time{}, "begins"}}, true},
		{"nothing", nil, false},
	} {
		if got := during(c.lines, run); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
