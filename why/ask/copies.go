package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/diagnose"
	"whylet.dev/whylet/why/graph"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
)

// withheld says whether an answer is waited for at a place, of one that gave others just before,
// and that has nothing to do meanwhile.
func (p place) withheld(a *answer.Answer) bool {
	return p.How == answer.ReachAwaits && p.Heard && !p.Since.Before(p.top) && cluster.Idle(a)
}

// copies leads on from a pod that looks well to those that are to have a copy of what it has:
// where it is said to lack them, or keeps an answer to itself and some of them went as that
// began. Nothing but their configuration shows that they are its copies.
func (n *visit) copies(ctx context.Context, p place, service *v1.Service) bool {
	pod, said := n.pod, slices.ContainsFunc(p.said, knowledge.LacksCopies.In)
	if !said && !p.withheld(n.a) {
		return false
	}
	because := prose.Whether(said, "is said to lack others that have a copy", "keeps its answer to itself and uses no CPU")
	lacks := func(w way, by string) bool {
		w.guess = fmt.Sprintf("%s/%s %s, and %s", pod.Namespace, pod.Name, because, by)
		n.leads(w, graph.ReplicaOf, graph.Likely)
		return w.cause != ""
	}
	for c := range pointers(readable[v1.Pod](ctx, n.question, pod.Namespace)) {
		if c.UID == pod.UID || n.seen[c.UID] || cluster.LooksWell(c) || !kubectl.Related(c, pod) && !n.copiesFrom(ctx, c, pod, service) {
			continue
		}
		by := cluster.IsCopy(c, service)
		if w := n.pointed(ctx, c, "", by, asker{}); n.explains(w.first) && lacks(w, by) {
			return true
		}
	}
	w, by := n.copiesGone(ctx, service)
	return lacks(w, by)
}

// members leads on from a pod that lacks other members of its cluster to those of its own workload that are not well.
func (n *visit) members(ctx context.Context) {
	of := metav1.GetControllerOfNoCopy(n.pod)
	if of == nil || of.Kind != "StatefulSet" || !slices.ContainsFunc(n.said, knowledge.NoLeader.In) {
		return
	}
	for m := range pointers(readable[v1.Pod](ctx, n.question, n.pod.Namespace)) {
		if m.UID == n.pod.UID || n.seen[m.UID] || cluster.LooksWell(m) || !kubectl.Related(m, n.pod) {
			continue
		}
		by := fmt.Sprintf("%s/%s lacks members of its cluster, and member %s/%s is not well", n.pod.Namespace, n.pod.Name, m.Namespace, m.Name)
		if w := n.pointed(ctx, m, "", by, asker{}); n.explains(w.first) {
			n.leads(w, graph.ReplicaOf, graph.Strong)
		}
	}
}

// copiesGone is the way to the first pod of a StatefulSet that has none any more, and whose pods
// are to have a copy of what another has, and by what it is known for one.
func (n *visit) copiesGone(ctx context.Context, service *v1.Service) (w way, by string) {
	inside := n.in(n.pod.Namespace)
	inside.look = false
	for set := range pointers(readable[appsv1.StatefulSet](ctx, n.question, n.pod.Namespace)) {
		c := copyOf(set)
		if first, end := cluster.Ordinals(set); first < end || !n.copiesFrom(ctx, c, n.pod, service) {
			continue
		}
		if all, _ := inside.departed(ctx, c.Name); len(all) > 0 && n.explains(cluster.First(&all[0], cluster.Root(&all[0]))) {
			by = cluster.IsCopy(c, service)
			return n.end(cluster.HopOf(answer.Hop{Pod: cluster.Key(c), By: by}, &all[0]), false), by
		}
	}
	return w, ""
}

// copyOf is the first pod of a StatefulSet, as it would be made.
func copyOf(set *appsv1.StatefulSet) *v1.Pod {
	c := &v1.Pod{ObjectMeta: set.Spec.Template.ObjectMeta, Spec: set.Spec.Template.Spec}
	first, _ := cluster.Ordinals(set)
	c.Namespace, c.Name = set.Namespace, fmt.Sprintf("%s-%d", set.Name, first)
	return c
}

// copiesFrom says whether a pod runs what another runs, and its configuration names that one's
// Service: mostly to have a copy of what it has. A Job's only asks it.
func (f *follower) copiesFrom(ctx context.Context, c, pod *v1.Pod, service *v1.Service) bool {
	if strings.HasPrefix(kubectl.Workload(c), "job/") || cluster.Leads(service, c) || !cluster.SameImage(c, pod) {
		return false
	}
	_, _, named := cluster.Named(f.settings(ctx, c), service)
	return named
}

// explains says whether what began at a moment may be why the first pod began to fail.
func (f *follower) explains(first time.Time) bool { return diagnose.Timely(first, f.since, f.lastWell) }

// mostClients is how many are named that ask the same.
const mostClients = 3

// clients are the pods that have connections to one that is asked, but for who asks.
func (f *follower) clients(ctx context.Context, p place, a *answer.Answer) []string {
	var names []string
	for _, ip := range a.Listening.From {
		if ip == p.address || len(names) == mostClients {
			continue
		}
		if _, pod := f.address(ctx, a.Subject.Namespace, ip); pod != nil && pod.UID != a.Subject.UID && !f.foreign(nil, pod) {
			names = append(names, cluster.Key(pod))
		}
	}
	return names
}

// ordinal tells, where a verdict leads to a pod of a StatefulSet and its words ask a later one that
// does not exist, that this one is not made before the other is ready.
func (f *follower) ordinal(ctx context.Context, v *answer.Verdict) {
	space, name, _ := strings.Cut(v.Hops[0].Pod, "/")
	if name == "" {
		return
	}
	pod, err := oneOf[v1.Pod](ctx, f.question, space, name)
	if err != nil || cluster.LooksWell(pod) {
		return
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "StatefulSet" {
		return
	}
	set, err := oneOf[appsv1.StatefulSet](ctx, f.question, space, owner.Name)
	if err != nil {
		return
	}
	later := cluster.Later(v.Words(), set, pod)
	if later == "" {
		return
	}
	if _, err := oneOf[v1.Pod](ctx, f.question, space, later); apierrors.IsNotFound(err) {
		cluster.NotYet(v, set, pod, later)
	}
}
