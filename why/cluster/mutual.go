package cluster

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/words"
)

// Mutual adds to a verdict of one that waits for another that this one waits for it in turn.
// Where they look for each other by names that DNS does not have, and a headless Service gives
// those to pods that are ready, that is why neither ever is; service is nil where none does.
func Mutual(v *answer.Verdict, other *v1.Pod, service *v1.Service) {
	p := v.Parts
	name := other.Namespace + "/" + other.Name
	p.Because = append(slices.Clip(p.Because), fmt.Sprintf("Pod %s waits for this one in turn: neither is the reason of the other.", name))
	var fixes []answer.Fix
	if see := kubectl.Command(other.Namespace, "why pod/%s", other.Name); !slices.ContainsFunc(v.Fixes, func(f answer.Fix) bool { return f.Command == see }) {
		fixes = append(fixes, kubectl.Inspect("see the other, which waits for this one", see))
	}
	if service != nil && !service.Spec.PublishNotReadyAddresses && (words.NoDNS.In(v.Text) || words.NoName.In(v.Text)) {
		p.Because = append(p.Because, fmt.Sprintf("DNS has the names of the pods of Service %s/%s only while they are ready (publishNotReadyAddresses is not set).", service.Namespace, service.Name))
		fixes = append([]answer.Fix{{
			Text: "have DNS tell the names of pods that are not ready, so that they find each other", Risk: answer.Restarts,
			Command: kubectl.Command(service.Namespace, "patch service %s -p '{\"spec\":{\"publishNotReadyAddresses\":true}}'", service.Name),
		}}, fixes...)
	}
	v.Say(p)
	v.Fixes = append(fixes, v.Fixes...)
}
