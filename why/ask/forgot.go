package ask

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

// forgot goes to the one that a pod's configuration names, that serves and was started again lately, where
// the pod's words are that something is not there: what it did not keep went with its last end.
func (f *follower) forgot(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict, k asker, left int) []answer.Hop {
	if left < mostHops || !slices.ContainsFunc(cluster.Quoted(a, v), cluster.IsMissed) {
		return nil
	}
	var found []way
	places := f.configured(ctx, pod)
	for _, p := range places[:min(len(places), mostPlaces)] {
		p.asker = k
		if w := f.to(ctx, pod, p, map[string]bool{}, left); len(w.hops) > 0 && !w.closed && !w.well {
			found = append(found, w)
		}
	}
	if len(found) != 1 {
		return nil
	}
	f.likely = "what the pod misses was there, and that one was started again since"
	return found[0].hops
}
