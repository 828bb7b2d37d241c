package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

// mostHops is how many pods after one another are asked what they wait for, mostPlaces
// how many places of one pod are looked at.
const mostHops, mostPlaces = 5, 12

// mostPeers bounds of how many pods that look well, on the ways of one answer, the logs are read.
const mostPeers = 8

// follower follows the waiting of one pod to whoever is waited for. It asks only about
// pods of the cluster, each once.
type follower struct {
	*question
	// seen are the pods on the ways of one verdict, told what was answered about any.
	seen map[types.UID]bool
	told map[types.UID]answer.Answer
	// heardPeers counts those that look well whose logs were read.
	heardPeers int
	// beside are the ways to what is not well either and may have nothing to do with it.
	beside [][]answer.Hop
	// path are the pods on the way to where it looks now, circles those found there that wait for
	// one of them, with the name that they have for it; mutual is the one of these that the first
	// pod asks, which waits itself (waits).
	path    map[types.UID]bool
	circles map[types.UID]string
	waits   bool
	mutual  *v1.Pod
	// unwell are the pods of which something that their configuration names is not well, and nothing
	// shows that they ask there.
	unwell map[types.UID]bool
	// likely is why it leads there, where nothing but a name shows that it does.
	likely string
	// lastWell is when the first pod was well last, since when it began to fail; zero where nobody
	// knows.
	lastWell, since time.Time
	// suspects is what NetworkPolicies were asked about the places of one verdict.
	suspects suspicion
}

// follow goes on where a pod's answer ends at another's door: a verdict of a failure that
// may be somebody else's gets the cause of the last that is waited for. What cannot be
// read leaves the answer as it is.
func (q *question) follow(ctx context.Context, pod *v1.Pod, a *answer.Answer) {
	if q.options.Container != "" || !slices.ContainsFunc(a.Verdicts, cluster.MayLead) {
		return
	}
	looking := *q
	looking.look, looking.top = true, false
	f := &follower{question: &looking, told: map[types.UID]answer.Answer{}}
	// What its processes say and wait for now, and those of its other containers.
	if again, err := f.pod(ctx, pod); err == nil && len(again.Verdicts) > 0 {
		*a = again
		q.hear(ctx, pod, a, mostHeard)
	}
	for i, v := range a.Verdicts {
		if !cluster.MayLead(v) || f.ownService(ctx, pod, a, i) {
			continue
		}
		f.begin(pod.UID, v.Cause == answer.DependencyDown)
		f.lastWell, f.since = cluster.LastWell(v), cluster.Since(a, v)
		if f.noDNS(ctx, pod, a, i) {
			continue
		}
		if hops := f.from(ctx, pod, a, cluster.AsAnswer(v), mostHops); len(hops) > 0 && cluster.Explains(v, hops) {
			cluster.Lead(a, i, hops, f.likely)
			f.call(ctx, pod, a, i)
			f.ordinal(ctx, &a.Verdicts[i])
			f.unsure(ctx, &a.Verdicts[i])
			cluster.Share(a, i, hops, f.likely)
			continue
		}
		for _, hops := range f.beside {
			cluster.Mention(&a.Verdicts[i], hops)
		}
		switch {
		case f.elsewhere(ctx, pod, a, i):
		case f.mutual != nil:
			cluster.Mutual(&a.Verdicts[i], pod, f.mutual, f.circles[f.mutual.UID], f.domain(ctx, f.mutual))
		case f.nameless(ctx, pod, a, i):
		case v.Cause != answer.DependencyDown && f.saysToo(ctx, pod, a, i):
		case len(f.beside) > 0:
		case v.Cause == answer.DependencyDown:
			if !f.otherDomain(ctx, pod, &a.Verdicts[i], a) && !f.oldAddress(ctx, pod, a, i) {
				f.name(ctx, pod, a, i)
			}
		case cluster.Relays(v), cluster.HandsOn(v):
			if named := f.configured(ctx, pod); len(named) == 1 {
				cluster.Behind(&a.Verdicts[i], named[0].named, pod.Namespace, named[0].host, f.well(ctx, pod.Namespace, named[0].host))
			}
		case f.saysMeanwhile(ctx, pod, a, i):
		case cluster.Plain(v):
			f.asks(ctx, pod, a, i)
		}
		f.unsure(ctx, &a.Verdicts[i])
	}
}

// begin begins with a verdict of a pod, which waits for another or does not.
func (f *follower) begin(pod types.UID, waits bool) {
	f.beside, f.likely, f.mutual, f.waits, f.suspects = nil, "", nil, waits, suspicion{}
	f.seen, f.path, f.circles, f.unwell = map[types.UID]bool{pod: true}, map[types.UID]bool{}, map[types.UID]string{}, map[types.UID]bool{}
}

// way is what there is at a place: the hops that lead to the trouble, none where there is
// none; whether anything but a configuration shows that it was asked there, and whether the
// trouble explains nothing, or may not.
type way struct {
	hops       []answer.Hop
	well       bool // the pod looks well, and it is its log that says what is wrong
	seen, moot bool
	closed     bool // no pod behind the Service takes requests
	blocked    bool // a NetworkPolicy does not admit the connection
	back       bool // it is on the way already
	mutual     *v1.Pod
	first      time.Time
}

// from finds the first place that a pod asks whose trouble explains the pod's: the hops
// that lead to it, none where no place does.
func (f *follower) from(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict, left int) []answer.Hop {
	if left == 0 {
		return nil
	}
	f.path[pod.UID] = true
	defer delete(f.path, pod.UID)
	asked := map[string]bool{}
	k := newAsker(pod, a, v)
	k.top = f.lastWell
	called := f.called(ctx, pod, a, v)
	k.letDown(a, v, called)
	if v.Cause == answer.InitWaiting { // what it says that it waits for goes before whom it asks for that
		if hops := f.jobs(ctx, pod, a, v, k, left); len(hops) > 0 {
			return hops
		}
	}
	if hops := f.unmigrated(ctx, pod, a, v, left); len(hops) > 0 {
		return hops
	}
	if hops := f.unmade(ctx, pod, a, v, left); len(hops) > 0 {
		return hops
	}
	var guessed []way
	for _, p := range places(k, a, v, called) {
		w := f.to(ctx, pod, p, asked, left)
		if w.back && f.circles[pod.UID] == "" {
			f.circles[pod.UID] = p.host
		}
		if left == mostHops && f.mutual == nil {
			f.mutual = w.mutual
		}
		switch {
		case w.blocked:
			return w.hops
		case len(w.hops) > 0 && !w.moot && k.nameless && p.passed():
			guessed = append(guessed, w)
		case len(w.hops) > 0 && !w.moot:
			if hops := f.madeBy(ctx, pod, a, v, k, w, left); len(hops) > 0 {
				return hops
			}
			return w.hops
		default:
			f.likely = ""
			f.mention(w, left)
		}
	}
	if len(guessed) == 1 {
		return guessed[0].hops
	}
	for _, w := range guessed {
		f.mention(w, left)
	}
	if hops := f.jobs(ctx, pod, a, v, k, left); len(hops) > 0 {
		return hops
	}
	if hops := f.forgot(ctx, pod, a, v, k, left); len(hops) > 0 {
		return hops
	}
	if hops := f.mentioned(ctx, pod, a, v, k, left); len(hops) > 0 {
		return hops
	}
	if hops := f.echoed(ctx, pod, k, left); len(hops) > 0 {
		return hops
	}
	if hops := f.fellows(ctx, pod, a, v, k, left); len(hops) > 0 {
		return hops
	}
	if !cluster.MayBeConfigured(v) && !k.handsOn {
		return f.undoneFor(ctx, pod, k, v, left)
	}
	return f.named(ctx, pod, v, k, asked, left)
}

// mention keeps what is not well either, of those that the pod asks itself.
func (f *follower) mention(w way, left int) {
	if len(w.hops) > 0 && left == mostHops {
		f.beside = append(f.beside, w.hops)
	}
}

// named goes to the Services that only the pod's configuration names. That one of them is
// not well explains the answer of a gateway, or of one whose words say that another failed
// it, if its answer calls it by its name, or if it is the only one, or the only one that the pod was seen to ask; that of one which
// gives another server's answer, if no other is named; and that of one
// that says nothing itself, if it was seen to ask it. Likely it does where one that says no
// reason answers that it is not available, or waits, and nothing was well since. Else it is
// worth a word, as it is where the words name another place.
func (f *follower) named(ctx context.Context, pod *v1.Pod, v answer.Verdict, k asker, asked map[string]bool, left int) []answer.Hop {
	var all, seen []way
	places := f.configured(ctx, pod)
	for _, p := range places[:min(len(places), mostPlaces)] {
		p.asker = k
		w := f.to(ctx, pod, p, asked, left)
		if len(w.hops) == 0 {
			continue
		}
		if member := cluster.Blames(v, p.host); member != "" {
			w.hops[0].By += fmt.Sprintf(", and its answer says that %s fails", member)
			return w.hops
		}
		all = append(all, w)
		if w.blocked {
			f.likely = "the pod is configured for Service " + w.hops[0].Service + " and its connections may have timed out"
			return w.hops
		}
		if w.seen && !w.moot {
			seen = append(seen, w)
		}
	}
	switch {
	case k.names:
	case len(seen) == 1 && (k.handsOn || k.failing):
		return seen[0].hops
	case k.handsOn && len(all) == 1, k.relays && len(places) == 1 && len(all) == 1:
		return all[0].hops
	case len(all) == 1 && all[0].closed && !k.own && cluster.Lacks(v) && k.enduredFor(all[0].first) < mayLast:
		f.likely = "all else that its configuration names is well and it says no reason of its own"
		return all[0].hops
	}
	for _, w := range all {
		f.unwell[pod.UID] = true
		f.mention(w, left)
	}
	return nil
}

// mayLast is how long one may still look well that has lost what it needs.
const mayLast = 30 * time.Second

// to looks at one place that a pod asks, unless it was looked at before.
func (f *follower) to(ctx context.Context, pod *v1.Pod, p place, asked map[string]bool, left int) way {
	service, target := f.resolve(ctx, pod.Namespace, p.host)
	if f.foreign(service, target) {
		return way{}
	}
	p.service = service
	key := p.key()
	if asked[key] {
		return way{}
	}
	asked[key] = true
	if p.called = p.calls[key]; p.called {
		p.failing = false
	}
	if service != nil && cluster.Leads(service, pod) {
		return way{} // its own
	}
	if p.mayBeDropped() {
		if hops := f.mayBlock(ctx, pod, p, service, target); len(hops) > 0 {
			return way{hops: hops, blocked: true}
		}
	}
	var w way
	switch {
	case service != nil:
		if hops := f.absent(ctx, p, service); len(hops) > 0 {
			return way{hops: hops, moot: p.failing}
		}
		w = f.behind(ctx, p, service, left)
	case target != nil:
		w = f.at(ctx, p, nil, target, left)
	}
	if len(w.hops) == 0 && p.How == answer.ReachSaid && p.Said == "" && !p.mayBeDropped() {
		if hops := f.mayBlock(ctx, pod, p, service, target); len(hops) > 0 {
			f.likely = "nothing else is known to keep the connection away"
			return way{hops: hops, blocked: true}
		}
	}
	return w
}

// absent is the hop to a pod that a place calls by the name which a headless Service gives it,
// and that is gone; none where there is such a pod, or nobody remembers one.
func (f *follower) absent(ctx context.Context, p place, service *v1.Service) []answer.Hop {
	name, domain, _ := strings.Cut(p.host, ".")
	if first, _, _ := strings.Cut(domain, "."); service.Spec.ClusterIP != v1.ClusterIPNone || first != service.Name {
		return nil
	}
	pod, err := oneOf[v1.Pod](ctx, f.question, service.Namespace, name)
	if err == nil && cluster.NoSuchHost(p.Said) {
		return cluster.NoNameBelow(pod, service, byPlace(p, service.Namespace+"/"+service.Name))
	}
	if !apierrors.IsNotFound(err) {
		return nil
	}
	inside := *f.question
	inside.space, inside.look = service.Namespace, false
	all, _ := inside.departed(ctx, name)
	if len(all) == 0 {
		return nil
	}
	where := service.Namespace + "/" + name
	return cluster.HopOf("", where, byPlace(p, where), &all[0])
}

// behind looks at a Service and the pods behind it.
func (f *follower) behind(ctx context.Context, p place, service *v1.Service, left int) way {
	name := service.Namespace + "/" + service.Name
	pods, err := allOf[v1.Pod](ctx, f.question, service.Namespace)
	if err != nil {
		return way{}
	}
	selected := cluster.Selected(service, pods)
	if len(selected) == 0 {
		inside := *f.question
		inside.space = service.Namespace
		all, err := inside.service(ctx, service.Name)
		if err != nil || len(all) == 0 {
			return way{}
		}
		return way{hops: cluster.HopOf(name, "", byPlace(p, name), &all[0]), moot: p.failing, closed: true}
	}
	if hop, ok := cluster.NoSuchPort(service, p.port, byPlace(p, name)); ok {
		return way{hops: []answer.Hop{hop}, moot: p.failing}
	}
	if hop, ok := cluster.NoSuchName(service, p.port, selected, byPlace(p, name)); ok {
		return way{hops: []answer.Hop{hop}, moot: p.failing}
	}
	p.closed = cluster.Closed(service, selected)
	none := way{moot: p.failing}
	for i := range selected {
		w := f.at(ctx, p, service, &selected[i], left)
		if len(w.hops) > 0 {
			w.closed = p.closed
			return w
		}
		if len(selected) == 1 { // of several another may answer
			none.back, none.mutual = w.back, w.mutual
		}
	}
	answers, _ := f.pods(ctx, selected)
	none.hops = cluster.Deaf(service, p.port, selected, pods, answers, byPlace(p, name))
	if len(none.hops) == 0 && p.unanswered {
		none.hops = cluster.Dropped(service, p.dialing, selected, answers, byPlace(p, name), f.suspects.cleared())
	}
	return none
}

// byPlace words what led to a Service or pod.
func byPlace(p place, where string) string {
	who := "container " + p.Container
	if p.Container == "" {
		who = "the pod"
	}
	if p.answer {
		return fmt.Sprintf("the answer of %s names %s (%s)", who, where, strings.TrimSuffix(p.Text, "."))
	}
	return fmt.Sprintf("%s asks %s (%s)", who, where, strings.TrimSuffix(p.Text, "."))
}

// at looks at a pod that is asked: at its own trouble, or that of whom it asks.
func (f *follower) at(ctx context.Context, p place, service *v1.Service, pod *v1.Pod, left int) way {
	if f.seen[pod.UID] {
		return way{back: f.path[pod.UID]}
	}
	f.seen[pod.UID] = true
	a, err := f.about(ctx, pod)
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
	w := way{seen: p.How != "" || met, first: cluster.First(&a, i)}
	echoes := i < 0 && cluster.Echoes(p.said, &a)
	if p.echo && !echoes && !(p.slow && cluster.Throttled(&a)) {
		delete(f.seen, pod.UID)
		return way{}
	}
	if i < 0 || cluster.MayLead(a.Verdicts[i]) {
		suffers := waiting(p, &a, i)
		if more := f.from(ctx, pod, &a, cluster.AsAnswer(suffers), left-1); len(more) > 0 && cluster.Explains(suffers, more) {
			w.hops = through(own, more)
			w.moot = !echoes && p.moot(service, w.seen, w.hops[0].Cause, i >= 0 || cluster.SaysAnothers(&a))
			return w
		}
	}
	if f.waits && f.circles[pod.UID] != "" && own.Cause == answer.DependencyDown {
		return way{mutual: pod} // neither is the reason of the other
	}
	if text, fixes, stuck := cluster.Stuck(pod, &a, p.top); stuck && i < 0 && met && p.withheld(&a) {
		own.Cause, own.Fixes = answer.DiskFull, fixes
		own.Say(text)
	} else if i < 0 {
		if more := f.copies(ctx, p, service, pod, &a, met, left-1); len(more) > 0 {
			w.hops = through(own, more)
			return w
		}
		if !f.goesOn(ctx, pod, &a, &own) {
			cause, text := unseen(p, met, &a)
			own.Cause = cause
			own.Say(text)
		}
		if own.Cause == "" || own.Cause == answer.AppHang {
			if more := f.undone(ctx, p, service, left-1); len(more) > 0 {
				own.Say(cluster.LooksWellBut(&a))
				w.hops = through(own, more)
				return w
			}
		}
	}
	if !f.blames(ctx, p, pod, &a, &own, met, i < 0, left) {
		return way{}
	}
	w.hops, w.well = []answer.Hop{own}, i < 0
	w.moot = !echoes && p.moot(service, w.seen, own.Cause, i < 0 || own.Cause == answer.AppUnhealthy)
	return w
}

// blames completes the hop to a pod where the way ends, with what to do where it looks well, and says
// whether anything shows that it is to blame.
func (f *follower) blames(ctx context.Context, p place, pod *v1.Pod, a *answer.Answer, own *answer.Hop, met, well bool, left int) bool {
	if well && cluster.Echoes(p.said, a) {
		cause, text, _ := cluster.Fails(a, p.since)
		own.Cause = cause
		own.Say(text)
	}
	if well && len(own.Fixes) == 0 {
		own.Fixes = cluster.Steps(pod, a, *own, p.since)
	}
	if own.Cause == "" && left < mostHops && met && p.withheld(a) {
		own.Cause, own.Fixes = answer.DependencyDown, cluster.Asks(pod, a)
		own.Say(cluster.Withholds(f.clients(ctx, p, a)))
	}
	switch {
	case own.Cause == "", own.Cause == answer.CauseUnknown:
		return false
	case well && own.Cause == answer.AppHang && f.unwell[pod.UID]:
		return false // it may wait for what is not well either
	case own.Cause == answer.ProbeTimeoutTooShort && !p.late && !(p.closed && (cluster.Refused(p.Said) || slices.ContainsFunc(p.said, cluster.ReachesNobody))):
		return false // it answers, and no probe of its own keeps who asks it waiting, or takes it out of its Service
	}
	if well {
		cluster.Leaves(own, a)
	}
	return true
}

// hopTo is the hop to a pod that is asked, by a verdict of its own answer; i < 0: it looks well.
func hopTo(p place, service *v1.Service, pod *v1.Pod, a *answer.Answer, i int) answer.Hop {
	name := pod.Namespace + "/" + pod.Name
	hop := answer.Hop{Pod: name, By: byPlace(p, name)}
	hop.Say(cluster.LooksWellBut(a))
	if service != nil {
		hop.Service = service.Namespace + "/" + service.Name
		hop.By = byPlace(p, "Service "+hop.Service+", which leads to "+name)
	}
	if i >= 0 {
		v := a.Verdicts[i]
		hop.Cause, hop.Text, hop.Told, hop.Chain, hop.Fixes = v.Cause, v.Text, v.Told, v.Chain, v.Fixes
	}
	return hop
}

// through is the way on through a pod: where it ends is the reason of the pod's trouble, too.
func through(own answer.Hop, more []answer.Hop) []answer.Hop {
	own.Cause = more[len(more)-1].Cause
	return append([]answer.Hop{own}, more...)
}

// about asks about a pod, once.
func (f *follower) about(ctx context.Context, pod *v1.Pod) (answer.Answer, error) {
	if a, ok := f.told[pod.UID]; ok {
		return a, nil
	}
	a, err := f.pod(ctx, pod)
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
