package kubectl

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWorkloadOf(t *testing.T) {
	for _, c := range []struct {
		kind, name, hash string
		workload, edit   string
	}{
		{"ReplicaSet", "web-6755b7dd7f", "6755b7dd7f", "deployment/web", "deployment/web"},
		{"ReplicaSet", "web-blue", "", "replicaset/web-blue", "replicaset/web-blue"},
		{"StatefulSet", "db", "", "statefulset/db", "statefulset/db"},
		{"Job", "backup-29391840", "", "cronjob/backup", "cronjob/backup"},
		{"Job", "backup-now", "", "job/backup-now", ""},
		{"Job", "backup-", "", "job/backup-", ""},
		{"", "", "", "", ""},
	} {
		pod := &v1.Pod{}
		if c.kind != "" {
			yes := true
			pod.OwnerReferences = []metav1.OwnerReference{{Kind: c.kind, Name: c.name, Controller: &yes}}
			pod.Labels = map[string]string{"pod-template-hash": c.hash}
		}
		if got := Workload(pod); got != c.workload {
			t.Errorf("%s %s comes from %q, want %q", c.kind, c.name, got, c.workload)
		}
		if got := Editable(pod); got != c.edit {
			t.Errorf("%s %s is changed at %q, want %q", c.kind, c.name, got, c.edit)
		}
	}
}
