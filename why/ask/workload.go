package ask

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

// workload asks about the pods of what is not a pod itself.
func (q *question) workload(ctx context.Context, t Target) ([]answer.Answer, error) {
	switch t.Kind {
	case "service":
		return q.service(ctx, t.Name)
	case "node":
		return q.node(ctx, t.Name)
	case "cronjob":
		return q.cronJob(ctx, t.Name)
	}
	b, err := q.behind(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", t.Kind, q.space, t.Name, err)
	}
	a, err := q.standsFor(ctx, b)
	return []answer.Answer{a}, err
}

// standsFor asks about the pods of a workload.
func (q *question) standsFor(ctx context.Context, b cluster.Workload) (answer.Answer, error) {
	selector, err := metav1.LabelSelectorAsSelector(b.Selector)
	if err != nil {
		return answer.Answer{}, fmt.Errorf("the selector of %s %s is not valid: %w", b.Subject.Kind, b.Subject.Name, err)
	}
	list, err := someOf[v1.Pod](ctx, q, q.space, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return answer.Answer{}, fmt.Errorf("listing pods: %w", err)
	}
	answers, err := q.pods(ctx, list)
	for a, pod := range withPods(answers, list) {
		cluster.KeptOpen(a, pod)
	}
	if q.top || q.options.Now != nil {
		q.heard(ctx, list, answers, mostLed)
	}
	q.led(ctx, list, answers)
	q.inCommon(ctx, answers, list)
	if b.Refused == "" {
		b.Refused, b.Since = q.lastEvent(ctx, b.Subject.UID, "FailedCreate") // where its status does not tell
	}
	if b.Job != nil {
		answers = append(answers, q.gone(ctx, b.Subject)...)
		return cluster.JobAnswer(b, answers, q.now()), err
	}
	a := cluster.WorkloadAnswer(b, answers, q.now())
	cluster.LeftBehind(&a, list, b)
	q.turnedAway(ctx, b, &a)
	return a, err
}

// behind reads a workload.
func (q *question) behind(ctx context.Context, t Target) (cluster.Workload, error) {
	k, _ := kindNamed(t.Kind)
	o, err := q.object(ctx, k, q.space, t.Name)
	if err != nil {
		return cluster.Workload{}, err
	}
	b := cluster.WorkloadOf(o)
	if b.Nodes != "" && !q.options.Within {
		if taints := (cluster.Around{Nodes: q.nodes()}).KeepsOut(b.Template); taints != "" {
			b.Nodes += ", and " + taints
		}
	}
	return b, nil
}

// cronJob asks about the newest of the jobs that a CronJob made.
func (q *question) cronJob(ctx context.Context, name string) ([]answer.Answer, error) {
	o, err := oneOf[batchv1.CronJob](ctx, q, q.space, name)
	if err != nil {
		return nil, fmt.Errorf("reading cronjob %s/%s: %w", q.space, name, err)
	}
	jobs, err := allOf[batchv1.Job](ctx, q, q.space)
	if err != nil {
		return nil, fmt.Errorf("listing jobs: %w", err)
	}
	own := slices.DeleteFunc(slices.Clone(jobs), func(j batchv1.Job) bool { return !metav1.IsControlledBy(&j, o) })
	var newest *batchv1.Job
	var last *answer.Answer
	if len(own) > 0 {
		newest = new(slices.MaxFunc(own, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) }))
		of, failed := q.standsFor(ctx, cluster.WorkloadOf(newest))
		last, err = &of, failed
	}
	a := cluster.CronJobAnswer(o, last, q.now())
	q.missed(ctx, o, newest, &a)
	return []answer.Answer{a}, err
}

// missed tells of runs that a CronJob misses by the words of its controller, of the time since its newest job began (of
// k8s.io/kubernetes pkg/controller/cronjob).
func (q *question) missed(ctx context.Context, o *batchv1.CronJob, newest *batchv1.Job, a *answer.Answer) {
	newestFirst := func(a, b v1.Event) int { return b.LastTimestamp.Compare(a.LastTimestamp.Time) }
	events := slices.SortedFunc(slices.Values(q.events(ctx, q.space, fields.Set{"involvedObject.uid": string(o.UID)})), newestFirst)
	began := o.CreationTimestamp.Time
	if newest != nil {
		began = newest.CreationTimestamp.Time
	}
	for e := range pointers(events) {
		first, last := e.FirstTimestamp.Time, e.LastTimestamp.Time
		if !last.After(began) {
			continue
		}
		if first.Before(began) {
			first = began
		}
		switch {
		case e.Reason == "JobAlreadyActive" && newest != nil && len(o.Status.Active) > 0:
			cluster.MissesRuns(a, newest.Name, e.Message, first, last)
			return
		case e.Reason == "FailedCreate":
			cluster.JobRefused(a, e.Message, first, last)
			return
		case slices.Contains([]string{"MissSchedule", "TooManyMissedTimes", "UnparseableSchedule", "InvalidSchedule", "UnknownTimeZone"}, e.Reason):
			cluster.MissesRuns(a, "", e.Message, first, last)
			return
		}
	}
}

// lastEvent is the last one of that reason about an object, and when it was first heard.
func (q *question) lastEvent(ctx context.Context, uid types.UID, reason string) (string, time.Time) {
	events := q.events(ctx, q.space, fields.Set{"involvedObject.uid": string(uid), "reason": reason})
	if len(events) == 0 {
		return "", time.Time{} // an answer without it is still one
	}
	last := slices.MaxFunc(events, func(a, b v1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return last.Message, last.FirstTimestamp.Time
}

// service asks about the pods that a Service selects, and about its way in from outside.
func (q *question) service(ctx context.Context, name string) ([]answer.Answer, error) {
	service, err := oneOf[v1.Service](ctx, q, q.space, name)
	if err != nil {
		return nil, fmt.Errorf("reading service %s/%s: %w", q.space, name, err)
	}
	if a, ok := q.elsewhere(ctx, service); ok {
		return []answer.Answer{a}, nil
	}
	answers, err := q.behindService(ctx, service)
	if !cluster.WantsAddress(service) || len(answers) == 0 {
		return answers, err
	}
	// The reason that k8s.io/cloud-provider/controllers/service gives.
	if words, since := q.lastEvent(ctx, service.UID, "SyncLoadBalancerFailed"); words != "" {
		answers[0] = cluster.WithoutAddress(service, answers[0], words, since, q.now())
	}
	return answers, err
}

// elsewhere answers about a Service that is another name for one of the cluster's which is not there.
func (q *question) elsewhere(ctx context.Context, service *v1.Service) (answer.Answer, bool) {
	space, name, ok := cluster.StandsFor(service)
	if !ok || q.options.Within && space != q.options.Namespace {
		return answer.Answer{}, false
	}
	if _, err := oneOf[v1.Service](ctx, q, space, name); !apierrors.IsNotFound(err) {
		return answer.Answer{}, false
	}
	_, err := oneOf[v1.Namespace](ctx, q, "", space)
	return cluster.NameForNothing(service, apierrors.IsNotFound(err), q.now()), true
}

func (q *question) behindService(ctx context.Context, service *v1.Service) ([]answer.Answer, error) {
	pods, err := allOf[v1.Pod](ctx, q, q.space)
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	selected := cluster.Selected(service, pods)
	if len(selected) == 0 && len(service.Spec.Selector) > 0 {
		if isPartial[v1.Pod](q, q.space) {
			return nil, fmt.Errorf("service %s/%s selects none of the pods in the dump, which does not hold all pods of its namespace: add the output of kubectl cluster-info dump", service.Namespace, service.Name)
		}
		if behind := q.unmade(ctx, service); len(behind) > 0 {
			return []answer.Answer{cluster.ServiceWithoutPods(service, behind, q.now())}, nil
		}
	}
	q.look = true // who listens decides, and nobody need have looked since they began to
	answers, err := q.pods(ctx, selected)
	q.led(ctx, selected, answers)
	others := readable[v1.Service](ctx, q, q.space) // whoever may not list them is told less
	return []answer.Answer{cluster.ServiceAnswer(service, pods, others, answers, q.now())}, err
}

// unmade are the answers about the workloads whose pods a Service would select if
// there were any. What cannot be read leaves them out.
func (q *question) unmade(ctx context.Context, service *v1.Service) (answers []answer.Answer) {
	selector := labels.SelectorFromSet(service.Spec.Selector)
	for _, kind := range []string{"deployment", "statefulset", "daemonset"} {
		k, _ := kindNamed(kind)
		list, _ := q.listOnce(ctx, k, q.space, metav1.ListOptions{})
		for _, o := range objects(list) {
			b := cluster.WorkloadOf(o)
			if !selector.Matches(labels.Set(b.Template.Labels)) {
				continue
			}
			if a, err := q.standsFor(ctx, b); err == nil {
				answers = append(answers, a)
			}
		}
	}
	return answers
}
