package ask

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
)

// decide adds the change that a look decides about to verdicts whose steps only look: those of another pod's reason, and
// those of which what was found around the pod replaced the change.
func (q *question) decide(ctx context.Context, all []answer.Answer) {
	for a := range pointers(all) {
		for i := range a.Verdicts {
			space, name := whoseTrouble(a, i)
			if name == "" || !why.OnlyLooks(a.Verdicts[i]) {
				continue
			}
			if pod, err := oneOf[v1.Pod](ctx, q, space, name); err == nil {
				why.Decide(a, i, pod)
			}
		}
	}
}

// whoseTrouble is the pod that a verdict blames; name is empty where it blames none.
func whoseTrouble(a *answer.Answer, i int) (space, name string) {
	v := a.Verdicts[i]
	switch {
	case v.Pod != "":
		space, name, _ = strings.Cut(v.Pod, "/")
	case a.Symptoms[i].Pod != "":
		space, name = a.Subject.Namespace, a.Symptoms[i].Pod
	case a.Subject.Kind == "Pod":
		space, name = a.Subject.Namespace, a.Subject.Name
	}
	return space, name
}
