package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/serve"
)

// behind is what a workload stands for: its pods, and what its controller says.
type behind struct {
	cluster.Workload
	selector *metav1.LabelSelector
	template *v1.PodTemplateSpec
	job      *batchv1.Job // nil where it is none
}

// workload asks about the pods of what is not a pod itself.
func (c *api) workload(ctx context.Context, t target) ([]answer.Answer, error) {
	switch t.kind {
	case "service":
		return c.service(ctx, t.name)
	case "node":
		return c.node(ctx, t.name)
	case "cronjob":
		return c.cronJob(ctx, t.name)
	}
	b, err := c.behind(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", t.kind, c.space, t.name, err)
	}
	a, err := c.about(ctx, b)
	return []answer.Answer{a}, err
}

// about asks about the pods of a workload.
func (c *api) about(ctx context.Context, b behind) (answer.Answer, error) {
	selector, err := metav1.LabelSelectorAsSelector(b.selector)
	if err != nil {
		return answer.Answer{}, fmt.Errorf("the selector of %s %s is not valid: %w", b.Subject.Kind, b.Subject.Name, err)
	}
	answers, err := c.pods(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if b.Refused == "" {
		b.Refused, b.Since = c.refused(ctx, b.Subject.UID)
	}
	if b.job != nil {
		answers = append(answers, c.gone(ctx, b.Subject)...)
		return cluster.JobAnswer(b.job, b.Workload, answers, time.Now().UTC()), err
	}
	return cluster.WorkloadAnswer(b.Workload, answers, time.Now().UTC()), err
}

// gone asks all nodes about the pods of a controller that do not exist any more. A node
// that cannot be asked leaves its own out.
func (c *api) gone(ctx context.Context, owner answer.Subject) []answer.Answer {
	nodes, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	var all []answer.Answer
	for _, n := range nodes.Items {
		var list serve.List
		if err := c.ask(ctx, n.Name, owner.Name, "", &list, "owner", string(owner.UID)); err == nil {
			all = append(all, list.Items...)
		}
	}
	return all
}

// behind reads a workload.
func (c *api) behind(ctx context.Context, t target) (behind, error) {
	apps, get := c.client.AppsV1(), metav1.GetOptions{}
	switch t.kind {
	case "deployment":
		o, err := apps.Deployments(c.space).Get(ctx, t.name, get)
		return deployment(o), err
	case "replicaset":
		o, err := apps.ReplicaSets(c.space).Get(ctx, t.name, get)
		b := behind{Workload: cluster.Workload{Subject: subject("ReplicaSet", o), Wanted: replicas(o.Spec.Replicas)}, selector: o.Spec.Selector, template: &o.Spec.Template}
		for _, s := range o.Status.Conditions {
			if s.Type == appsv1.ReplicaSetReplicaFailure && s.Status == v1.ConditionTrue {
				b.Refused, b.Since = s.Message, s.LastTransitionTime.Time
			}
		}
		return b, err
	case "statefulset":
		o, err := apps.StatefulSets(c.space).Get(ctx, t.name, get)
		return statefulSet(o), err
	case "daemonset":
		o, err := apps.DaemonSets(c.space).Get(ctx, t.name, get)
		return daemonSet(o), err
	}
	o, err := c.client.BatchV1().Jobs(c.space).Get(ctx, t.name, get)
	return job(o), err
}

func subject(kind string, o metav1.Object) answer.Subject {
	return answer.Subject{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()}
}

func deployment(o *appsv1.Deployment) behind {
	b := behind{Workload: cluster.Workload{Subject: subject("Deployment", o), Wanted: replicas(o.Spec.Replicas)}, selector: o.Spec.Selector, template: &o.Spec.Template}
	if o.Spec.Paused {
		b.Suspended = "spec.paused"
	}
	for _, s := range o.Status.Conditions {
		if s.Type == appsv1.DeploymentReplicaFailure && s.Status == v1.ConditionTrue {
			b.Refused, b.Since = s.Message, s.LastTransitionTime.Time
		}
	}
	return b
}

func statefulSet(o *appsv1.StatefulSet) behind {
	return behind{Workload: cluster.Workload{Subject: subject("StatefulSet", o), Wanted: replicas(o.Spec.Replicas)}, selector: o.Spec.Selector, template: &o.Spec.Template}
}

func daemonSet(o *appsv1.DaemonSet) behind {
	b := behind{Workload: cluster.Workload{Subject: subject("DaemonSet", o), Wanted: int(o.Status.DesiredNumberScheduled)}, selector: o.Spec.Selector, template: &o.Spec.Template}
	if b.Wanted == 0 && o.Generation > 0 && o.Status.ObservedGeneration >= o.Generation {
		b.Nodes = asksOfNodes(o.Spec.Template.Spec)
	}
	return b
}

func job(o *batchv1.Job) behind {
	b := behind{Workload: cluster.Workload{Subject: subject("Job", o), Wanted: -1}, selector: o.Spec.Selector, template: &o.Spec.Template, job: o}
	if o.Spec.Suspend != nil && *o.Spec.Suspend {
		b.Suspended = "spec.suspend"
	}
	return b
}

// cronJob asks about the newest of the jobs that a CronJob made.
func (c *api) cronJob(ctx context.Context, name string) ([]answer.Answer, error) {
	o, err := c.client.BatchV1().CronJobs(c.space).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading cronjob %s/%s: %w", c.space, name, err)
	}
	jobs, err := c.client.BatchV1().Jobs(c.space).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	own := slices.DeleteFunc(jobs.Items, func(j batchv1.Job) bool { return !metav1.IsControlledBy(&j, o) })
	if len(own) == 0 {
		return []answer.Answer{cluster.CronJobAnswer(o, nil, time.Now().UTC())}, nil
	}
	newest := slices.MaxFunc(own, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	last, err := c.about(ctx, job(&newest))
	return []answer.Answer{cluster.CronJobAnswer(o, &last, time.Now().UTC())}, err
}

// asksOfNodes says in words what a pod asks of its node.
func asksOfNodes(spec v1.PodSpec) string {
	switch {
	case len(spec.NodeSelector) > 0:
		return "the label " + strings.ReplaceAll(labels.Set(spec.NodeSelector).String(), ",", " and ")
	case spec.Affinity != nil && spec.Affinity.NodeAffinity != nil:
		return "what their nodeAffinity says"
	}
	return "a node whose taints they tolerate"
}

// refused is the API server's last refusal of a pod that the controller with the
// given uid wanted to make: where its status does not tell, its events do.
func (c *api) refused(ctx context.Context, uid types.UID) (string, time.Time) {
	events, err := c.client.CoreV1().Events(c.space).List(ctx, metav1.ListOptions{
		FieldSelector: fields.Set{"involvedObject.uid": string(uid), "reason": "FailedCreate"}.String(),
	})
	if err != nil || len(events.Items) == 0 {
		return "", time.Time{} // an answer without it is still one
	}
	last := slices.MaxFunc(events.Items, func(a, b v1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return last.Message, last.FirstTimestamp.Time
}

func replicas(n *int32) int {
	if n == nil {
		return 1
	}
	return int(*n)
}

// pods asks about every pod that the options choose; those that could not be
// asked are in the error.
func (c *api) pods(ctx context.Context, o metav1.ListOptions) ([]answer.Answer, error) {
	list, err := c.client.CoreV1().Pods(c.space).List(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	return c.each(ctx, list.Items)
}

func (c *api) each(ctx context.Context, pods []v1.Pod) ([]answer.Answer, error) {
	var answers []answer.Answer
	var errs []error
	for i := range pods {
		a, err := c.pod(ctx, &pods[i])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		answers = append(answers, a)
	}
	answer.WorstFirst(answers)
	return answers, errors.Join(errs...)
}

func (c *api) service(ctx context.Context, name string) ([]answer.Answer, error) {
	service, err := c.client.CoreV1().Services(c.space).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading service %s/%s: %w", c.space, name, err)
	}
	pods, err := c.client.CoreV1().Pods(c.space).List(ctx, metav1.ListOptions{LabelSelector: labels.Everything().String()})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	selected := cluster.Selected(service, pods.Items)
	if len(selected) == 0 && len(service.Spec.Selector) > 0 {
		if behind := c.unmade(ctx, service); len(behind) > 0 {
			return []answer.Answer{cluster.ServiceWithoutPods(service, behind, time.Now().UTC())}, nil
		}
	}
	c.look = true // who listens decides, and nobody need have looked since they began to
	answers, err := c.each(ctx, selected)
	return []answer.Answer{cluster.ServiceAnswer(service, pods.Items, answers, time.Now().UTC())}, err
}

// unmade are the answers about the workloads whose pods a Service would select if
// there were any. What cannot be read leaves them out.
func (c *api) unmade(ctx context.Context, service *v1.Service) []answer.Answer {
	var all []behind
	apps := c.client.AppsV1()
	if list, err := apps.Deployments(c.space).List(ctx, metav1.ListOptions{}); err == nil {
		for i := range list.Items {
			all = append(all, deployment(&list.Items[i]))
		}
	}
	if list, err := apps.StatefulSets(c.space).List(ctx, metav1.ListOptions{}); err == nil {
		for i := range list.Items {
			all = append(all, statefulSet(&list.Items[i]))
		}
	}
	if list, err := apps.DaemonSets(c.space).List(ctx, metav1.ListOptions{}); err == nil {
		for i := range list.Items {
			all = append(all, daemonSet(&list.Items[i]))
		}
	}
	selector := labels.SelectorFromSet(service.Spec.Selector)
	var answers []answer.Answer
	for _, b := range all {
		if !selector.Matches(labels.Set(b.template.Labels)) {
			continue
		}
		if a, err := c.about(ctx, b); err == nil {
			answers = append(answers, a)
		}
	}
	return answers
}
