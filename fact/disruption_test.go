package fact

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Of a pod that is Succeeded only kubelet's own condition tells that it was ended, and what no
// kubelet says as it ends a pod is no reason.
func TestEndedFor(t *testing.T) {
	by := func(reason, message string) []v1.PodCondition {
		return []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionFalse}, {Type: v1.DisruptionTarget, Status: v1.ConditionTrue, Reason: reason, Message: message}}
	}
	const low, kubelet = "The node was low on resource: memory. ", v1.PodReasonTerminationByKubelet
	for _, c := range []struct {
		name            string
		status          v1.PodStatus
		reason, message string
	}{
		{"by the status", v1.PodStatus{Phase: v1.PodFailed, Reason: "Evicted", Message: low}, "Evicted", low},
		{"by the condition", v1.PodStatus{Phase: v1.PodSucceeded, Conditions: by(kubelet, low)}, "Evicted", low},
		{"for its own limit", v1.PodStatus{Phase: v1.PodSucceeded, Conditions: by(kubelet, `Container app exceeded its local ephemeral storage limit "1Mi". `)}, "Evicted", `Container app exceeded its local ephemeral storage limit "1Mi". `},
		{"for another", v1.PodStatus{Phase: v1.PodSucceeded, Conditions: by(kubelet, "Preempted in order to admit critical pod")}, "Preempting", "Preempted in order to admit critical pod"},
		{"words of nobody", v1.PodStatus{Phase: v1.PodSucceeded, Conditions: by(kubelet, "The moon was full.")}, "", ""},
		{"it failed for itself", v1.PodStatus{Phase: v1.PodFailed, Conditions: by(kubelet, low)}, "", ""},
		{"it runs", v1.PodStatus{Phase: v1.PodRunning, Conditions: by(kubelet, low)}, "", ""},
		{"by the API server", v1.PodStatus{Phase: v1.PodSucceeded, Conditions: by(EvictedByAPI, low)}, "", ""},
		{"done", v1.PodStatus{Phase: v1.PodSucceeded}, "", ""},
	} {
		if reason, message := EndedFor(c.status); reason != c.reason || message != c.message {
			t.Errorf("%s: %q, %q", c.name, reason, message)
		}
	}
}

// Controllers name the pods that they deleted; a StatefulSet's have the same name again and
// again.
func TestDeletedBy(t *testing.T) {
	at := time.Date(2026, 11, 23, 22, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		message string
		said    time.Duration
		want    bool
	}{
		{"Deleted pod: web-0", 0, true},
		{"delete Pod web-0 in StatefulSet web successful", 3 * time.Second, true},
		{"Deleted pod: web-0", -time.Minute, false},
		{"Deleted pod: web-0", time.Minute, false},
		{"Deleted pod: web-01", 0, false},
		{"Deleted pod: web", 0, false},
		{"", 0, false},
	} {
		if DeletedBy(DeletedPod, c.message, at.Add(c.said), "web-0", at) != c.want {
			t.Errorf("%q after %v: not %v", c.message, c.said, c.want)
		}
	}
	if DeletedBy("SuccessfulCreate", "Deleted pod: web-0", at, "web-0", at) || DeletedBy(DeletedPod, "", at, "", at) {
		t.Error("another event, or of no pod")
	}
}
