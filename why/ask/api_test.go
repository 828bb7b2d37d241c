package ask

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/fromapi"
)

// A log is of the run that it was written in, whatever a status of a moment ago says.
func TestDuring(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 44, 41, 0, time.UTC)
	run := &v1.ContainerStateTerminated{StartedAt: metav1.NewTime(at), FinishedAt: metav1.NewTime(at.Add(3 * time.Second))}
	for _, c := range []struct {
		name  string
		lines []fromapi.Line
		want  bool
	}{
		{"its own", []fromapi.Line{{At: at.Add(3 * time.Second), Text: "dd: No space left on device"}}, true},
		{"its own, and the last was copied late", []fromapi.Line{{At: at.Add(time.Second), Text: "begins"}, {At: at.Add(9 * time.Second), Text: "ends"}}, true},
		{"the next run's", []fromapi.Line{{At: at.Add(5 * time.Second), Text: "begins"}}, false},
		{"the one before", []fromapi.Line{{At: at.Add(-5 * time.Second), Text: "begins"}}, false},
		{"nobody says when", []fromapi.Line{{Text: "begins"}}, true},
		{"nothing", nil, false},
	} {
		if got := during(c.lines, run); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
