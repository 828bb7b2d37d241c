package ask

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

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

// behindService asks about the pods.
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

// eachOf is what each workload of a kind in the namespace stands for.
func eachOf[T any](ctx context.Context, q *question, of func(*T) behind) (all []behind) {
	list := readable[T](ctx, q, q.space)
	for i := range list {
		all = append(all, of(&list[i]))
	}
	return all
}

// unmade are the answers about the workloads whose pods a Service would select if
// there were any. What cannot be read leaves them out.
func (q *question) unmade(ctx context.Context, service *v1.Service) []answer.Answer {
	all := slices.Concat(eachOf(ctx, q, deployment), eachOf(ctx, q, statefulSet), eachOf(ctx, q, daemonSet))
	selector := labels.SelectorFromSet(service.Spec.Selector)
	var answers []answer.Answer
	for _, b := range all {
		if !selector.Matches(labels.Set(b.template.Labels)) {
			continue
		}
		if a, err := q.standsFor(ctx, b); err == nil {
			answers = append(answers, a)
		}
	}
	return answers
}
