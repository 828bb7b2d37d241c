package ask

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/graph"
	"whylet.dev/whylet/why/prose"
)

// mostEchoes is how many pods behind the Services that a pod's configuration names, or that ask what it
// asks, are looked at for what it says of an error.
const mostEchoes = 6

// sameWords is told of one where a log has the words of an error.
const sameWords = ", and the log there has the same words"

// heard is a pod whose log has the words of an asker's error, and why it is asked.
type heard struct {
	pod       *v1.Pod
	told      *answer.Answer
	service   *v1.Service
	by        place
	complaint answer.Complaint
	ofItself  bool
}

// echoed goes to the pods whose logs have the words of an error as their own, of those that the configuration
// of who repeats it names: that one says so of what it lacks itself is the reason.
func (n *visit) echoed(ctx context.Context) {
	if n.left == 0 {
		return
	}
	for _, h := range n.echoes(ctx, n.pod, n.asker) {
		if h.ofItself {
			n.leads(n.echo(ctx, h), graph.FailedBy, graph.Likely)
		}
	}
}

// echo is the way to one whose log has the words of an error, or through it to whom it repeats.
func (n *visit) echo(ctx context.Context, h heard) way {
	own := hopTo(h.by, h.service, h.pod, h.told, -1)
	w := way{to: podID(h.pod), through: own, well: true}
	defer n.enter(w.to)()
	there := visit{follower: n.follower, id: w.to, pod: h.pod, a: h.told, left: n.left - 1}
	there.asker = asker{address: h.pod.Status.PodIP, said: []string{h.complaint.Text}}
	there.echoed(ctx)
	cause, text, _ := cluster.Fails(h.told, h.by.since)
	own.Cause = cause
	own.Say(text)
	own.Fixes = cluster.Steps(h.pod, h.told, own, h.by.since)
	n.graph.Find(graph.Finding{At: w.to, Cause: string(cause), Effect: true})
	w.root = own
	if d := n.rootFrom(w.to); d.Root != nil {
		w.cause = answer.Cause(d.Root.Cause)
	}
	return w
}

// echoes are the pods that look well, of those which a pod's configuration names, and have the words of its
// errors in their logs as their own.
func (f *follower) echoes(ctx context.Context, pod *v1.Pod, k asker) []heard {
	if len(k.said) == 0 {
		return nil
	}
	var all []heard
	looked, pods := 0, readable[v1.Pod](ctx, f.question, pod.Namespace)
	for _, p := range f.configured(ctx, pod) {
		behind := cluster.Selected(p.service, pods)
		for other := range pointers(behind) {
			if looked == mostEchoes || slices.Contains(f.path, podID(other)) || !cluster.LooksWell(other) {
				continue
			}
			looked++
			told, err := f.about(ctx, other)
			if err != nil {
				continue
			}
			c, ofItself, ok := cluster.Repeated(k.said, &told)
			if !ok {
				continue
			}
			p.asker = k
			p.Text += sameWords
			all = append(all, heard{other, &told, p.service, p, c, ofItself})
			break // the others behind it are like it
		}
	}
	return all
}

// saysToo tells of the one pod that has the words of an error, too, which are of what it was asked.
func (f *follower) saysToo(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int) bool {
	defer f.enter(podID(pod))()
	all := f.echoes(ctx, pod, newAsker(pod, a, a.Verdicts[i]))
	if len(all) != 1 {
		return false
	}
	cluster.SaysToo(&a.Verdicts[i], all[0].pod, all[0].by.named, all[0].complaint)
	return true
}

// saysMeanwhile tells what the one pod that looks well, of those that a pod asks by its connections or its
// configuration, says in its log of errors or warnings, where the pod was answered with a failure: nothing
// but the time shows that they belong together, so it is told and not blamed.
func (f *follower) saysMeanwhile(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int) bool {
	if !cluster.WasAnswered(a, a.Verdicts[i]) {
		return false
	}
	var who *v1.Pod
	var says answer.Complaint
	looked, pods := 0, readable[v1.Pod](ctx, f.question, pod.Namespace)
	for _, service := range f.asked(ctx, pod, a) {
		behind := cluster.Selected(service, pods)
		for other := range pointers(behind) {
			if looked == mostEchoes || other.UID == pod.UID || !cluster.LooksWell(other) {
				continue
			}
			looked++
			told, err := f.about(ctx, other)
			c, ok := cluster.Meanwhile(&told)
			if err != nil || !ok {
				continue
			}
			if who != nil && cluster.CalledLike(who) != cluster.CalledLike(other) {
				return false // nobody knows which of them it is
			}
			who, says = other, c
		}
	}
	if who == nil {
		return false
	}
	cluster.SaysMeanwhile(&a.Verdicts[i], who, says)
	return true
}

// asked are the Services that a pod asks: those to which it has or had connections, and those that its
// configuration names.
func (f *follower) asked(ctx context.Context, pod *v1.Pod, a *answer.Answer) (all []*v1.Service) {
	add := func(s *v1.Service) {
		if s != nil && !f.foreign(s, nil) && !cluster.Leads(s, pod) && !slices.ContainsFunc(all, func(other *v1.Service) bool { return other.UID == s.UID }) {
			all = append(all, s)
		}
	}
	for _, r := range a.Reaches {
		host, _ := split(r.Place)
		service, _ := f.resolve(ctx, pod.Namespace, host)
		add(service)
	}
	for _, p := range f.configured(ctx, pod) {
		add(p.service)
	}
	return all
}

// fellows goes to the workload that asks what a pod asks, a queue mostly, and says of its work with the same
// thing that the pod's error names what went wrong there, or is configured for a queue that the error names
// and is not well, where one alone does.
func (n *visit) fellows(ctx context.Context) {
	said := cluster.Quoted(n.a, n.v)
	if !n.first() || len(said) == 0 {
		return
	}
	found, k := map[string]bool{}, n.asker
	k.told, k.failing, k.answered = true, false, false
	for _, h := range n.askTheSame(ctx, n.pod) {
		text, because, ok := sharesWork(h, said, k.well, cluster.Since(n.a, n.v))
		if !ok || found[cluster.CalledLike(h.pod)] {
			continue
		}
		w := n.pointed(ctx, h.pod, text, fmt.Sprintf("pod %s: %s", cluster.Key(h.pod), because), k)
		w.guess = fmt.Sprintf("%s, and both ask %s", because, cluster.Key(h.service))
		found[cluster.CalledLike(h.pod)] = w.cause != ""
		n.leads(w, graph.FailedBy, graph.Possible)
	}
}

// sharesWork says whether a pod that asks what another asks has to do with its error, which began at a
// time, and why; text is of its own error, where that is about the same.
func sharesWork(h heard, said []string, well, since time.Time) (text, because string, ok bool) {
	if thing, text := cluster.WorksAt(h.told, cluster.Things(said), said); thing != "" {
		return prose.Brief(text, 100), fmt.Sprintf("both its error and that of the other are about %s", thing), true
	}
	if cluster.Root(h.told) < 0 {
		return "", "", false
	}
	if thing := cluster.ConfiguredFor(h.pod, cluster.ThingsCalled(said)); thing != "" {
		return "", fmt.Sprintf("it is configured for %s, of which the error speaks", thing), true
	}
	return "", "it went right before that", cluster.WentBefore(h.told, well, since)
}

// askTheSame are the pods whose configuration names a Service that a pod's names, too.
func (f *follower) askTheSame(ctx context.Context, pod *v1.Pod) []heard {
	pods, asked := readable[v1.Pod](ctx, f.question, pod.Namespace), f.configured(ctx, pod)
	var all []heard
	for p := range pointers(pods) {
		if len(all) == mostEchoes || p.UID == pod.UID || cluster.CalledLike(p) == cluster.CalledLike(pod) {
			continue
		}
		settings := f.settings(ctx, p)
		n := slices.IndexFunc(asked, func(s place) bool {
			_, _, named := cluster.Named(settings, s.service)
			return named && !cluster.Leads(s.service, p)
		})
		if n < 0 {
			continue
		}
		if told, err := f.about(ctx, p); err == nil {
			all = append(all, heard{pod: p, told: &told, service: asked[n].service})
		}
	}
	return all
}
