package ask

import (
	"context"
	"slices"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/graph"
)

// forgot goes to the one that a pod's configuration names, that serves and was started again lately, where
// the pod's words are that something is not there: what it did not keep went with its last end.
func (n *visit) forgot(ctx context.Context) {
	if !n.first() || !slices.ContainsFunc(cluster.Quoted(n.a, n.v), knowledge.Missed.In) {
		return
	}
	places := n.configured(ctx, n.pod)
	for _, p := range places[:min(len(places), mostPlaces)] {
		p.asker = n.asker
		again := *n
		again.asked = map[string]bool{}
		if w := again.to(ctx, p); !w.closed && !w.well {
			w.moot, w.only = false, nil
			w.guess = "what the pod misses was there, and that one was started again since"
			n.leads(w, graph.FailedBy, graph.Possible, graph.Status)
		}
	}
}
