package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/diagnose"
	"whylet.dev/whylet/why/graph"
)

// mostHops is how many pods after one another are asked what they wait for, mostPlaces
// how many places of one pod are looked at.
const mostHops, mostPlaces = 5, 12

// mostPeers bounds of how many pods that look well, on the ways of one answer, the logs are read.
const mostPeers = 8

// follower looks for what explains the failures of a pod: at whom it asks, and whom that asks. It asks about each pod once,
// and makes a graph of what explains what.
type follower struct {
	*question
	told map[types.UID]answer.Answer
	// heardPeers counts those that look well whose logs were read.
	heardPeers int
	search
}

// search is the one for the root of one verdict.
type search struct {
	graph graph.Graph
	ways  []way // by the references of the graph's edges
	seen  map[types.UID]bool
	// path are the pods on the way to where it looks now, and callsBack how those of them are called by pods on it that
	// ask one before them.
	path      []graph.ID
	callsBack map[graph.ID]string
	// waits is set where the first pod waits for another itself.
	waits bool
	// lastWell is when the first pod was well last, since when it began to fail; zero where nobody
	// knows.
	lastWell, since time.Time
	// suspects is what NetworkPolicies were asked about the places of one verdict.
	suspects suspicion
}

// visit is a pod of the graph whose trouble may be the effect of another's.
type visit struct {
	*follower
	id  graph.ID
	pod *v1.Pod
	a   *answer.Answer
	v   answer.Verdict
	asker
	// only are the causes by which its trouble is explained; empty: all.
	only  []string
	asked map[string]bool
	left  int
}

// first says whether the pod is the one that was asked about.
func (n *visit) first() bool { return n.left == mostHops }

// way is where a pod asks, and what is told of that: as of one that only leads on, and as of the root.
type way struct {
	to            graph.ID
	through, root answer.Hop
	// cause is that of the root that it leads to; empty where there is no trouble. first is when the trouble there began.
	cause answer.Cause
	first time.Time
	well  bool // the pod looks well, and it is its log that says what is wrong
	// seen is set where anything but a configuration shows that it was asked there, moot where the trouble explains
	// nothing. only are the causes by which it explains anything; empty: all.
	seen, moot bool
	only       []string
	closed     bool // no pod behind the Service takes requests
	blocked    bool // a NetworkPolicy does not admit the connection
	back       bool // it is on the way already, or waits for one that is
	guess      string
}

// ledBy says what led to the hop of a way.
func (w *way) ledBy(by string) { w.through.By, w.root.By = by, by }

// follow goes on where a pod's answer ends at another's door: a verdict of a failure that
// may be somebody else's gets the cause of the root. What cannot be read leaves the answer as it is.
func (q *question) follow(ctx context.Context, pod *v1.Pod, a *answer.Answer) {
	if q.options.Container != "" || !slices.ContainsFunc(a.Verdicts, cluster.MayLead) {
		return
	}
	f := q.follower()
	// What its processes say and wait for now, and those of its other containers.
	if again, err := f.pod(ctx, pod); err == nil && len(again.Verdicts) > 0 {
		*a = again
		q.hear(ctx, pod, a, mostHeard)
	}
	for i, v := range a.Verdicts {
		if !cluster.MayLead(v) || f.ownService(ctx, pod, a, i) {
			continue
		}
		f.begin(v.Cause == answer.DependencyDown, pod.UID)
		f.lastWell, f.since = cluster.LastWell(v), cluster.Since(a, v)
		if hop := f.noDNS(ctx, pod, a, i); hop != nil {
			f.lead(ctx, pod, a, i, []answer.Hop{*hop}, "")
		} else if d := f.rootOf(ctx, pod, a, v); d.Leads() {
			f.lead(ctx, pod, a, i, f.hops(d.Path), d.Guess())
		} else {
			f.leftAlone(ctx, pod, a, i, d)
		}
		f.unsure(ctx, &a.Verdicts[i])
	}
}

func (q *question) follower() *follower {
	looking := *q
	looking.look, looking.top = true, false
	return &follower{question: &looking, told: map[types.UID]answer.Answer{}}
}

// begin begins with a verdict of a pod, which waits for another or does not.
func (f *follower) begin(waits bool, pod types.UID) {
	f.search = search{waits: waits, seen: map[types.UID]bool{pod: true}, callsBack: map[graph.ID]string{}}
}

func (f *follower) rootOf(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict) diagnose.Diagnosis {
	id := podID(pod)
	f.graph.Find(graph.Finding{At: id, Cause: string(v.Cause), Effect: true, Waits: f.waits})
	f.explore(ctx, pod, a, v, mostHops)
	return diagnose.Root(&f.graph, id)
}

func podID(pod *v1.Pod) graph.ID { return graph.Of("pod", pod.Namespace, pod.Name) }

func (f *follower) lead(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int, hops []answer.Hop, guess string) {
	cluster.Lead(a, i, hops, guess)
	f.call(ctx, pod, a, i)
	f.ordinal(ctx, &a.Verdicts[i])
	cluster.Share(a, i, hops, guess)
}

func (f *follower) hops(path []graph.Edge) (hops []answer.Hop) {
	last := f.ways[path[len(path)-1].Ref].root
	for _, e := range path[:len(path)-1] {
		h := f.ways[e.Ref].through
		h.Cause = last.Cause // where it ends is the reason of the trouble here, too
		hops = append(hops, h)
	}
	return append(hops, last)
}

// leftAlone says more of a verdict that nothing explains.
func (f *follower) leftAlone(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int, d diagnose.Diagnosis) {
	v := a.Verdicts[i]
	for _, path := range d.Beside {
		cluster.Mention(&a.Verdicts[i], f.hops(path))
	}
	switch {
	case f.elsewhere(ctx, pod, a, i):
	case f.waits && len(d.Cycle) > 0:
		f.mutual(ctx, pod, &a.Verdicts[i], d.Cycle[1])
	case f.nameless(ctx, pod, a, i):
	case v.Cause != answer.DependencyDown && f.saysToo(ctx, pod, a, i):
	case len(d.Beside) > 0:
	case v.Cause == answer.DependencyDown:
		if !f.otherDomain(ctx, pod, &a.Verdicts[i], a) && !f.oldAddress(ctx, pod, a, i) {
			f.name(ctx, pod, a, i)
			f.readyBehind(ctx, pod, a, i)
		}
	case cluster.Relays(v), cluster.HandsOn(v):
		if named := f.configured(ctx, pod); len(named) == 1 {
			cluster.Asked(&a.Verdicts[i], named[0].named, pod.Namespace, named[0].host, f.well(ctx, pod.Namespace, named[0].host))
		}
	case f.saysMeanwhile(ctx, pod, a, i):
	case cluster.Plain(v):
		f.asks(ctx, pod, a, i)
	}
}

// mutual tells of another pod that waits for the first in turn.
func (f *follower) mutual(ctx context.Context, pod *v1.Pod, v *answer.Verdict, with graph.ID) {
	_, name, _ := strings.Cut(string(with), "/")
	space, name, _ := strings.Cut(name, "/")
	if other, err := oneOf[v1.Pod](ctx, f.question, space, name); err == nil {
		cluster.Mutual(v, pod, other, f.callsBack[with], f.domain(ctx, other))
	}
}

// explore looks for what explains a verdict of a pod, and adds it to the graph. What shows most is looked for first: what
// shows less cannot be the root then.
func (f *follower) explore(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict, left int) {
	if left == 0 {
		return
	}
	defer f.enter(podID(pod))()
	n := &visit{follower: f, id: podID(pod), pod: pod, a: a, v: cluster.AsAnswer(v), only: cluster.ExplainedBy(v), asked: map[string]bool{}, left: left}
	n.asker = newAsker(pod, a, n.v)
	n.asker.top = f.lastWell
	called := f.called(ctx, pod, a, n.v)
	n.letDown(a, n.v, called)
	n.jobs(ctx)
	n.members(ctx)
	n.resolvers(ctx)
	said, open := places(n.asker, a, n.v, called)
	for _, some := range [][]place{said, open} {
		for _, p := range some {
			w := n.to(ctx, p)
			n.leads(w, graph.Needs, n.shown(p, w))
		}
		if n.support() >= graph.Strong {
			return
		}
	}
	n.echoed(ctx)
	if n.support() >= graph.Likely {
		return
	}
	n.forgot(ctx)
	n.mentioned(ctx)
	n.fellows(ctx)
	if cluster.MayBeConfigured(n.v) || n.handsOn {
		n.named(ctx)
	} else {
		n.undoneFor(ctx)
	}
}

// enter notes that it looks from an object on until the returned function is called.
func (f *follower) enter(id graph.ID) (leave func()) {
	f.path = append(f.path, id)
	return func() { f.path = f.path[:len(f.path)-1] }
}

// rootFrom is the root of the trouble of an object on the way, as far as it is known.
func (f *follower) rootFrom(id graph.ID) diagnose.Diagnosis {
	before := f.path
	if at := slices.Index(before, id); at >= 0 {
		before = before[:at]
	}
	return diagnose.Root(&f.graph, id, before...)
}

// support is that of the best path which was found so far.
func (n *visit) support() graph.Support {
	d := n.rootFrom(n.id)
	if !d.Leads() {
		return graph.Refuted
	}
	return d.Support
}

func (n *visit) leads(w way, rel graph.Rel, s graph.Support) {
	if w.cause == "" && !w.back {
		return
	}
	if w.moot {
		s = graph.Refuted
	}
	if len(w.only) == 0 {
		w.only = n.only
	}
	claim := graph.Claim{Support: s, Only: w.only, Guess: w.guess}
	n.graph.Add(graph.Edge{From: n.id, To: w.to, Rel: rel, Claim: claim, Ref: len(n.ways)})
	n.ways = append(n.ways, w)
}

// shown is how well a place and what is wrong there explain the trouble of who asks.
func (n *visit) shown(p place, w way) graph.Support {
	switch {
	case w.blocked:
		return graph.Seen
	case p.passed() && n.asker.nameless:
		return graph.Possible
	case w.well, p.passed():
		return graph.Likely
	}
	return graph.Strong
}

// named looks at the Services that only the pod's configuration names. That one of them is
// not well explains the answer of a gateway, or of one whose words say that another failed
// it, if its answer calls it by its name, or if it is the only one, or the only one that the pod was seen to ask; that of one which
// gives another server's answer, if no other is named; and that of one
// that says nothing itself, if it was seen to ask it. Likely it does where one that says no
// reason answers that it is not available, or waits, and nothing was well since. Else it is
// worth a word, as it is where the words name another place.
func (n *visit) named(ctx context.Context) {
	type found struct {
		way
		graph.Support
	}
	var all []found
	places := n.configured(ctx, n.pod)
	for _, p := range places[:min(len(places), mostPlaces)] {
		p.asker = n.asker
		one := found{way: n.to(ctx, p)}
		if one.cause == "" {
			continue
		}
		switch member := cluster.Blames(n.v, p.host); {
		case member != "":
			one.Support, one.moot, one.only = graph.Strong, false, nil
			one.ledBy(fmt.Sprintf("%s, and its answer says that %s fails", one.through.By, member))
		case one.blocked:
			one.Support, one.guess = graph.Likely, "the pod is configured for Service "+one.root.Service+" and its connections may have timed out"
		case n.names:
		case one.seen && !one.moot && (n.handsOn || n.failing):
			one.Support = graph.Likely
		case n.handsOn, n.relays && len(places) == 1:
			one.Support, one.moot, one.only = graph.Possible, false, nil
		}
		all = append(all, one)
	}
	if len(all) == 1 && all[0].Support == graph.Refuted && all[0].closed && !n.names && !n.own && cluster.Lacks(n.v) && !diagnose.Endured(n.asker.well, all[0].first, n.started) {
		all[0].Support, all[0].moot, all[0].guess = graph.Possible, false, "all else that its configuration names is well and it says no reason of its own"
	}
	for _, one := range all {
		n.leads(one.way, graph.Needs, one.Support)
	}
}
