package ask

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

// mostSufferers is how many pods are asked whether they fail because of another one.
const mostSufferers = 4

// sufferers tells of the pods of its namespace that fail because of this one: they are not
// well, and their waiting leads to it. Only whom a Service leads to is asked by others.
func (q *question) sufferers(ctx context.Context, pod *v1.Pod, a *answer.Answer) {
	i := cluster.Root(a)
	if i < 0 || q.options.Container != "" || a.Verdicts[i].Pod != "" || a.Verdicts[i].Cause == answer.CauseUnknown {
		return
	}
	if !slices.ContainsFunc(readable[v1.Service](ctx, q, pod.Namespace), func(s v1.Service) bool { return cluster.Leads(&s, pod) }) {
		return
	}
	unwell := slices.DeleteFunc(slices.Clone(readable[v1.Pod](ctx, q, pod.Namespace)), func(p v1.Pod) bool { return p.UID == pod.UID || cluster.LooksWell(&p) })
	unwell = unwell[:min(len(unwell), mostSufferers)]
	all := make([][]answer.Hop, len(unwell))
	each(unwell, func(n int, _ v1.Pod) { all[n] = q.because(ctx, &unwell[n], pod) })
	a.Verdicts[i].TakesDown = slices.Concat(all...)
}

// because is how a pod comes to fail for another one; nothing where it does not.
func (q *question) because(ctx context.Context, sufferer, pod *v1.Pod) []answer.Hop {
	a, err := q.pod(ctx, sufferer)
	if err != nil {
		return nil
	}
	q.follow(ctx, sufferer, &a)
	for i, v := range a.Verdicts {
		for _, h := range v.Hops {
			if h.Pod == pod.Namespace+"/"+pod.Name {
				return []answer.Hop{cluster.Suffers(sufferer, &a, i, h)}
			}
		}
	}
	return nil
}
