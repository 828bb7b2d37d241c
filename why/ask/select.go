package ask

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Select lists all of a kind whose labels fit.
func (c *Cluster) Select(ctx context.Context, kind, selector string) ([]Target, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Whole)
	defer cancel()
	k, ok := kindNamed(kind)
	if !ok {
		return nil, unknownKind(kind)
	}
	list, err := c.list(ctx, k, c.options.Namespace, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("listing every %s with %s: %w", kind, selector, err)
	}
	var all []Target
	for _, o := range objects(list) {
		all = append(all, Target{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()})
	}
	return all, nil
}
