package why

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
)

// A pod that takes long to end says which container still runs, and until when it may.
func TestStillEnds(t *testing.T) {
	for grace, want := range map[time.Duration]bool{300 * time.Second: true, 10 * time.Second: false} {
		pod := web()
		pod.DeletionTimestamp = &metav1.Time{Time: dawn.Add(grace)}
		a := besideKubelet(pod, fact.Started{ContainerID: "c://0", PID: 100}, fact.StatusSeen{Status: v1.PodStatus{Phase: v1.PodRunning}}, fact.DeletionSeen{GraceSeconds: int64(grace.Seconds())})
		v := a.Verdicts[0]
		if got := strings.Contains(v.Text, "Container app still runs "); got != want || got && !strings.Contains(v.Text, "the node kills it by 05:05:00") || a.Symptoms[0].Kind != answer.Terminating {
			t.Errorf("%s: %s", grace, a.Text(answer.Style{Wide: true}))
		}
		if got := strings.HasSuffix(v.Fixes[0].Command, "delete pod web-1 --grace-period=1"); got != want {
			t.Errorf("%s: %+v", grace, v.Fixes)
		}
	}
}
