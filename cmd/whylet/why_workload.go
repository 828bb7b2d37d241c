package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why"
)

// behind is what a workload stands for: its pods, how many there should be (-1
// where nobody says), and what the API server said when there may be no more.
type behind struct {
	object   metav1.Object
	selector *metav1.LabelSelector
	wanted   int
	refused  string
}

// workload asks about the pods of what is not a pod itself.
func (c *api) workload(ctx context.Context, t target) ([]why.Answer, error) {
	if t.kind == "service" {
		return c.service(ctx, t.name)
	}
	if t.kind == "node" {
		return c.node(ctx, t.name)
	}
	b, kind, err := c.behind(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", t.kind, c.space, t.name, err)
	}
	selector, err := metav1.LabelSelectorAsSelector(b.selector)
	if err != nil {
		return nil, fmt.Errorf("the selector of %s %s is not valid: %w", t.kind, t.name, err)
	}
	answers, err := c.pods(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if job, ok := b.object.(*batchv1.Job); ok {
		return []why.Answer{why.JobAnswer(job, answers, time.Now().UTC())}, err
	}
	subject := why.Subject{Kind: kind, Namespace: c.space, Name: t.name, UID: b.object.GetUID()}
	if b.refused == "" && b.wanted > len(answers) {
		b.refused = c.failedCreate(ctx, b.object.GetUID())
	}
	return []why.Answer{why.Workload(subject, b.wanted, b.refused, answers, time.Now().UTC())}, err
}

// behind reads a workload.
func (c *api) behind(ctx context.Context, t target) (behind, string, error) {
	apps, get := c.client.AppsV1(), metav1.GetOptions{}
	switch t.kind {
	case "deployment":
		o, err := apps.Deployments(c.space).Get(ctx, t.name, get)
		i := slices.IndexFunc(o.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
			return c.Type == appsv1.DeploymentReplicaFailure && c.Status == v1.ConditionTrue
		})
		refused := ""
		if i >= 0 {
			refused = o.Status.Conditions[i].Message
		}
		return behind{o, o.Spec.Selector, replicas(o.Spec.Replicas), refused}, "Deployment", err
	case "replicaset":
		o, err := apps.ReplicaSets(c.space).Get(ctx, t.name, get)
		return behind{o, o.Spec.Selector, replicas(o.Spec.Replicas), ""}, "ReplicaSet", err
	case "statefulset":
		o, err := apps.StatefulSets(c.space).Get(ctx, t.name, get)
		return behind{o, o.Spec.Selector, replicas(o.Spec.Replicas), ""}, "StatefulSet", err
	case "daemonset":
		o, err := apps.DaemonSets(c.space).Get(ctx, t.name, get)
		return behind{o, o.Spec.Selector, int(o.Status.DesiredNumberScheduled), ""}, "DaemonSet", err
	}
	o, err := c.client.BatchV1().Jobs(c.space).Get(ctx, t.name, get)
	return behind{o, o.Spec.Selector, -1, ""}, "Job", err
}

// failedCreate is what the controller of an object was told the last time it could
// not create a pod, as long as the event is kept; "" where there is none.
func (c *api) failedCreate(ctx context.Context, uid types.UID) string {
	events, err := c.client.CoreV1().Events(c.space).List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedCreate,involvedObject.uid=" + string(uid)})
	if err != nil || len(events.Items) == 0 {
		return ""
	}
	newest := slices.MaxFunc(events.Items, func(a, b v1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return newest.Message
}

func replicas(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// pods asks about every pod that the options choose; those that could not be
// asked are in the error.
func (c *api) pods(ctx context.Context, o metav1.ListOptions) ([]why.Answer, error) {
	list, err := c.client.CoreV1().Pods(c.space).List(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	return c.each(ctx, list.Items)
}

func (c *api) each(ctx context.Context, pods []v1.Pod) ([]why.Answer, error) {
	var answers []why.Answer
	var errs []error
	for i := range pods {
		a, err := c.pod(ctx, &pods[i])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		answers = append(answers, a)
	}
	why.WorstFirst(answers)
	return answers, errors.Join(errs...)
}

func (c *api) service(ctx context.Context, name string) ([]why.Answer, error) {
	service, err := c.client.CoreV1().Services(c.space).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading service %s/%s: %w", c.space, name, err)
	}
	pods, err := c.client.CoreV1().Pods(c.space).List(ctx, metav1.ListOptions{LabelSelector: labels.Everything().String()})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	answers, err := c.each(ctx, why.Selected(service, pods.Items))
	return []why.Answer{why.ServiceAnswer(service, pods.Items, answers, time.Now().UTC())}, err
}
