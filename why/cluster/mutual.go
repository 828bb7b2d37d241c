package cluster

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// Mutual adds to a verdict of one that waits for another that this one waits for it in turn, by the
// name that it has for it.
// Where they look for each other by names that DNS does not have, and a headless Service gives
// those to pods that are ready, that is why neither ever is; service is nil where none does.
func Mutual(v *answer.Verdict, pod, other *v1.Pod, called string, service *v1.Service) {
	v.SayBecause(fmt.Sprintf("Pod %s/%s waits for this one in turn, which it asks as %s: neither is the reason of the other.", other.Namespace, other.Name, called))
	var fixes []answer.Fix
	if see := kubectl.Why("see the other, which waits for this one", "pod", other.Namespace, other.Name); !slices.ContainsFunc(v.Fixes, see.SameAs) {
		fixes = append(fixes, see)
	}
	switch {
	case service != nil && !service.Spec.PublishNotReadyAddresses && NoSuchHost(v.Words()):
		v.SayBecause(fmt.Sprintf("DNS has the names of the pods of Service %s/%s only while they are ready (publishNotReadyAddresses is not set).", service.Namespace, service.Name))
		fixes = append([]answer.Fix{{
			Text: "have DNS tell the names of pods that are not ready, so that they find each other", Risk: answer.Restarts,
			Command: kubectl.Command(service.Namespace, "patch service %s -p '{\"spec\":{\"publishNotReadyAddresses\":true}}'", service.Name),
		}}, fixes...)
	case v.Probe == fact.Readiness:
		fixes = append([]answer.Fix{kubectl.EditTemplate(pod.Namespace, pod, "have the readiness probe of one of the two test that container alone, and not whether it reaches the other: then that one becomes ready first")}, fixes...)
	}
	v.DropSteps(func(f answer.Fix) bool { return len(fixes) > 0 && f.ID == answer.StepExplain }) // it is told already why that does not answer
	v.AddFirst(fixes...)
}

// SameImage says whether a container of a pod runs the image that one of another does, whatever
// its tag.
func SameImage(a, b *v1.Pod) bool {
	return slices.ContainsFunc(a.Spec.Containers, func(one v1.Container) bool {
		return one.Image != "" && slices.ContainsFunc(b.Spec.Containers, func(other v1.Container) bool { return untagged(one.Image) == untagged(other.Image) })
	})
}

func untagged(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndexByte(image, ':'); i > strings.LastIndexByte(image, '/') {
		return image[:i]
	}
	return image
}

// IsCopy words that a pod is to have a copy of what those behind a Service have.
func IsCopy(pod *v1.Pod, service *v1.Service) string {
	name := Key(pod)
	if of := kubectl.Workload(pod); of != "" && Leads(service, pod) {
		return fmt.Sprintf("pod %s is of the same %s", name, of)
	}
	return fmt.Sprintf("pod %s runs the same image, and its configuration names Service %s/%s", name, service.Namespace, service.Name)
}

// Withholds words what keeps an answer to itself in a pod that looks well, with those that have
// connections to it besides.
func Withholds(clients []string) string {
	text := "It looks well and gave other answers, and keeps this one to itself without using CPU: so does one that waits for a lock which another client holds, or to hear from another itself."
	return text + prose.Whether(len(clients) > 0, fmt.Sprintf(" Connected to it besides: %s.", strings.Join(clients, ", ")), "")
}

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
