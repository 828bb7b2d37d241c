package node

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
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
