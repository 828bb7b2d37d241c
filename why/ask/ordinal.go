package ask

import (
	"context"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

// ordinal tells, where a verdict leads to a pod of a StatefulSet and its words ask a later one that
// does not exist, that this one is not made before the other is ready.
func (f *follower) ordinal(ctx context.Context, v *answer.Verdict) {
	space, name, _ := strings.Cut(v.Hops[0].Pod, "/")
	if name == "" {
		return
	}
	pod, err := oneOf[v1.Pod](ctx, f.question, space, name)
	if err != nil || cluster.LooksWell(pod) {
		return
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "StatefulSet" {
		return
	}
	set, err := oneOf[appsv1.StatefulSet](ctx, f.question, space, owner.Name)
	if err != nil {
		return
	}
	later := cluster.Later(v.Words(), set, pod)
	if later == "" {
		return
	}
	if _, err := oneOf[v1.Pod](ctx, f.question, space, later); apierrors.IsNotFound(err) {
		cluster.NotYet(v, set, pod, later)
	}
}
