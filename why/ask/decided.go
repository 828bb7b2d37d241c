package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
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

// mostNamed is how many Services a step names that a pod may wait for: with more, the right one is a guess.
const mostNamed = 3

// nameAsked puts the Services that the configuration of a pod names into the steps about what the pod asks, and before those
// about words that may be another program's.
func (q *question) nameAsked(ctx context.Context, all []answer.Answer) {
	for a := range pointers(all) {
		for i := range a.Verdicts {
			v := &a.Verdicts[i]
			n, said := v.Step(answer.StepMendAsked), -1
			if n < 0 && len(v.Hops) == 0 && !v.HasStep(answer.StepExplain) && (v.Cause == answer.AppUnhealthy || words.OfAnother(v.Words())) {
				said = v.Step(answer.StepCorrect) // which is to stay in view
			}
			if n < 0 && said < 0 {
				continue
			}
			see, ok := q.seeAsked(ctx, a, i)
			switch {
			case !ok || n < 0 && said >= answer.MostSteps-1:
			case n >= 0:
				see.Text = v.Fixes[n].Slots[answer.SlotWhen] + ": " + see.Text + "; if all is well there, restart the pod"
				v.Fixes[n] = see
			default:
				see.Text = "if another program logged this: " + see.Text
				v.Fixes = slices.Insert(slices.Clone(v.Fixes), said, see)
			}
		}
	}
}

// seeAsked is the step that looks at the Services that the configuration of the blamed pod names; ok is false for none, and
// for many.
func (q *question) seeAsked(ctx context.Context, a *answer.Answer, i int) (step answer.Fix, ok bool) {
	space, name := blamed(a, i)
	pod, err := oneOf[v1.Pod](ctx, q, space, name)
	if name == "" || err != nil {
		return step, false
	}
	var names, where []string
	for _, at := range q.in(space).configured(ctx, pod) {
		names, where = append(names, "svc/"+at.service.Name), append(where, fmt.Sprintf("Service %s does (named by %s)", at.service.Name, at.where))
	}
	if len(names) == 0 || len(names) > mostNamed {
		return step, false
	}
	return kubectl.Inspect(fmt.Sprintf("see how %s, and mend that first", prose.Some(where)), kubectl.Command(space, "why "+strings.Join(names, " "))), true
}
