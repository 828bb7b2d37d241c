package ask

import (
	"context"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// jobs goes to the Job that a pod says that it waits for, or whose name the command of a
// container has that others wait for: until it is done.
func (f *follower) jobs(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict, k asker, left int) []answer.Hop {
	said := cluster.Says(a, v)
	for _, command := range cluster.Waiting(pod) {
		said = append(said, cluster.Said{Words: command, Shown: command})
	}
	if !slices.ContainsFunc(said, func(s cluster.Said) bool { return cluster.SpeaksOfJobs(s.Words) }) {
		return nil
	}
	list, err := allOf[batchv1.Job](ctx, f.question, pod.Namespace)
	if err != nil {
		return nil
	}
	for i := range list {
		o := &list[i]
		n := slices.IndexFunc(said, func(s cluster.Said) bool { return cluster.CallsJob(s.Words, o.Name) })
		if n < 0 || metav1.IsControlledBy(pod, o) || cluster.Completed(o) {
			continue
		}
		if hops := f.job(ctx, o, cluster.WaitsForJob(o, said[n].Shown), v, k, left); len(hops) > 0 {
			return hops
		}
	}
	return nil
}

// madeBy goes to a Job that the words of a pod's error call, where whom it asks looks well and
// only says no: what is not there yet, that Job makes.
func (f *follower) madeBy(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict, k asker, there way, left int) []answer.Hop {
	if !there.well || v.Cause != answer.AppUnhealthy || !k.answered {
		return nil
	}
	return f.jobs(ctx, pod, a, v, k, left)
}

// job is the way to what keeps a Job from being done: one of its pods, and whom that waits for,
// or what its controller says. That a container of it ended well keeps nobody waiting: v is what
// the one that waits suffers from.
func (f *follower) job(ctx context.Context, o *batchv1.Job, by string, v answer.Verdict, k asker, left int) []answer.Hop {
	name := o.Namespace + "/" + o.Name
	pods, err := allOf[v1.Pod](ctx, f.question, o.Namespace)
	if err != nil {
		return nil
	}
	for i := range pods {
		p := &pods[i]
		if !metav1.IsControlledBy(p, o) {
			continue
		}
		if a, err := f.about(ctx, p); err == nil {
			if hop, ok := cluster.RunsOn(o, p, &a, v); ok {
				hop.By = by
				return []answer.Hop{hop}
			}
		}
		w := f.at(ctx, place{Reach: answer.Reach{How: answer.ReachSaid, Text: by, Said: by}, asker: k}, nil, p, left)
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

// mostLed is how many pods of what stands for several are followed to whom they wait for.
const mostLed = 4

// led goes on where the answers about some pods end at another's door, for who asked about
// what stands for them; of many it would take too long.
func (q *question) led(ctx context.Context, pods []v1.Pod, answers []answer.Answer) {
	if !q.top {
		return
	}
	var waiting []int
	for i := range answers {
		if slices.ContainsFunc(answers[i].Verdicts, cluster.MayLead) {
			waiting = append(waiting, i)
		}
	}
	each(waiting[:min(len(waiting), mostLed)], func(_, i int) {
		s := answers[i].Subject
		if n := slices.IndexFunc(pods, func(p v1.Pod) bool { return p.Namespace == s.Namespace && p.Name == s.Name }); n >= 0 {
			q.follow(ctx, &pods[n], &answers[i])
		}
	})
}

// turnedAway goes to whom the API server asked in vain before it would make a pod: a webhook
// behind a Service.
func (q *question) turnedAway(ctx context.Context, b behind, a *answer.Answer) {
	at := words.Place(b.Refused)
	if !q.top || at == "" || b.template == nil {
		return
	}
	looking := *q
	looking.look, looking.top = true, false
	f := &follower{question: &looking, told: map[types.UID]answer.Answer{}}
	f.begin("", false)
	host, port := split(at)
	asking := &v1.Pod{ObjectMeta: b.template.ObjectMeta}
	asking.Namespace = b.Subject.Namespace
	refused := prose.Brief(b.Refused, 160)
	by := answer.Reach{Place: at, How: answer.ReachSaid, Text: refused, Said: refused}
	w := f.to(ctx, asking, place{Reach: by, host: host, port: port}, map[string]bool{}, mostHops)
	if i := cluster.Root(a); i >= 0 && len(w.hops) > 0 && a.Symptoms[i].Pod == "" {
		w.hops[0].By = cluster.AsksForPods(w.hops[0], refused)
		cluster.Lead(a, i, w.hops, "")
	}
}

// mentioned goes to a workload that an error of the pod's has for a word, where a pod of it was
// not well before that error was felt, and no other that is has its name there.
func (f *follower) mentioned(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict, k asker, left int) []answer.Hop {
	said, since := cluster.Quoted(a, v), cluster.Since(a, v)
	if left < mostHops || k.names || since.IsZero() || v.Cause != answer.AppUnhealthy || len(said) == 0 {
		return nil
	}
	pods, err := allOf[v1.Pod](ctx, f.question, pod.Namespace)
	if err != nil {
		return nil
	}
	found := map[string]way{}
	for i := range pods {
		p := &pods[i]
		name := cluster.CalledLike(p)
		n := slices.IndexFunc(said, func(text string) bool { return cluster.HasWord(text, name) })
		if n < 0 || p.UID == pod.UID || cluster.CalledLike(pod) == name || cluster.HasContainer(pod, name) || f.seen[p.UID] {
			continue
		}
		text := prose.Brief(said[n], 100)
		w := f.at(ctx, place{Reach: answer.Reach{How: answer.ReachSaid, Text: text, Said: text}, asker: k}, nil, p, left)
		if len(w.hops) > 0 && !w.first.IsZero() && (w.first.Before(since) || k.well.IsZero() && cluster.MemberFails(said[n], name) || cluster.Holds(said[n], name)) {
			w.hops[0].By = cluster.NamedInError(p, name, said[n])
			found[name] = w
		}
	}
	if len(found) != 1 {
		return nil
	}
	for name, w := range found {
		f.likely = "its error names " + name + ", which was not well before"
		return w.hops
	}
	return nil
}
