package health

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// transition is since when a condition has its status: as before if it had it,
// as the scheduler said for PodScheduled, and otherwise now.
func (t *turn) transition(c, old *v1.PodCondition) metav1.Time {
	if c.Type == v1.PodScheduled {
		if theirs := findCondition(t.Foreign, c.Type); theirs != nil && theirs.Status == c.Status && !theirs.LastTransitionTime.IsZero() {
			return apiTime(theirs.LastTransitionTime.Time)
		}
	}
	if old != nil && old.Status == c.Status {
		return old.LastTransitionTime
	}
	return apiTime(t.now)
}
