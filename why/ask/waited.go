package ask

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/diagnose"
	"whylet.dev/whylet/why/graph"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// job is the way to what keeps a Job from being done: one of its pods, and whom that waits for,
// or what its controller says. That a container of it ended well keeps nobody waiting.
func (n *visit) job(ctx context.Context, o *batchv1.Job, by string) way {
	pods, err := allOf[v1.Pod](ctx, n.question, o.Namespace)
	if err != nil {
		return way{}
	}
	for p := range pointers(pods) {
		if !metav1.IsControlledBy(p, o) {
			continue
		}
		if a, err := n.follower.about(ctx, p); err == nil {
			if hop := cluster.RunsOn(o, p, &a, n.v); hop != nil {
				hop.By = by
				return n.end(hop, false)
			}
		}
		if w := n.pointed(ctx, p, by, by, n.asker); w.cause != "" {
			w.through.Job, w.root.Job = cluster.Key(o), cluster.Key(o)
			w.moot, w.only = false, nil
			return w
		}
	}
	a, err := n.in(o.Namespace).standsFor(ctx, cluster.WorkloadOf(o))
	if err != nil {
		return way{}
	}
	return n.end(cluster.HopOf(answer.Hop{Job: cluster.Key(o), By: by}, &a), false)
}

// mostLed is how many pods of what stands for several are followed to whom they wait for.
const mostLed = 4

// led goes on where the answers about some pods end at another's door, for who asked about
// what stands for them; of many it would take too long.
func (q *question) led(ctx context.Context, pods []v1.Pod, answers []answer.Answer) {
	if q.top {
		q.followed(ctx, pods, answers, mostLed, func(a *answer.Answer) bool { return slices.ContainsFunc(a.Verdicts, cluster.MayLead) })
	}
}

// turnedAway goes to whom the API server asked in vain before it would make a pod: a webhook
// behind a Service.
func (q *question) turnedAway(ctx context.Context, b cluster.Workload, a *answer.Answer) {
	at := words.Place(b.Refused)
	if !q.top || at == "" || b.Template == nil {
		return
	}
	f := q.follower()
	f.begin(false, "")
	host, port := split(at)
	asking := &v1.Pod{ObjectMeta: b.Template.ObjectMeta}
	asking.Namespace = b.Subject.Namespace
	refused := prose.Brief(b.Refused, 160)
	by := answer.Reach{Place: at, How: answer.ReachSaid, Text: refused, Said: refused}
	n := &visit{follower: f, id: podID(asking), pod: asking, a: a, asked: map[string]bool{}, left: mostHops}
	n.leads(n.to(ctx, place{Reach: by, host: host, port: port}), graph.Needs, graph.Strong)
	d := diagnose.Root(&f.graph, n.id)
	if i := cluster.Root(a); i >= 0 && d.Leads() && a.Symptoms[i].Pod == "" {
		hops := f.hops(d.Path)
		hops[0].By = cluster.AsksForPods(hops[0], refused)
		cluster.Lead(a, i, hops, "")
	}
}

// mentioned goes to a workload that an error of the pod's has for a word, where a pod of it was
// not well before that error was felt, and no other that is has its name there.
func (n *visit) mentioned(ctx context.Context) {
	said, since := cluster.Quoted(n.a, n.v), cluster.Since(n.a, n.v)
	if !n.first() || n.names || since.IsZero() || n.v.Cause != answer.AppUnhealthy || len(said) == 0 {
		return
	}
	found := map[string]bool{}
	for p := range pointers(readable[v1.Pod](ctx, n.question, n.pod.Namespace)) {
		name := cluster.CalledLike(p)
		at := slices.IndexFunc(said, func(text string) bool { return cluster.HasWord(text, name) })
		if at < 0 || found[name] || p.UID == n.pod.UID || cluster.CalledLike(n.pod) == name || cluster.HasContainer(n.pod, name) || n.seen[p.UID] {
			continue
		}
		text := prose.Brief(said[at], 100)
		w := n.pointed(ctx, p, text, cluster.NamedInError(p, name, said[at]), n.asker)
		if w.cause != "" && !w.first.IsZero() && (w.first.Before(since) || n.asker.well.IsZero() && cluster.MemberFails(said[at], name) || cluster.Holds(said[at], name)) {
			w.moot, w.only, w.guess = false, nil, "its error names "+name+", which was not well before"
			n.leads(w, graph.FailedBy, graph.Possible)
			found[name] = true
		}
	}
}
