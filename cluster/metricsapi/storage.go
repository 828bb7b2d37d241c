package metricsapi

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/metrics/pkg/apis/metrics"
)

// Both storages are read-only: they can be got and listed, by label and field.
var (
	_ rest.Getter               = &nodeStorage{}
	_ rest.Lister               = &nodeStorage{}
	_ rest.Scoper               = &nodeStorage{}
	_ rest.SingularNameProvider = &nodeStorage{}
	_ rest.KindProvider         = &nodeStorage{}
	_ rest.Getter               = &podStorage{}
	_ rest.Lister               = &podStorage{}
	_ rest.Scoper               = &podStorage{}
	_ rest.SingularNameProvider = &podStorage{}
	_ rest.KindProvider         = &podStorage{}
)

type nodeStorage struct {
	rest.TableConvertor
	source *source
}

func newNodeStorage(s *source) *nodeStorage {
	return &nodeStorage{rest.NewDefaultTableConvertor(metrics.Resource("nodes")), s}
}

func (*nodeStorage) New() runtime.Object     { return &metrics.NodeMetrics{} }
func (*nodeStorage) NewList() runtime.Object { return &metrics.NodeMetricsList{} }
func (*nodeStorage) Destroy()                {}
func (*nodeStorage) NamespaceScoped() bool   { return false }
func (*nodeStorage) Kind() string            { return "NodeMetrics" }
func (*nodeStorage) GetSingularName() string { return "node" }

// Get returns the metrics of one node, or NotFound when it reports none.
func (n *nodeStorage) Get(ctx context.Context, name string, opts *metav1.GetOptions) (runtime.Object, error) {
	node, err := n.source.client.CoreV1().Nodes().Get(ctx, name, *opts)
	if err != nil {
		return nil, err
	}
	summary, err := n.source.summary(ctx, name)
	if err != nil {
		return nil, apierrors.NewServiceUnavailable(err.Error())
	}
	out, ok := nodeMetrics(node, summary)
	if !ok {
		return nil, apierrors.NewNotFound(metrics.Resource("nodes"), name)
	}
	return out, nil
}

// List returns the metrics of the nodes that report any.
func (n *nodeStorage) List(ctx context.Context, opts *internalversion.ListOptions) (runtime.Object, error) {
	nodes, err := n.source.client.CoreV1().Nodes().List(ctx, selecting(opts))
	if err != nil {
		return nil, err
	}
	names := make([]string, len(nodes.Items))
	for i := range nodes.Items {
		names[i] = nodes.Items[i].Name
	}
	summaries := n.source.summaries(ctx, names)
	out := &metrics.NodeMetricsList{Items: []metrics.NodeMetrics{}}
	for i := range nodes.Items {
		if one, ok := nodeMetrics(&nodes.Items[i], summaries[nodes.Items[i].Name]); ok {
			out.Items = append(out.Items, *one)
		}
	}
	return out, nil
}

type podStorage struct {
	rest.TableConvertor
	source *source
}

func newPodStorage(s *source) *podStorage {
	return &podStorage{rest.NewDefaultTableConvertor(metrics.Resource("pods")), s}
}

func (*podStorage) New() runtime.Object     { return &metrics.PodMetrics{} }
func (*podStorage) NewList() runtime.Object { return &metrics.PodMetricsList{} }
func (*podStorage) Destroy()                {}
func (*podStorage) NamespaceScoped() bool   { return true }
func (*podStorage) Kind() string            { return "PodMetrics" }
func (*podStorage) GetSingularName() string { return "pod" }

// Get returns the metrics of one pod, or NotFound when it reports none.
func (p *podStorage) Get(ctx context.Context, name string, opts *metav1.GetOptions) (runtime.Object, error) {
	namespace := genericapirequest.NamespaceValue(ctx)
	pod, err := p.source.client.CoreV1().Pods(namespace).Get(ctx, name, *opts)
	if err != nil {
		return nil, err
	}
	out, ok := podMetrics(pod, p.source.podStats(ctx, []corev1.Pod{*pod})[pod.UID])
	if !ok {
		return nil, apierrors.NewNotFound(metrics.Resource("pods"), namespace+"/"+name)
	}
	return out, nil
}

// List returns the metrics of the pods that report any.
func (p *podStorage) List(ctx context.Context, opts *internalversion.ListOptions) (runtime.Object, error) {
	pods, err := p.source.client.CoreV1().Pods(genericapirequest.NamespaceValue(ctx)).List(ctx, selecting(opts))
	if err != nil {
		return nil, err
	}
	readings := p.source.podStats(ctx, pods.Items)
	out := &metrics.PodMetricsList{Items: []metrics.PodMetrics{}}
	for i := range pods.Items {
		if one, ok := podMetrics(&pods.Items[i], readings[pods.Items[i].UID]); ok {
			out.Items = append(out.Items, *one)
		}
	}
	return out, nil
}

// selecting passes the selectors of a list request on to the objects measured.
// The resource version 0 lets the API server answer from its cache.
func selecting(opts *internalversion.ListOptions) metav1.ListOptions {
	out := metav1.ListOptions{ResourceVersion: "0"}
	if opts == nil {
		return out
	}
	if opts.LabelSelector != nil {
		out.LabelSelector = opts.LabelSelector.String()
	}
	if opts.FieldSelector != nil {
		out.FieldSelector = opts.FieldSelector.String()
	}
	return out
}
