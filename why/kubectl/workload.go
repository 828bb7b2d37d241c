package kubectl

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Workload names what the pod comes from in the end, as kubectl takes it:
// deployment/web for a pod of a ReplicaSet of it. Empty for a pod that nothing
// controls.
func Workload(pod *v1.Pod) string {
	if pod == nil {
		return ""
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return ""
	}
	if name := stem(pod, owner.Name); owner.Kind == "ReplicaSet" && name != owner.Name {
		return "deployment/" + name
	}
	if name, minute, found := cutLast(owner.Name, "-"); owner.Kind == "Job" && found && minute != "" && strings.Trim(minute, "0123456789") == "" {
		return "cronjob/" + name // which names its jobs after itself and the minute
	}
	return strings.ToLower(owner.Kind) + "/" + owner.Name
}

// Editable is the workload of a pod whose template can be changed: a Job's cannot.
func Editable(pod *v1.Pod) string {
	if workload := Workload(pod); !strings.HasPrefix(workload, "job/") {
		return workload
	}
	return ""
}

// stem is the name of the workload behind a controller. The deployment controller
// appends the hash of the template to the names of its ReplicaSets.
func stem(pod *v1.Pod, owner string) string {
	return strings.TrimSuffix(owner, "-"+pod.Labels["pod-template-hash"])
}

// Related says whether two pods come from one workload.
func Related(a, b *v1.Pod) bool {
	if a == nil || b == nil || a.Namespace != b.Namespace {
		return false
	}
	of := Workload(a)
	return of != "" && of == Workload(b)
}

// cutLast is strings.Cut at the last separator.
func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
