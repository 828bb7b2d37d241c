package kubectl

import (
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// Workload names what the pod comes from in the end, as kubectl takes it:
// deployment/web for a pod of a ReplicaSet of it. Empty for a pod that nothing
// controls.
func Workload(pod *v1.Pod) string {
	kind, name := fact.Workload(pod)
	if kind == "" {
		return ""
	}
	return strings.ToLower(kind) + "/" + name
}

// Editable is the workload of a pod whose template can be changed: a Job's cannot.
func Editable(pod *v1.Pod) string {
	if workload := Workload(pod); !strings.HasPrefix(workload, "job/") {
		return workload
	}
	return ""
}

// Related says whether two pods come from one workload.
func Related(a, b *v1.Pod) bool {
	if a == nil || b == nil || a.Namespace != b.Namespace {
		return false
	}
	of := Workload(a)
	return of != "" && of == Workload(b)
}
