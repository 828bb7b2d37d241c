package cluster

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
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
