package ask

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

// jobs goes to the Job that a pod says that it waits for, or whose name the command of a
// container has that others wait for: until it is done.
func (f *follower) jobs(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict, k asker, left int) []answer.Hop {
	said := append(cluster.Words(a, v), cluster.Waiting(pod)...)
	if !slices.ContainsFunc(said, cluster.SpeaksOfJobs) {
		return nil
	}
	list, err := f.client.BatchV1().Jobs(pod.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for i := range list.Items {
		o := &list.Items[i]
		n := slices.IndexFunc(said, func(text string) bool { return cluster.CallsJob(text, o.Name) })
		if n < 0 || metav1.IsControlledBy(pod, o) || cluster.Completed(o) {
			continue
		}
		if hops := f.job(ctx, o, cluster.WaitsForJob(o, said[n]), k, left); len(hops) > 0 {
			return hops
		}
	}
	return nil
}

// job is the way to what keeps a Job from being done: one of its pods, and whom that waits for,
// or what its controller says.
func (f *follower) job(ctx context.Context, o *batchv1.Job, by string, k asker, left int) []answer.Hop {
	name := o.Namespace + "/" + o.Name
	pods, err := f.client.CoreV1().Pods(o.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if !metav1.IsControlledBy(p, o) {
			continue
		}
		w := f.at(ctx, place{Reach: answer.Reach{How: answer.ReachSaid, Text: by}, asker: k}, nil, p, left)
		if len(w.hops) > 0 {
			w.hops[0].Job, w.hops[0].By = name, by
			return w.hops
		}
	}
	inside := *f.question
	inside.space = o.Namespace
	a, err := inside.standsFor(ctx, job(o))
	if err != nil {
		return nil
	}
	hops := cluster.HopOf("", "", by, &a)
	for i := range hops {
		hops[i].Job = name
	}
	return hops
}
