package cluster

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
)

func TestHasAddress(t *testing.T) {
	for _, c := range []struct {
		text, ip string
		phase    v1.PodPhase
		want     bool
	}{
		{"unhealthy instances: 10.42.2.9:9095,10.42.3.9:9095", "10.42.3.9", v1.PodRunning, true},
		{"no answer of 10.42.3.9.", "10.42.3.9", v1.PodRunning, true},
		{"connect to [fd00::1]:5432 failed", "fd00::1", v1.PodRunning, true},
		{"unhealthy instances: 10.42.3.90:9095", "10.42.3.9", v1.PodRunning, false},
		{"rejected connection from 10.42.3.9:40122", "10.42.3.9", v1.PodRunning, false},
		{"client 10.42.3.9 closed the connection", "10.42.3.9", v1.PodRunning, false},
		{"connect to [fd00::1:abcd]:5432 failed", "fd00::1", v1.PodRunning, false},
		{"unhealthy instances: 10.42.3.9:9095", "10.42.3.9", v1.PodSucceeded, false},
	} {
		p := &v1.Pod{Status: v1.PodStatus{Phase: c.phase, PodIP: c.ip}}
		if got := HasAddress(c.text, p); got != c.want {
			t.Errorf("%s has %s (%s): %v", c.text, c.ip, c.phase, got)
		}
	}
}

func TestFailsByItself(t *testing.T) {
	node := &v1.Node{Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse}}}}
	ended := func(code int32) v1.ContainerState {
		return v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code}}
	}
	for name, c := range map[string]struct {
		state v1.ContainerState
		want  bool
	}{
		"an init container that was tried twice and is done": {ended(0), false},
		"one that failed": {ended(1), true},
		"one in back-off": {v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}, true},
		"one that runs":   {v1.ContainerState{Running: &v1.ContainerStateRunning{}}, false},
	} {
		p := &v1.Pod{Status: v1.PodStatus{InitContainerStatuses: []v1.ContainerStatus{{RestartCount: 1, State: c.state}}}}
		if got := FailsByItself(p, node); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestNetworkPods(t *testing.T) {
	of := func(name, folder string) v1.Pod {
		owner := true
		return v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet", Controller: &owner}}},
			Spec:       v1.PodSpec{HostNetwork: true, Volumes: []v1.Volume{{VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: folder}}}}},
		}
	}
	got := NetworkPods([]v1.Pod{of("flannel", "/etc/cni/net.d"), of("node-exporter", "/proc"), of("kube-proxy", "/lib/modules")})
	if len(got) != 1 || got[0].Name != "flannel" {
		t.Errorf("%d pods", len(got))
	}
	down := &v1.Node{Status: v1.NodeStatus{Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionFalse, Message: "container runtime is down: network is unreachable"}}}}
	if LacksNetwork(down) {
		t.Error("a runtime that is down is taken for a missing network plugin")
	}
}

// The cause of a pod that blocks its StatefulSet keeps its own steps.
func TestLeftBehind(t *testing.T) {
	pods := []v1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-0", Labels: map[string]string{appsv1.ControllerRevisionHashLabelKey: "db-1"}}}}
	a := answer.Answer{}
	a.Put(answer.Symptom{Pod: "db-0"}, answer.Verdict{Cause: answer.DependencyDown, Fixes: []answer.Fix{{Text: "see why it does not answer"}}})
	LeftBehind(&a, pods, Workload{Revision: "db-2", Template: &v1.PodTemplateSpec{}})
	if v := a.Verdicts[0]; len(v.Fixes) != 2 || !strings.Contains(v.Fixes[0].Command, "delete pod db-0") || !strings.Contains(v.Text, "revision db-1") {
		t.Errorf("%+v", v)
	}
	before := len(a.Verdicts[0].Fixes)
	if LeftBehind(&a, pods, Workload{Revision: "db-1", Template: &v1.PodTemplateSpec{}}); len(a.Verdicts[0].Fixes) != before {
		t.Error("a pod of the present revision is said to be left behind")
	}
}
