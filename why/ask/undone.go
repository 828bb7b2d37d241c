package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/graph"
	"whylet.dev/whylet/why/words"
)

// jobs goes to the Jobs that a pod says that it waits for, or whose names the command of a container has that others wait
// for, until they are done; and to the one Job that was to make what its words lack.
func (n *visit) jobs(ctx context.Context) {
	own := cluster.Words(n.a, n.v)
	lacksSchema := n.first() && slices.ContainsFunc(own, cluster.LacksSchema)
	lacksCluster := n.first() && slices.ContainsFunc(own, func(said string) bool { return words.Says(said, knowledge.NoCluster) })
	said := cluster.Says(n.a, n.v)
	for _, command := range cluster.Waiting(n.pod) {
		said = append(said, cluster.Said{Words: command, Shown: command})
	}
	if !lacksSchema && !lacksCluster && !slices.ContainsFunc(said, func(s cluster.Said) bool { return cluster.SpeaksOfJobs(s.Words) }) {
		return
	}
	var makes []way
	for o := range pointers(readable[batchv1.Job](ctx, n.question, n.pod.Namespace)) {
		if metav1.IsControlledBy(n.pod, o) || cluster.Completed(o) {
			continue
		}
		if at := slices.IndexFunc(said, func(s cluster.Said) bool { return cluster.CallsJob(s.Words, o.Name) }); at >= 0 {
			n.leads(n.job(ctx, o, cluster.WaitsForJob(o, said[at].Shown)), graph.MadeBy, graph.Strong)
			continue
		}
		by, guess := "", ""
		if what := n.sameDatabase(ctx, o); lacksSchema && what != "" {
			by = fmt.Sprintf("Job %s/%s asks %s, too, and is not done", o.Namespace, o.Name, what)
			guess = fmt.Sprintf("what %s lacks is made by a Job, mostly, and this one, which asks it, too, is not done", what)
		} else if own := n.asksBy(ctx, o); lacksCluster && own != "" {
			by = fmt.Sprintf("Job %s/%s asks it by its Service %s, and is not done", o.Namespace, o.Name, own)
			guess = "a Job makes a cluster of such servers, mostly, and this one, which asks it, is not done"
		}
		if by == "" {
			continue
		}
		if w := n.job(ctx, o, by); w.cause != "" {
			w.guess = guess
			makes = append(makes, w)
		}
	}
	if len(makes) == 1 { // of several nobody knows which it is
		n.leads(makes[0], graph.MadeBy, graph.Strong)
	}
}

// sameDatabase names what both a pod and a Job ask: a Service that both their configurations name, or a database that the
// same key of a Secret names.
func (n *visit) sameDatabase(ctx context.Context, o *batchv1.Job) string {
	settings := n.settings(ctx, jobsPod(o))
	for _, p := range n.configured(ctx, n.pod) {
		if _, _, named := cluster.Named(settings, p.service); named {
			return p.host
		}
	}
	return cluster.SameSecret(n.pod, jobsPod(o))
}

// asksBy is the Service by which a Job asks a pod.
func (n *visit) asksBy(ctx context.Context, o *batchv1.Job) string {
	settings := n.settings(ctx, jobsPod(o))
	services := readable[v1.Service](ctx, n.question, n.pod.Namespace)
	for i := range services {
		if _, _, named := cluster.Named(settings, &services[i]); named && cluster.Leads(&services[i], n.pod) {
			return services[i].Name
		}
	}
	return ""
}

// undone leads on from a pod that looks well to the one Job that failed and asks it, too, before the first
// pod began to fail: what it was to do there is not done, or half. It is most likely, and no more: who fails
// for the same words suffers like the other.
func (n *visit) undone(ctx context.Context, p place, service *v1.Service) {
	var found []way
	for o := range pointers(readable[batchv1.Job](ctx, n.question, service.Namespace)) {
		failed := cluster.Failed(o)
		if failed == nil || !n.explains(failed.LastTransitionTime.Time) {
			continue
		}
		where, _, named := cluster.Named(n.settings(ctx, jobsPod(o)), service)
		if !named {
			continue
		}
		asks := &visit{follower: n.follower, id: n.id, pod: n.pod, a: n.a, left: n.left}
		w := asks.job(ctx, o, fmt.Sprintf("Job %s/%s asks it, too (its %s names it), and failed", o.Namespace, o.Name, where))
		if d := n.rootFrom(w.to); w.cause != "" && !d.Leads() && w.cause != answer.DependencyDown && !cluster.SameWords(p.said, w.root) {
			w.guess = fmt.Sprintf("it asks %s/%s, too, and failed before that", service.Namespace, service.Name)
			found = append(found, w)
		}
	}
	if len(found) == 1 { // of several nobody knows which it is
		n.leads(found[0], graph.MadeBy, graph.Likely)
	}
}

// undoneFor is the same for one that ends by itself, of the Services that its configuration names and its last
// words have.
func (n *visit) undoneFor(ctx context.Context) {
	if !n.first() || n.v.Cause != answer.AppExitError {
		return
	}
	said := []cluster.Setting{{Text: strings.Join(append(slices.Clone(n.v.LastWords), n.said...), "\n")}}
	for _, p := range n.configured(ctx, n.pod) {
		if _, _, named := cluster.Named(said, p.service); named {
			p.asker = n.asker
			n.undone(ctx, p, p.service)
		}
	}
}

// jobsPod is a pod of a Job, as it is made.
func jobsPod(o *batchv1.Job) *v1.Pod {
	p := &v1.Pod{ObjectMeta: o.Spec.Template.ObjectMeta, Spec: o.Spec.Template.Spec}
	p.Namespace = o.Namespace
	return p
}

// forgot goes to the one that a pod's configuration names, that serves and was started again lately, where
// the pod's words are that something is not there: what it did not keep went with its last end.
func (n *visit) forgot(ctx context.Context) {
	if !n.first() || !slices.ContainsFunc(cluster.Quoted(n.a, n.v), knowledge.Missed.In) {
		return
	}
	places := n.configured(ctx, n.pod)
	for _, p := range places[:min(len(places), mostPlaces)] {
		p.asker = n.asker
		again := *n
		again.asked = map[string]bool{}
		if w := again.to(ctx, p); !w.closed && !w.well {
			w.moot, w.only = false, nil
			w.guess = "what the pod misses was there, and that one was started again since"
			n.leads(w, graph.FailedBy, graph.Possible)
		}
	}
}
