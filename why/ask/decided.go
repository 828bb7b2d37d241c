package ask

import (
	"context"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why"
	"whylet.dev/whylet/why/answer"
)

// decide adds a change to verdicts whose steps only inspect: those that blame another pod, and those whose change was
// replaced by findings around the pod.
func (q *question) decide(ctx context.Context, all []answer.Answer) {
	for a := range pointers(all) {
		for i := range a.Verdicts {
			space, name := blamedPod(a, i)
			if name == "" || !why.OnlyInspects(a.Verdicts[i]) {
				continue
			}
			if pod, err := oneOf[v1.Pod](ctx, q, space, name); err == nil {
				why.Decide(a, i, pod)
			}
		}
	}
}

// blamedPod returns the namespace and name of the pod that a verdict blames; name is "" if it blames none.
func blamedPod(a *answer.Answer, i int) (space, name string) {
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
