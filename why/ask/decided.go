package ask

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
)

// decide adds a change to verdicts whose steps only inspect: those that blame another pod, and those whose change was
// replaced by findings around the pod.
func (q *question) decide(ctx context.Context, all []answer.Answer) {
	for a := range pointers(all) {
		for i := range a.Verdicts {
			space, name := blamed(a, i)
			if name == "" || !why.OnlyInspects(a.Verdicts[i]) {
				continue
			}
			if pod, err := oneOf[v1.Pod](ctx, q, space, name); err == nil {
				why.Decide(a, i, pod)
			}
		}
	}
}
