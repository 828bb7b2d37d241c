package node

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// A request names a pod; of two of one name it is the one that was there then.
func TestNamedPod(t *testing.T) {
	l, _ := testLoop(t)
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for i, uid := range []types.UID{"old", "new"} {
		key := fact.Pod{Namespace: "ns", Name: "web-0", UID: uid}
		l.pods[uid] = &pod{key: key, remembered: remembered{Object: &v1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(i) * time.Hour))}}}}
	}
	for name, c := range map[string]struct {
		pod  string
		at   time.Time
		want types.UID
	}{
		"the first":     {"web-0", noon.Add(time.Minute), "old"},
		"the second":    {"web-0", noon.Add(2 * time.Hour), "new"},
		"neither yet":   {"web-0", noon.Add(-time.Minute), ""},
		"another's":     {"web-1", noon.Add(time.Hour), ""},
		"at its making": {"web-0", noon, "old"},
	} {
		if got, _ := l.named("ns", c.pod, c.at); got.UID != c.want {
			t.Errorf("%s: %q, want %q", name, got.UID, c.want)
		}
	}
}
