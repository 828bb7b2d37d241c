package fact

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Workload is what a pod comes from in the end, as its manifest names it: Deployment and
// web for a pod of a ReplicaSet of it. Empty for a pod that nothing controls, and for
// none. It reads names only: the deployment controller appends the hash of the template
// to those of its ReplicaSets, and a CronJob names its jobs after itself and the minute.
func Workload(pod *v1.Pod) (kind, name string) {
	if pod == nil {
		return "", ""
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return "", ""
	}
	i := strings.LastIndexByte(owner.Name, '-')
	if i <= 0 {
		return owner.Kind, owner.Name
	}
	switch stem, last := owner.Name[:i], owner.Name[i+1:]; {
	case last == "":
	case owner.Kind == "ReplicaSet" && last == pod.Labels["pod-template-hash"]:
		return "Deployment", stem
	case owner.Kind == "Job" && strings.Trim(last, "0123456789") == "":
		return "CronJob", stem
	}
	return owner.Kind, owner.Name
}
