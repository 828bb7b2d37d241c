package kubectl

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A change names what is to be changed: what makes the pod, or the pod that nothing makes.
func TestEditTemplate(t *testing.T) {
	owned := func(kind, name string) *v1.Pod {
		yes := true
		return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name + "-x", OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: name, Controller: &yes}}}}
	}
	for _, tt := range []struct {
		pod           *v1.Pod
		text, command string
	}{
		{owned("StatefulSet", "db"), "raise it", "kubectl -n shop edit statefulset/db"},
		{owned("Job", "import"), "raise it (in a new Job: the template of job/import cannot be changed)", ""},
		{&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, "raise it", "kubectl -n shop get pod web -o yaml >web.yaml && vi web.yaml && kubectl replace --force -f web.yaml"},
		{nil, "raise it", ""},
	} {
		if f := EditTemplate("shop", tt.pod, "raise it"); f.Text != tt.text || f.Command != tt.command {
			t.Errorf("%q, %q; not %q, %q", f.Text, f.Command, tt.text, tt.command)
		}
	}
}
