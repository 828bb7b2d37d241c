package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

// undone leads on from a pod that looks well to the one Job that failed and asks it, too, before the first
// pod began to fail: what it was to do there is not done, or half. It is most likely, and no more: who fails
// for the same words suffers like the other.
func (f *follower) undone(ctx context.Context, p place, service *v1.Service, left int) []answer.Hop {
	if service == nil || left == 0 {
		return nil
	}
	list, err := allOf[batchv1.Job](ctx, f.question, service.Namespace)
	if err != nil {
		return nil
	}
	var found []answer.Hop
	for i := range list {
		o := &list[i]
		failed, ok := cluster.FailedAt(o)
		if !ok || !f.explains(failed) {
			continue
		}
		where, _, named := cluster.Named(f.settings(ctx, jobsPod(o)), service)
		if !named {
			continue
		}
		hops := f.job(ctx, o, fmt.Sprintf("Job %s/%s asks it, too (its %s names it), and failed", o.Namespace, o.Name, where), answer.Verdict{}, asker{}, left)
		switch n := len(hops); {
		case n != 1, hops[0].Cause == answer.DependencyDown, cluster.SameWords(p.said, hops[0]):
			continue
		case found != nil:
			return nil // nobody knows which of them it is
		}
		found = hops
	}
	if found != nil {
		f.likely = fmt.Sprintf("it asks %s/%s, too, and failed before that", service.Namespace, service.Name)
	}
	return found
}

// unmade leads from a server which says that it is no part of a whole yet to the one Job that asks it by the
// Service of its own, and is not done: it was to make that whole.
func (f *follower) unmade(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict, left int) []answer.Hop {
	if left < mostHops || !slices.ContainsFunc(cluster.Words(a, v), cluster.LacksCluster) {
		return nil
	}
	list, err := allOf[batchv1.Job](ctx, f.question, pod.Namespace)
	services, failed := allOf[v1.Service](ctx, f.question, pod.Namespace)
	if err != nil || failed != nil {
		return nil
	}
	var found []answer.Hop
	for i := range list {
		o := &list[i]
		settings := f.settings(ctx, jobsPod(o))
		n := slices.IndexFunc(services, func(s v1.Service) bool {
			_, _, named := cluster.Named(settings, &s)
			return named && cluster.Leads(&s, pod)
		})
		if n < 0 || cluster.Completed(o) || metav1.IsControlledBy(pod, o) {
			continue
		}
		hops := f.job(ctx, o, fmt.Sprintf("Job %s/%s asks it by its Service %s, and is not done", o.Namespace, o.Name, services[n].Name), v, asker{}, left)
		if len(hops) == 0 {
			continue
		}
		if found != nil {
			return nil // nobody knows which of them it is
		}
		found = hops
		f.likely = "a Job makes a cluster of such servers, mostly, and this one, which asks it, is not done"
	}
	return found
}

// unmigrated leads from one whose words are that a database lacks what is to be made there to the one Job that
// asks the same database, and is not done.
func (f *follower) unmigrated(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict, left int) []answer.Hop {
	if left < mostHops || !slices.ContainsFunc(cluster.Words(a, v), cluster.LacksSchema) {
		return nil
	}
	list, err := allOf[batchv1.Job](ctx, f.question, pod.Namespace)
	if err != nil || len(list) == 0 {
		return nil
	}
	asked := f.configured(ctx, pod)
	var found []answer.Hop
	for i := range list {
		o := &list[i]
		settings := f.settings(ctx, jobsPod(o))
		n := slices.IndexFunc(asked, func(p place) bool {
			_, _, named := cluster.Named(settings, p.service)
			return named
		})
		same := cluster.SameSecret(pod, jobsPod(o))
		if n < 0 && same == "" || cluster.Completed(o) || metav1.IsControlledBy(pod, o) {
			continue
		}
		what := same
		if n >= 0 {
			what = asked[n].host
		}
		hops := f.job(ctx, o, fmt.Sprintf("Job %s/%s asks %s, too, and is not done", o.Namespace, o.Name, what), v, asker{}, left)
		if len(hops) == 0 {
			continue
		}
		if found != nil {
			return nil // nobody knows which of them it is
		}
		found = hops
		f.likely = fmt.Sprintf("what %s lacks is made by a Job, mostly, and this one, which asks it, too, is not done", what)
	}
	return found
}

// undoneFor is the same for one that ends by itself, of the Services that its configuration names and its last
// words have.
func (f *follower) undoneFor(ctx context.Context, pod *v1.Pod, k asker, v answer.Verdict, left int) []answer.Hop {
	if left < mostHops || v.Cause != answer.AppExitError {
		return nil
	}
	said := []cluster.Setting{{Text: strings.Join(append(slices.Clone(v.LastWords), k.said...), "\n")}}
	for _, p := range f.configured(ctx, pod) {
		if _, _, named := cluster.Named(said, p.service); !named {
			continue
		}
		p.asker = k
		if hops := f.undone(ctx, p, p.service, left); len(hops) > 0 {
			return hops
		}
	}
	return nil
}

// jobsPod is a pod of a Job, as it is made.
func jobsPod(o *batchv1.Job) *v1.Pod {
	p := &v1.Pod{ObjectMeta: o.Spec.Template.ObjectMeta, Spec: o.Spec.Template.Spec}
	p.Namespace = o.Namespace
	return p
}
