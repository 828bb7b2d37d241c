package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// waitNodeReady returns when the API server says that the node is Ready, and
// tells step what the node says of itself until then.
func waitNodeReady(ctx context.Context, api *rest.Config, name string, step func(string)) error {
	client, err := kubernetes.NewForConfig(api)
	if err != nil {
		return fmt.Errorf("a client for the API server: %w", err)
	}
	nodes := client.CoreV1().Nodes()
	selector := fields.OneTermEqualSelector("metadata.name", name).String()
	list := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (k8sruntime.Object, error) {
			o.FieldSelector = selector
			return nodes.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return nodes.Watch(ctx, o)
		},
	}
	_, err = watchtools.UntilWithSync(ctx, list, &corev1.Node{}, nil, func(e watch.Event) (bool, error) {
		n, ok := e.Object.(*corev1.Node)
		if !ok {
			return false, nil
		}
		ready := readyCondition(n)
		if ready.Status != corev1.ConditionTrue && ready.Message != "" {
			step("waiting for the node to be Ready: " + ready.Message)
		}
		return ready.Status == corev1.ConditionTrue, nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("waiting for node %s to be Ready: %w", name, err)
	}
	return errors.Join(err, ctx.Err())
}

// readyCondition is the node's Ready condition, empty when it has none yet.
func readyCondition(n *corev1.Node) corev1.NodeCondition {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{}
}
