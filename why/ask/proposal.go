package ask

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	object "whylet.dev/whylet/why/question"
	"whylet.dev/whylet/why/serve"
	"whylet.dev/whylet/why/suggest"
	"whylet.dev/whylet/why/whatif"
)

// WhatIf asks the pod's node.
func (c *Cluster) WhatIf(ctx context.Context, pod Target, changes string) (whatif.Result, error) {
	return proposal[whatif.Result](ctx, c, pod, func(q *serve.Question) { q.WhatIf = changes })
}

// Suggest asks the pod's node.
func (c *Cluster) Suggest(ctx context.Context, pod Target) (suggest.Result, error) {
	return proposal[suggest.Result](ctx, c, pod, func(q *serve.Question) { q.Suggest = true })
}

// proposal asks the pod's node; where the pod is gone, all of them.
func proposal[T any](ctx context.Context, c *Cluster, t Target, asks func(*serve.Question)) (none T, err error) {
	if err := c.beyond(t); err != nil {
		return none, err
	}
	q, ctx, cancel := c.begin(ctx, t.Namespace)
	defer cancel()
	about := q.about(t.Name)
	asks(&about)
	spec := object.Spec{Kind: "pod", Name: t.Name, WhatIf: about.WhatIf, Suggest: about.Suggest}
	return byFront(ctx, q, q.space, spec, resultOf[T], func(q *question) (T, error) {
		return remembered(ctx, q, about, func(node string, uid types.UID) (T, error) {
			about := about
			about.UID = uid
			proposed, err := fromNode[T](ctx, q, node, about)
			q.absent(node, err)
			return proposed, err
		})
	})
}
