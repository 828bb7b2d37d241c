package ask

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
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
	err = meta.EachListItem(list, func(o runtime.Object) error {
		m, err := meta.Accessor(o)
		if err == nil {
			all = append(all, Target{Kind: kind, Namespace: m.GetNamespace(), Name: m.GetName()})
		}
		return err
	})
	return all, err
}
