package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/serve"
)

// node asks about a node: what the API server has of it, what it remembers itself,
// and everything on it.
func (c *api) node(ctx context.Context, name string) ([]answer.Answer, error) {
	node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no node %s; kubectl get nodes lists them", name)
	}
	if err != nil {
		return nil, fmt.Errorf("reading node %s: %w", name, err)
	}
	pods, err := c.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", name).String()})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of node %s: %w", name, err)
	}
	k := cluster.NodeCase{Node: node, Pods: pods.Items}
	now, known := time.Now().UTC(), answer.Coverage{Complete: true}
	if _, lost := cluster.NodeLostAnswer(&v1.Pod{Spec: v1.PodSpec{NodeName: name}}, node, now); lost {
		return []answer.Answer{cluster.NodeAnswer(k, known, now)}, nil
	}
	// What cannot be asked leaves the answer with less in it, and is told.
	var errs []error
	c.space = metav1.NamespaceAll
	var list serve.List
	if err := c.ask(ctx, name, "", "", &list); err != nil {
		errs = append(errs, fmt.Errorf("asking node %s about its pods: %w", name, err))
	}
	k.Each = list.Items
	var own answer.Answer
	if err := c.askNode(ctx, name, &own); err != nil {
		errs = append(errs, fmt.Errorf("asking node %s about itself: %w", name, err))
	} else {
		k.Memory, known = &own, answer.Coverage{From: own.Journal.From, Complete: own.Journal.Complete}
	}
	if k.Usage, err = c.usage(ctx, name); err != nil {
		errs = append(errs, fmt.Errorf("asking node %s what its pods use: %w", name, err))
	}
	return []answer.Answer{cluster.NodeAnswer(k, known, now)}, errors.Join(errs...)
}

// askNode asks a node about itself.
func (c *api) askNode(ctx context.Context, node string, into *answer.Answer) error {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	r := c.client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("why").Param("kind", "node").Param("name", node)
	if c.options.since > 0 {
		r = r.Param("since", c.options.since.String())
	}
	raw, err := r.Do(ctx).Raw()
	if err != nil {
		return said(err, raw)
	}
	return json.Unmarshal(raw, into)
}

// usage is the working set of each pod of a node, in bytes.
func (c *api) usage(ctx context.Context, node string) (map[types.UID]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, asking)
	defer cancel()
	raw, err := c.client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix("stats", "summary").Do(ctx).Raw()
	if err != nil {
		return nil, said(err, raw)
	}
	var summary statsapi.Summary
	if err := json.Unmarshal(raw, &summary); err != nil {
		return nil, fmt.Errorf("its statistics are not understood: %w", err)
	}
	used := map[types.UID]int64{}
	for _, p := range summary.Pods {
		if p.Memory != nil && p.Memory.WorkingSetBytes != nil {
			used[types.UID(p.PodRef.UID)] = int64(*p.Memory.WorkingSetBytes)
		}
	}
	return used, nil
}
