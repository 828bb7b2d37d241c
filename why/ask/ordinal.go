package ask

import (
	"context"
	"strings"

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
	pod, err := f.client.CoreV1().Pods(space).Get(ctx, name, metav1.GetOptions{})
	if err != nil || cluster.LooksWell(pod) {
		return
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "StatefulSet" {
		return
	}
	set, err := f.client.AppsV1().StatefulSets(space).Get(ctx, owner.Name, metav1.GetOptions{})
	if err != nil {
		return
	}
	later := cluster.Later(v.Words(), set, pod)
	if later == "" {
		return
	}
	if _, err := f.client.CoreV1().Pods(space).Get(ctx, later, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		cluster.NotYet(v, set, pod, later)
	}
}
