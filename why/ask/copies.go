package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/kubectl"
)

// soonAfter is how much later than the effect its reason may be known.
const soonAfter = 5 * time.Second

// withheld says whether an answer is waited for at a place, of one that gave others just before,
// and that has nothing to do meanwhile.
func (p place) withheld(a *answer.Answer) bool {
	return p.How == answer.ReachAwaits && p.Heard && !p.Since.Before(p.top) && cluster.Idle(a)
}

// copies leads on from a pod that looks well to those that are to have a copy of what it has:
// where it is said to lack them, or keeps an answer to itself and some of them went as that
// began. Nothing but their configuration shows that they are its copies.
func (f *follower) copies(ctx context.Context, p place, service *v1.Service, pod *v1.Pod, a *answer.Answer, met bool, left int) []answer.Hop {
	said, withheld := slices.ContainsFunc(p.said, cluster.LacksCopies), p.withheld(a)
	if service == nil || left == 0 || !met || !said && !withheld {
		return nil
	}
	because := "keeps its answer to itself and uses no CPU"
	if said {
		because = "is said to lack others that have a copy"
	}
	pods, err := allOf[v1.Pod](ctx, f.question, pod.Namespace)
	if err != nil {
		return nil
	}
	for i := range pods {
		c := &pods[i]
		if c.UID == pod.UID || f.seen[c.UID] || cluster.LooksWell(c) || !kubectl.Related(c, pod) && !f.copiesFrom(ctx, c, pod, service) {
			continue
		}
		w := f.at(ctx, place{Reach: answer.Reach{How: answer.ReachSaid}}, nil, c, left)
		if len(w.hops) > 0 && f.explains(w.first) {
			w.hops[0].By = cluster.IsCopy(c, service)
			f.likely = fmt.Sprintf("%s/%s %s, and %s", pod.Namespace, pod.Name, because, w.hops[0].By)
			return w.hops
		}
	}
	hops := f.copiesGone(ctx, pod, service)
	if len(hops) > 0 {
		f.likely = fmt.Sprintf("%s/%s %s, and %s", pod.Namespace, pod.Name, because, hops[0].By)
	}
	return hops
}

// copiesGone is the hop to the first pod of a StatefulSet that has none any more, and whose pods
// are to have a copy of what another has.
func (f *follower) copiesGone(ctx context.Context, pod *v1.Pod, service *v1.Service) []answer.Hop {
	sets, err := allOf[appsv1.StatefulSet](ctx, f.question, pod.Namespace)
	if err != nil {
		return nil
	}
	inside := *f.question
	inside.space, inside.look = pod.Namespace, false
	for i := range sets {
		set := &sets[i]
		c := copyOf(set)
		if first, end := cluster.Ordinals(set); first < end || !f.copiesFrom(ctx, c, pod, service) {
			continue
		}
		if all, _ := inside.departed(ctx, c.Name); len(all) > 0 && f.explains(cluster.First(&all[0], cluster.Root(&all[0]))) {
			return cluster.HopOf("", c.Namespace+"/"+c.Name, cluster.IsCopy(c, service), &all[0])
		}
	}
	return nil
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
func (f *follower) explains(first time.Time) bool {
	if first.IsZero() || first.After(f.since.Add(soonAfter)) {
		return false
	}
	return f.lastWell.IsZero() || first.After(f.lastWell.Add(-mayLast))
}

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
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
	}
	return names
}
