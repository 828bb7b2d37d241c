package kubectl

import (
	"slices"
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

// Restart returns the command that has the pods of a pod's workload started again, or a bare pod made anew as it is. Empty
// for a Job's, which may count that as a failure, and where the pod is not known.
func Restart(namespace string, pod *v1.Pod) string {
	switch {
	case pod == nil:
		return ""
	case Workload(pod) == "":
		return Command(namespace, "get pod %s -o yaml | kubectl replace --force -f -", pod.Name)
	case Restartable(Workload(pod)):
		return Command(namespace, "rollout restart %s", Workload(pod))
	case strings.HasPrefix(Workload(pod), "job/"), strings.HasPrefix(Workload(pod), "cronjob/"):
		return ""
	}
	return Command(namespace, "delete pod %s", pod.Name)
}

// Restartable reports whether kubectl rollout restart and undo take a workload.
func Restartable(workload string) bool {
	kind, _, _ := strings.Cut(workload, "/")
	return slices.Contains([]string{"deployment", "statefulset", "daemonset"}, kind)
}

// SetMemory returns the command that sets the memory limit of a container in its pod's template; empty where the template
// cannot be changed so: of a Job, of a bare pod, of an init container.
func SetMemory(namespace string, pod *v1.Pod, container, limit string) string {
	workload := ""
	if pod != nil && limit != "" && slices.ContainsFunc(pod.Spec.Containers, func(c v1.Container) bool { return c.Name == container }) {
		workload = Editable(pod)
	}
	if kind, _, _ := strings.Cut(workload, "/"); !slices.Contains([]string{"deployment", "statefulset", "daemonset", "replicaset"}, kind) {
		return ""
	}
	return Command(namespace, "set resources %s -c %s --limits=memory=%s", workload, container, limit)
}

// Related says whether two pods come from one workload.
func Related(a, b *v1.Pod) bool {
	if a == nil || b == nil || a.Namespace != b.Namespace {
		return false
	}
	of := Workload(a)
	return of != "" && of == Workload(b)
}
