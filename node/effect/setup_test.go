package effect

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/pods"
)

// A pod that claims devices must not run without them.
func TestNeedsDevices(t *testing.T) {
	claims := &v1.Pod{Spec: v1.PodSpec{ResourceClaims: []v1.PodResourceClaim{{Name: "gpu"}}}}
	extended := &v1.Pod{Status: v1.PodStatus{ExtendedResourceClaimStatus: &v1.PodExtendedResourceClaimStatus{}}}
	for _, pod := range []*v1.Pod{claims, extended} {
		var failed *stageError
		if err := needsDevices(pod); !errors.As(err, &failed) || failed.reason != "FailedPrepareDynamicResources" {
			t.Errorf("%+v: %v", pod, err)
		}
	}
	if err := needsDevices(&v1.Pod{}); err != nil {
		t.Error(err)
	}
}

// A sandbox that an agent made and died before it could say so is taken by the next
// set-up.
func TestSandboxOfAnAgentThatDied(t *testing.T) {
	pod := fact.Pod{Namespace: "ns", Name: "p", UID: "u"}
	e := &Effects{left: map[types.UID][]cri.SandboxView{}}
	e.Readopt(pods.Pod{Key: pod}, cri.Snapshot{Sandboxes: []cri.SandboxView{
		{ID: "made", Pod: pod, Attempt: 1, Ready: true}, {ID: "another", Pod: fact.Pod{UID: "other"}, Ready: true},
	}})
	object := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: pod.UID}}
	if box, ok := e.found(t.Context(), object, 1); !ok || box.ID != "made" {
		t.Errorf("found %+v", box)
	}
	if box, ok := e.found(t.Context(), object, 1); ok {
		t.Errorf("found %+v a second time", box)
	}
}
