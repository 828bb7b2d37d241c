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
	list, err := c.list(ctx, kind, metav1.ListOptions{LabelSelector: selector})
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

func (c *Cluster) list(ctx context.Context, kind string, o metav1.ListOptions) (runtime.Object, error) {
	core, apps, batch, space := c.client.CoreV1(), c.client.AppsV1(), c.client.BatchV1(), c.options.Namespace
	switch kind {
	case "pod":
		return core.Pods(space).List(ctx, o)
	case "service":
		return core.Services(space).List(ctx, o)
	case "namespace": // which only completion asks for
		return core.Namespaces().List(ctx, o)
	case "node":
		return core.Nodes().List(ctx, o)
	case "deployment":
		return apps.Deployments(space).List(ctx, o)
	case "replicaset":
		return apps.ReplicaSets(space).List(ctx, o)
	case "statefulset":
		return apps.StatefulSets(space).List(ctx, o)
	case "daemonset":
		return apps.DaemonSets(space).List(ctx, o)
	case "job":
		return batch.Jobs(space).List(ctx, o)
	case "cronjob":
		return batch.CronJobs(space).List(ctx, o)
	case "persistentvolumeclaim":
		return core.PersistentVolumeClaims(space).List(ctx, o)
	case "event": // which only a snapshot asks for
		return core.Events(space).List(ctx, o)
	}
	return nil, unknownKind(kind)
}
