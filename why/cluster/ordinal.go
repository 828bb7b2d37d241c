package cluster

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/why/answer"
)

// Ordinals are the number of the first pod of a StatefulSet, and the one after its last.
func Ordinals(set *appsv1.StatefulSet) (first, end int) {
	if set.Spec.Ordinals != nil {
		first = int(set.Spec.Ordinals.Start)
	}
	return first, first + Replicas(set.Spec.Replicas)
}

// Replicas is how many pods are wanted where the API has a number, or its default.
func Replicas(n *int32) int { return int(ptr.Deref(n, 1)) }

// Later is the pod of a StatefulSet that words name by its name in DNS and that is made only when
// another, which comes before it, is Ready; empty where they name none.
func Later(said string, set *appsv1.StatefulSet, before *v1.Pod) string {
	number, err := strconv.Atoi(strings.TrimPrefix(before.Name, set.Name+"-"))
	if err != nil || set.Spec.ServiceName == "" || set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement {
		return ""
	}
	_, end := Ordinals(set)
	name := regexp.MustCompile(`(?:^|[^\w.-])(` + regexp.QuoteMeta(set.Name) + `-(\d+))\.` + regexp.QuoteMeta(set.Spec.ServiceName) + `(?:[^\w-]|$)`)
	for _, m := range name.FindAllStringSubmatch(said, -1) {
		if n, err := strconv.Atoi(m[2]); err == nil && n > number && n < end {
			return m[1]
		}
	}
	return ""
}

// NotYet adds to a verdict, which leads to a pod, why there is no other of its StatefulSet yet.
func NotYet(v *answer.Verdict, set *appsv1.StatefulSet, before *v1.Pod, later string) {
	v.SayFirstThen(fmt.Sprintf("Pod %s does not exist: StatefulSet %s makes it only when %s is Ready.", later, set.Name, before.Name))
}
