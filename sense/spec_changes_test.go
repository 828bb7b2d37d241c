package sense

import (
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestChangedFields(t *testing.T) {
	old := &v1.Pod{}
	old.Labels = map[string]string{"app": "web", "": "odd"}
	old.Spec.Containers = []v1.Container{{Name: "web", Image: "web:1", Args: []string{"a", "b"}}, {Name: "log", Image: "log:1"}}
	pod := old.DeepCopy()
	pod.Labels["app"] = "shop"
	pod.Spec.Containers[0].Image, pod.Spec.Containers[0].Args = "web:2", []string{"a", "c"}
	pod.Spec.Containers = pod.Spec.Containers[:1]
	pod.Status.Phase = v1.PodRunning
	want := []string{"metadata.labels.app", "spec.containers[log]", "spec.containers[web].args[1]", "spec.containers[web].image"}
	if got := ChangedFields(old, pod); !slices.Equal(got, want) {
		t.Errorf("changed %q, want %q", got, want)
	}
	if got := ChangedFields(nil, pod); got != nil {
		t.Errorf("seen first, changed %q", got)
	}
}
