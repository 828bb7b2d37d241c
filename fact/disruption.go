package fact

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// EvictedByAPI is the reason of DisruptionTarget where the API server was asked to evict a pod
// (pkg/registry/core/pod/storage/eviction.go).
const EvictedByAPI = "EvictionByEvictionAPI"

// Disruption is the condition that whoever disrupts a pod writes right before it deletes the
// pod; nil where there is none that is true and not newer than the deletion (zero: at any time).
// That of kubelet tells of an end that it ordered, and not of a deletion.
func Disruption(conditions []v1.PodCondition, deleted time.Time) *v1.PodCondition {
	for i := range conditions {
		c := &conditions[i]
		if c.Type == v1.DisruptionTarget && c.Status == v1.ConditionTrue && c.Reason != v1.PodReasonTerminationByKubelet &&
			(deleted.IsZero() || !c.LastTransitionTime.Time.After(deleted)) {
			return c
		}
	}
	return nil
}

// EndedFor is for what kubelet ended a whole pod, and its words; empty where it did not. The status
// says so, but where all containers then end with exit code 0: as the pod is Succeeded then and not
// Failed, kubelet may take that back (pkg/kubelet/kubelet_pods.go, generateAPIPodStatus), and only
// the condition that it wrote is left.
func EndedFor(s v1.PodStatus) (reason, message string) {
	if s.Reason != "" || s.Phase != v1.PodSucceeded {
		return s.Reason, s.Message
	}
	for i := range s.Conditions {
		c := &s.Conditions[i]
		if c.Type != v1.DisruptionTarget || c.Status != v1.ConditionTrue || c.Reason != v1.PodReasonTerminationByKubelet {
			continue
		}
		for _, e := range endings {
			if strings.Contains(c.Message, e.says) {
				return e.reason, c.Message
			}
		}
	}
	return "", ""
}

// endings are what kubelet says of pods that it ends, with the reason that it gives them
// (pkg/kubelet/eviction/helpers.go, preemption/preemption.go, nodeshutdown/nodeshutdown_manager.go).
var endings = []struct{ says, reason string }{
	{"The node was low on resource: ", "Evicted"},
	{"Usage of EmptyDir volume ", "Evicted"},
	{"Pod ephemeral local storage usage exceeds the total limit", "Evicted"},
	{" exceeded its local ephemeral storage limit", "Evicted"},
	{"Preempted in order to admit critical pod", "Preempting"},
	{"Pod was terminated in response to imminent node shutdown", "Terminated"},
}

// DeletedPod is the reason of a controller's event about a pod that it deleted
// (pkg/controller/controller_utils.go, statefulset/stateful_pod_control.go).
const DeletedPod = "SuccessfulDelete"

// deletedSoon is how far the deletion of a pod and its controller's word of it may be apart:
// another pod may have had that name.
const deletedSoon = 10 * time.Second

// DeletedBy says whether a controller's event is about the deletion of a pod: "Deleted pod:
// web-1-x", or "delete Pod web-0 in StatefulSet web successful".
func DeletedBy(reason, message string, said time.Time, pod string, deleted time.Time) bool {
	return reason == DeletedPod && pod != "" && said.Sub(deleted).Abs() <= deletedSoon && slices.Contains(strings.Fields(message), pod)
}
