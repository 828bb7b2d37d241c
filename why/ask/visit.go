package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/graph"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/words"
)

// to looks at one place that a pod asks, unless it was looked at before.
func (n *visit) to(ctx context.Context, p place) way {
	service, target := (*v1.Service)(nil), p.pod
	if target == nil {
		service, target = n.resolve(ctx, n.pod.Namespace, p.host)
	}
	if n.foreign(service, target) {
		return way{}
	}
	p.service = service
	key := p.key()
	if n.asked[key] {
		return way{}
	}
	n.asked[key] = true
	if p.called = p.calls[key]; p.called {
		p.failing = false
	}
	if service != nil && cluster.Leads(service, n.pod) {
		return way{} // its own
	}
	if p.mayBeDropped() {
		if w := n.mayBlock(ctx, n.pod, p, service, target); w.blocked {
			return w
		}
	}
	var w way
	switch {
	case service != nil:
		if w = n.absent(ctx, p, service); w.cause != "" {
			return w
		}
		w = n.behind(ctx, p, service)
	case target != nil:
		w = n.at(ctx, p, nil, target)
	}
	if w.cause == "" && p.How == answer.ReachSaid && p.Said == "" && !p.mayBeDropped() {
		if blocked := n.mayBlock(ctx, n.pod, p, service, target); blocked.blocked {
			blocked.guess = "nothing else is known to keep the connection away"
			return blocked
		}
	}
	return w
}

// end is a way that ends at a hop, if there is one.
func (f *follower) end(h *answer.Hop, moot bool) way {
	if h == nil {
		return way{}
	}
	id := graph.Of("policy", "", h.Policy)
	if h.Policy == "" {
		kind, space, name := h.Place()
		id = graph.Of(kind, space, name)
	}
	f.graph.Find(graph.Finding{At: id, Cause: string(h.Cause)})
	return way{to: id, through: *h, root: *h, cause: h.Cause, moot: moot}
}

// absent is the way to a pod that a place calls by the name which a headless Service gives it,
// and that is gone; none where there is such a pod, or nobody remembers one.
func (n *visit) absent(ctx context.Context, p place, service *v1.Service) way {
	name, domain, _ := strings.Cut(p.host, ".")
	if first, _, _ := strings.Cut(domain, "."); service.Spec.ClusterIP != v1.ClusterIPNone || first != service.Name {
		return way{}
	}
	pod, err := oneOf[v1.Pod](ctx, n.question, service.Namespace, name)
	if err == nil && cluster.NoSuchHost(p.Said) {
		return n.end(cluster.NoNameBelow(pod, service, byPlace(p, cluster.Key(service))), p.failing)
	}
	if !apierrors.IsNotFound(err) {
		return way{}
	}
	inside := n.in(service.Namespace)
	inside.look = false
	all, _ := inside.departed(ctx, name)
	if len(all) == 0 {
		return way{}
	}
	where := service.Namespace + "/" + name
	return n.end(cluster.HopOf(answer.Hop{Pod: where, By: byPlace(p, where)}, &all[0]), p.failing)
}

// behind looks at a Service and the pods behind it.
func (n *visit) behind(ctx context.Context, p place, service *v1.Service) way {
	by := byPlace(p, cluster.Key(service))
	pods, err := allOf[v1.Pod](ctx, n.question, service.Namespace)
	if err != nil {
		return way{}
	}
	selected := cluster.Selected(service, pods)
	if len(selected) == 0 {
		all, err := n.in(service.Namespace).service(ctx, service.Name)
		if err != nil || len(all) == 0 {
			return way{}
		}
		w := n.end(cluster.HopOf(answer.Hop{Service: cluster.Key(service), By: by}, &all[0]), p.failing)
		w.closed = true
		return w
	}
	b := cluster.Behind{Service: service, Pods: selected, All: pods}
	end := func(hop *answer.Hop) way {
		hop.By = by
		return n.end(hop, p.failing)
	}
	if hop := b.Mismatch(p.port); hop != nil {
		return end(hop)
	}
	p.closed = cluster.Closed(service, selected)
	var back way
	for i := range selected {
		w := n.at(ctx, p, service, &selected[i])
		if w.cause != "" {
			w.closed = p.closed
			return w
		}
		if w.back && len(selected) == 1 { // of several another may answer
			back = w
		}
	}
	b.Answers, _ = n.pods(ctx, selected)
	if b.Unreached = p.unreached(); b.Unreached {
		b.Told = n.toldOf(ctx, selected, b.Answers)
	}
	hop := b.Deaf(p.port)
	if hop == nil && p.unanswered {
		hop = b.Dropped(p.dialing, n.suspects.cleared())
	}
	if hop == nil {
		return back
	}
	return end(hop)
}

// toldOf returns the settings and log lines of pods whose sockets were not inspected.
func (n *visit) toldOf(ctx context.Context, pods []v1.Pod, answers []answer.Answer) map[types.UID][]cluster.Setting {
	told := map[types.UID][]cluster.Setting{}
	for i := range pods[:min(len(pods), mostPeers)] {
		pod := &pods[i]
		if n.options.AtDoor || slices.ContainsFunc(answers, func(a answer.Answer) bool { return a.Subject.UID == pod.UID && a.Listening != nil }) {
			continue
		}
		for _, c := range pod.Spec.Containers {
			if log, ok := n.lines(ctx, pod, c.Name, false, fewHeard, mostHeardBytes); ok {
				told[pod.UID] = append(told[pod.UID], cluster.Logged(log.Lines)...)
			}
		}
		told[pod.UID] = append(told[pod.UID], n.settings(ctx, pod)...)
	}
	return told
}

// byPlace words what led to a Service or pod.
func byPlace(p place, where string) string {
	who := cluster.Who(p.Container)
	asks := prose.Whether(p.answer, "the answer of "+who+" names", who+" asks")
	return fmt.Sprintf("%s %s (%s)", asks, where, strings.TrimSuffix(p.Text, "."))
}

// at looks at a pod that is asked: at its own trouble, and that of whom it asks.
func (n *visit) at(ctx context.Context, p place, service *v1.Service, pod *v1.Pod) way {
	w := way{to: podID(pod)}
	if n.seen[pod.UID] {
		if w.back = slices.Contains(n.path, w.to); w.back && n.callsBack[n.id] == "" {
			n.callsBack[n.id] = p.host
		}
		return w
	}
	n.seen[pod.UID] = true
	a, err := n.follower.about(ctx, pod)
	if err != nil {
		return way{}
	}
	met := p.met(service, pod, &a)
	if p.How == "" && met {
		p.Text += ", and there are connections between them"
	}
	i := cluster.Root(&a)
	if cluster.OverSince(pod, &a, i, p.Said) {
		i = -1
	}
	if service != nil && i < 0 {
		i = cluster.Done(&a) // who is asked is not to be done
	}
	own := hopTo(p, service, pod, &a, i)
	w.through, w.seen, w.first = own, p.How != "" || met, cluster.First(&a, i)
	echoes := i < 0 && cluster.Echoes(p.said, &a)
	if p.echo && !echoes && !(p.slow && cluster.Throttled(&a)) {
		delete(n.seen, pod.UID)
		return way{}
	}
	fails := i >= 0 || cluster.SaysAnothers(&a)
	if i < 0 || cluster.MayLead(a.Verdicts[i]) {
		n.explore(ctx, pod, &a, waiting(p, &a, i), n.left-1)
	}
	d := n.rootFrom(w.to)
	if !d.Leads() && i < 0 {
		n.looksWell(ctx, p, service, pod, &a, &own, met)
		if d = n.rootFrom(w.to); d.Leads() {
			w.cause = answer.Cause(d.Root.Cause)
			return w
		}
	}
	if !d.Leads() {
		if !n.blames(ctx, p, pod, &a, &own, met, i < 0, len(d.Beside) > 0) {
			w.back = len(d.Cycle) > 0
			return w
		}
		w.root, w.well, fails = own, i < 0, i < 0 || own.Cause == answer.AppUnhealthy
		n.graph.Find(graph.Finding{At: w.to, Cause: string(own.Cause), Effect: i < 0 || cluster.MayLead(a.Verdicts[i]), Waits: n.waits && own.Cause == answer.DependencyDown, Since: w.first})
		d = n.rootFrom(w.to)
	}
	if d.Root == nil { // it waits for one that waits for it: neither is the reason of the other
		w.back = true
		return w
	}
	w.cause = answer.Cause(d.Root.Cause)
	if !echoes {
		w.only, w.moot = p.explainedBy(service, w.seen, fails)
	}
	return w
}

// pointed is the way to a pod that something else than a connection leads to, as by says: words of the log, where they are it.
func (n *visit) pointed(ctx context.Context, pod *v1.Pod, said, by string, k asker) way {
	w := n.at(ctx, place{Reach: answer.Reach{How: answer.ReachSaid, Text: said, Said: said}, asker: k}, nil, pod)
	w.ledBy(by)
	return w
}

// looksWell finds what is wrong with a pod that looks well, for the hop to it, and where that leads on: to those that are to
// have a copy of what it has, and to a Job that left something undone there.
func (n *visit) looksWell(ctx context.Context, p place, service *v1.Service, pod *v1.Pod, a *answer.Answer, own *answer.Hop, met bool) {
	if text, fixes, stuck := cluster.Stuck(pod, a, p.top); stuck && met && p.withheld(a) {
		own.Cause, own.Fixes = answer.DiskFull, fixes
		own.Say(text)
		return
	}
	there := &visit{follower: n.follower, id: podID(pod), pod: pod, a: a, left: n.left - 1}
	if there.left > 0 && service != nil && met && there.copies(ctx, p, service) {
		return
	}
	if !n.goesOn(ctx, pod, a, own) {
		cause, text := unseen(p, met, a)
		own.Cause = cause
		own.Say(text)
	}
	if (own.Cause == "" || own.Cause == answer.AppHang) && there.left > 0 && service != nil {
		there.undone(ctx, p, service)
	}
}

// blames completes the hop to a pod where the way ends, with what to do where it looks well, and says
// whether anything shows that it is to blame. unwell is set where something that it may ask is not well either.
func (n *visit) blames(ctx context.Context, p place, pod *v1.Pod, a *answer.Answer, own *answer.Hop, met, well, unwell bool) bool {
	if well && cluster.Echoes(p.said, a) {
		cause, text, _ := cluster.Fails(a, p.since)
		own.Cause = cause
		own.Say(text)
	}
	if well && len(own.Fixes) == 0 {
		own.Fixes = cluster.Steps(pod, a, *own, p.since)
	}
	if own.Cause == "" && !n.first() && met && p.withheld(a) {
		own.Cause, own.Fixes = answer.DependencyDown, cluster.Asks(pod, a)
		own.Say(cluster.Withholds(n.clients(ctx, p, a)))
	}
	switch {
	case own.Cause == "", own.Cause == answer.CauseUnknown:
		return false
	case well && own.Cause == answer.AppHang && unwell:
		return false // it may wait for what is not well either
	case own.Cause == answer.ProbeTimeoutTooShort && !p.late && !(p.closed && (knowledge.ConnectionRefused.In(p.Said) || slices.ContainsFunc(p.said, cluster.ReachesNobody))):
		return false // it answers, and no probe of its own keeps who asks it waiting, or takes it out of its Service
	}
	if well {
		cluster.Leaves(own, a)
	}
	return true
}

// hopTo is the hop to a pod that is asked, by a verdict of its own answer; i < 0: it looks well.
func hopTo(p place, service *v1.Service, pod *v1.Pod, a *answer.Answer, i int) answer.Hop {
	hop := answer.Hop{Pod: cluster.Key(pod), By: byPlace(p, cluster.Key(pod))}
	if service != nil {
		hop.Service = cluster.Key(service)
		hop.By = byPlace(p, "Service "+hop.Service+", which leads to "+hop.Pod)
	}
	if i >= 0 {
		return hop.As(a.Verdicts[i])
	}
	hop.Say(cluster.LooksWellBut(a))
	return hop
}

// about asks about a pod, once.
func (f *follower) about(ctx context.Context, pod *v1.Pod) (answer.Answer, error) {
	if a, ok := f.told[pod.UID]; ok {
		return a, nil
	}
	q := *f.question
	q.peer = true
	a, err := q.pod(ctx, pod)
	if err == nil {
		if f.heardPeers < mostPeers && len(a.Complaints) == 0 && cluster.LooksWell(pod) {
			f.heardPeers++
			f.hear(ctx, pod, &a, fewHeard)
		}
		for i := range a.Verdicts {
			f.ownService(ctx, pod, &a, i)
		}
		f.told[pod.UID] = a
	}
	return a, err
}

// waiting is what a pod on the way suffers from: its own verdict, or, where it looks well,
// that it was given a failure, or hands one on of which it says nothing, or as far as anyone
// knows waits for an answer.
func waiting(p place, a *answer.Answer, i int) answer.Verdict {
	switch {
	case i >= 0:
		return a.Verdicts[i]
	case cluster.SaysAnothers(a) && !cluster.SaysOwn(a), len(a.Complaints) == 0 && cluster.GatewayFailed(p.Said), slices.ContainsFunc(p.said, knowledge.DatabaseAway.In):
		return answer.Verdict{Cause: answer.DependencyDown}
	}
	return answer.Verdict{Cause: answer.AppHang}
}

// unseen is what is wrong with a pod that looks well, by what who asks it gets; nothing where
// that does not tell.
func unseen(p place, met bool, a *answer.Answer) (answer.Cause, string) {
	hands := p.failing || p.called || p.handsOn && (met || p.How == "") || cluster.AnsweredFailure(p.Said) || words.BreaksOff(p.Said) || p.How == answer.ReachSaid && p.told
	cause, failed, fails := cluster.Fails(a, p.since)
	fails = fails && !cluster.TurnedAway(p.said, answer.Unmarked(failed))
	if hands && fails && p.answered {
		return cause, failed
	}
	if p.slow && met && cluster.Throttled(a) {
		mute, how, _ := cluster.Mute(a)
		return mute, how
	}
	text, waits := cluster.Waits(a, p.top)
	if p.late && met && fails && cluster.Idle(a) {
		return cause, failed // it is no hang that says what is wrong
	}
	if p.late && met {
		mute, how, ok := cluster.Mute(a)
		switch idle := mute == answer.AppHang; {
		case ok && idle && waits:
			return answer.DependencyDown, text
		case ok && (!idle || !p.Heard && !cluster.TimedOutWorker(a)):
			return mute, how
		}
	}
	switch {
	case hands && fails:
		return cause, failed
	case hands && (waits || met) && cluster.ChecksWrongly(a):
		return cluster.GivesUp(a)
	case hands && waits && cluster.SaysAnothers(a):
		return answer.DependencyDown, text
	case hands && met && cluster.SaysAnothers(a):
		return cluster.GivesUp(a)
	}
	return "", ""
}
