package cluster

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/prose"
)

// ClaimAnswer answers about a volume claim that is not bound. ok is false for one that is, and for one whose volume is
// made only with the first pod that uses it.
func ClaimAnswer(claim *v1.PersistentVolumeClaim, s Storage, now time.Time) (a answer.Answer, ok bool) {
	class := claim.Spec.StorageClassName
	awaits := s.Classes != nil && class != nil && slices.ContainsFunc(s.Classes, func(c storagev1.StorageClass) bool {
		return c.Name == *class && c.VolumeBindingMode != nil && *c.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	})
	words := s.waits(claim)
	if words == "" || awaits && claim.Status.Phase != v1.ClaimLost && claim.Spec.VolumeName == "" {
		return a, false
	}
	since := claim.CreationTimestamp.Time
	f := inferred(answer.VolumeUnbound, "not-scheduled", fmt.Sprintf("Claim %q %s.", claim.Name, words), append(s.volumeSteps(claim), seeClaims(claim.Namespace))...)
	a = single(SubjectOf("PersistentVolumeClaim", claim), now, answer.Pending, "it has had no volume for "+prose.Span(max(now.Sub(since), 0)), f)
	a.Symptoms[0].First = since
	return a, true
}
