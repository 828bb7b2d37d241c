package cluster

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/kubectl"
)

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
	name := pod.Namespace + "/" + pod.Name
	if of := kubectl.Workload(pod); of != "" && Leads(service, pod) {
		return fmt.Sprintf("pod %s is of the same %s", name, of)
	}
	return fmt.Sprintf("pod %s runs the same image, and its configuration names Service %s/%s", name, service.Namespace, service.Name)
}

// Withholds words what keeps an answer to itself in a pod that looks well, with those that have
// connections to it besides.
func Withholds(clients []string) string {
	text := "It looks well and gave other answers, and keeps this one to itself without using CPU: so does one that waits for a lock which another client holds, or to hear from another itself."
	if len(clients) > 0 {
		text += fmt.Sprintf(" Connected to it besides: %s.", strings.Join(clients, ", "))
	}
	return text
}
