package ask

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
	return byFront(ctx, q, q.space, spec, resultOf[T], func(q *question) (T, error) { return proposed[T](ctx, q, t, about) })
}

func proposed[T any](ctx context.Context, q *question, t Target, about serve.Question) (none T, err error) {
	pod, err := oneOf[v1.Pod](ctx, q, q.space, t.Name)
	if err == nil {
		if pod.Spec.NodeName == "" {
			return none, fmt.Errorf("pod %s/%s has no node yet, so nothing was recorded of it", q.space, t.Name)
		}
		about.UID = pod.UID
		proposed, err := fromNode[T](ctx, q, pod.Spec.NodeName, about)
		q.absent(pod.Spec.NodeName, err)
		return proposed, err
	}
	if !apierrors.IsNotFound(err) {
		return none, fmt.Errorf("reading pod %s/%s: %w", q.space, t.Name, err)
	}
	if q.options.Front != nil {
		if node, ok := q.options.Front.Where(ctx, about); ok {
			return fromNode[T](ctx, q, node, about)
		}
		return none, q.notKnown(ctx, t.Name)
	}
	found, err := fromAll[T](ctx, q, about)
	if len(found) > 0 {
		return found[0], nil
	}
	return none, errors.Join(err, q.notKnown(ctx, t.Name))
}
