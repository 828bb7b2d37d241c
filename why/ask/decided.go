package ask

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
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

// mostNamed is how many Services a step names that a pod may wait for: of more nobody knows which it is.
const mostNamed = 3

// nameAsked puts the Services that the configuration of a pod names into the steps about what the pod asks.
func (q *question) nameAsked(ctx context.Context, all []answer.Answer) {
	for a := range pointers(all) {
		for i := range a.Verdicts {
			n := a.Verdicts[i].Step(answer.StepMendAsked)
			space, name := blamed(a, i)
			if n < 0 || name == "" {
				continue
			}
			pod, err := oneOf[v1.Pod](ctx, q, space, name)
			if err != nil {
				continue
			}
			var names, where []string
			for _, at := range q.in(space).configured(ctx, pod) {
				names, where = append(names, "svc/"+at.service.Name), append(where, fmt.Sprintf("Service %s does (named by %s)", at.service.Name, at.where))
			}
			if len(names) == 0 || len(names) > mostNamed {
				continue
			}
			f := &a.Verdicts[i].Fixes[n]
			f.Text = fmt.Sprintf("%s: see how %s, and mend that first; if all is well there, restart the pod", f.Slots[answer.SlotWhen], prose.Some(where))
			f.Command = kubectl.Command(space, "why "+strings.Join(names, " "))
		}
	}
}
