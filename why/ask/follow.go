package ask

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

// mostHops is how many pods after one another are asked what they wait for, mostPlaces
// how many places of one pod are looked at.
const mostHops, mostPlaces = 5, 12

// follower follows the waiting of one pod to whoever is waited for. It asks only about
// pods of the cluster, each once.
type follower struct {
	*question
	// seen are the pods on the ways of one verdict, told what was answered about any.
	seen map[types.UID]bool
	told map[types.UID]answer.Answer
	// beside are the ways to what is not well either and may have nothing to do with it.
	beside [][]answer.Hop
}

// follow goes on where a pod's answer ends at another's door: a verdict of a failure that
// may be somebody else's gets the cause of the last that is waited for. What cannot be
// read leaves the answer as it is.
func (q *question) follow(ctx context.Context, pod *v1.Pod, a *answer.Answer) {
	if q.options.Container != "" || !slices.ContainsFunc(a.Verdicts, cluster.MayLead) {
		return
	}
	looking := *q
	looking.look = true
	f := &follower{question: &looking, told: map[types.UID]answer.Answer{}}
	// What its processes say and wait for now, and those of its other containers.
	if again, err := f.pod(ctx, pod); err == nil && len(again.Verdicts) > 0 {
		*a = again
	}
	for i, v := range a.Verdicts {
		if !cluster.MayLead(v) {
			continue
		}
		f.beside, f.seen = nil, map[types.UID]bool{pod.UID: true}
		if hops := f.from(ctx, pod, a, v, mostHops); len(hops) > 0 {
			cluster.Lead(a, i, hops)
			continue
		}
		for _, hops := range f.beside {
			cluster.Mention(&a.Verdicts[i], hops)
		}
		if v.Cause == answer.DependencyDown && len(f.beside) == 0 {
			f.name(ctx, pod, a, i)
		}
	}
}

// name tells whose an address is that a verdict speaks of, where nothing was found to be wrong
// there.
func (f *follower) name(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int) {
	for _, r := range a.Reaches {
		host, _ := split(r.Place)
		if _, err := netip.ParseAddr(host); err != nil || r.How == answer.ReachOpen || r.How == answer.ReachLately || !strings.Contains(a.Verdicts[i].Text, r.Place) {
			continue
		}
		service, target := f.resolve(ctx, pod.Namespace, host)
		switch {
		case f.foreign(service, target):
		case service != nil:
			cluster.Name(&a.Verdicts[i], r.Place, "svc", service.Namespace, service.Name)
			return
		case target != nil && target.UID != pod.UID:
			cluster.Name(&a.Verdicts[i], r.Place, "pod", target.Namespace, target.Name)
			return
		}
	}
}

// place is somewhere that a pod asks.
type place struct {
	answer.Reach
	host string
	port int32 // 0: not known
	asker
}

// asker is who asks there, as far as it matters for what its trouble may come from.
type asker struct {
	address   string   // the pod's
	connected []string // hosts to which it has or had connections
	// late is set where it reaches somebody and gets no answer in time, handsOn where it
	// hands on what it was answered, and failing where it may: it answers with a failure, and
	// nobody knows whose that is. Then one that is down explains nothing, as it would have been
	// refused; and where it says a reason of its own, nobody but who keeps silent does.
	late, handsOn, failing, own bool
}

func newAsker(pod *v1.Pod, a *answer.Answer, v answer.Verdict) asker {
	k := asker{address: pod.Status.PodIP, late: cluster.TimesOut(v, ""), handsOn: cluster.HandsOn(v), own: cluster.SaysOwn(a)}
	k.failing = cluster.Plain(v)
	for _, r := range a.Reaches {
		if r.How == answer.ReachOpen || r.How == answer.ReachAwaits || r.How == answer.ReachLately {
			host, _ := split(r.Place)
			k.connected = append(k.connected, host)
		}
	}
	return k
}

// places are what a pod asks, as its words and sockets show.
func places(k asker, a *answer.Answer, v answer.Verdict) []place {
	var all []place
	for _, r := range a.Reaches {
		if r.How == answer.ReachOpen && !cluster.MayWait(v) {
			continue // an open connection tells only of who waits for an answer
		}
		if r.How == answer.ReachLately && !k.handsOn && !k.failing {
			continue // one that is over, only of who hands on what it was answered
		}
		host, port := split(r.Place)
		p := place{Reach: r, host: host, port: port, asker: k}
		p.late = k.late || cluster.TimesOut(v, r.Text) || r.How == answer.ReachAwaits
		p.failing = k.failing && r.How != answer.ReachSaid && r.How != answer.ReachDialing
		all = append(all, p)
	}
	return all[:min(len(all), mostPlaces)]
}

func split(where string) (host string, port int32) {
	i := strings.LastIndexByte(where, ':')
	if i < 0 || strings.Count(where, ":") > 1 && !strings.Contains(where, "]") {
		return where, 0
	}
	n, err := strconv.ParseInt(where[i+1:], 10, 32)
	if err != nil {
		return where, 0
	}
	return strings.Trim(where[:i], "[]"), int32(n)
}

// way is what there is at a place: the hops that lead to the trouble, none where there is
// none; whether anything but a configuration shows that it was asked there, and whether the
// trouble explains nothing, or may not.
type way struct {
	hops       []answer.Hop
	seen, moot bool
}

// from finds the first place that a pod asks whose trouble explains the pod's: the hops
// that lead to it, none where no place does.
func (f *follower) from(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict, left int) []answer.Hop {
	if left == 0 {
		return nil
	}
	asked := map[string]bool{}
	k := newAsker(pod, a, v)
	for _, p := range places(k, a, v) {
		w := f.to(ctx, pod, p, asked, left)
		if len(w.hops) > 0 && !w.moot {
			return w.hops
		}
		f.mention(w, left)
	}
	if !cluster.MayBeConfigured(v) {
		return nil
	}
	return f.named(ctx, pod, a, v, k, asked, left)
}

// mention keeps what is not well either, of those that the pod asks itself.
func (f *follower) mention(w way, left int) {
	if len(w.hops) > 0 && left == mostHops {
		f.beside = append(f.beside, w.hops)
	}
}

// named goes to the Services that only the pod's configuration names. That one of them is
// not well explains the answer of a gateway, or of one whose words say that another failed
// it, if its answer calls it by its name, or if it is the only one, or the only one that the pod was seen to ask; and that of one
// that says nothing itself, if it was seen to ask it. Else it is worth a word, as it is where
// the words name another place.
func (f *follower) named(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict, k asker, asked map[string]bool, left int) []answer.Hop {
	names := slices.ContainsFunc(a.Reaches, func(r answer.Reach) bool { return r.How == answer.ReachSaid })
	if k.failing && cluster.SaysAnothers(a) && !k.own {
		k.handsOn, k.failing = true, false
	}
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
		if w.seen && !w.moot {
			seen = append(seen, w)
		}
	}
	switch {
	case names:
	case len(seen) == 1 && (k.handsOn || k.failing):
		return seen[0].hops
	case k.handsOn && len(all) == 1:
		return all[0].hops
	}
	for _, w := range all {
		f.mention(w, left)
	}
	return nil
}

// to looks at one place that a pod asks, unless it was looked at before.
func (f *follower) to(ctx context.Context, pod *v1.Pod, p place, asked map[string]bool, left int) way {
	service, target := f.resolve(ctx, pod.Namespace, p.host)
	if f.foreign(service, target) {
		return way{}
	}
	key := fmt.Sprint(p.host, p.port)
	if service != nil {
		key = service.Namespace + "/" + service.Name
	}
	if asked[key] {
		return way{}
	}
	asked[key] = true
	switch {
	case service != nil && cluster.Leads(service, pod): // its own
	case service != nil:
		return f.behind(ctx, p, service, left)
	case target != nil:
		return f.at(ctx, p, nil, target, left)
	}
	return way{}
}

// foreign says whether what is asked is of a namespace that the asker may not see.
func (f *follower) foreign(service *v1.Service, pod *v1.Pod) bool {
	return f.options.Within && (service != nil && service.Namespace != f.options.Namespace || pod != nil && pod.Namespace != f.options.Namespace)
}

// behind looks at a Service and the pods behind it.
func (f *follower) behind(ctx context.Context, p place, service *v1.Service, left int) way {
	name := service.Namespace + "/" + service.Name
	pods, err := f.client.CoreV1().Pods(service.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return way{}
	}
	selected := cluster.Selected(service, pods.Items)
	if len(selected) == 0 {
		inside := *f.question
		inside.space = service.Namespace
		all, err := inside.service(ctx, service.Name)
		if err != nil || len(all) == 0 {
			return way{}
		}
		return way{hops: cluster.HopOf(name, "", byPlace(p, name), &all[0]), moot: p.failing}
	}
	if hop, ok := cluster.NoSuchPort(service, p.port, byPlace(p, name)); ok {
		return way{hops: []answer.Hop{hop}, moot: p.failing}
	}
	if hop, ok := cluster.NoSuchName(service, p.port, selected, byPlace(p, name)); ok {
		return way{hops: []answer.Hop{hop}, moot: p.failing}
	}
	for i := range selected {
		if w := f.at(ctx, p, service, &selected[i], left); len(w.hops) > 0 {
			return w
		}
	}
	answers, _ := f.pods(ctx, selected)
	return way{hops: cluster.Deaf(service, p.port, selected, answers, byPlace(p, name)), moot: p.failing}
}

// byPlace words what led to a Service or pod.
func byPlace(p place, where string) string {
	who := "container " + p.Container
	if p.Container == "" {
		who = "the pod"
	}
	return fmt.Sprintf("%s asks %s (%s)", who, where, strings.TrimSuffix(p.Text, "."))
}

// at looks at a pod that is asked: at its own trouble, or that of whom it asks.
func (f *follower) at(ctx context.Context, p place, service *v1.Service, pod *v1.Pod, left int) way {
	if f.seen[pod.UID] {
		return way{}
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
	name := pod.Namespace + "/" + pod.Name
	own := answer.Hop{Pod: name, By: byPlace(p, name), Text: cluster.LooksWellBut(&a)}
	if service != nil {
		own.Service = service.Namespace + "/" + service.Name
		own.By = byPlace(p, "Service "+own.Service+", which leads to "+name)
	}
	i := cluster.Root(&a)
	if i >= 0 {
		own.Cause, own.Text, own.Chain = a.Verdicts[i].Cause, a.Verdicts[i].Text, a.Verdicts[i].Chain
	}
	w := way{seen: p.How != "" || met}
	if i < 0 || cluster.MayLead(a.Verdicts[i]) {
		if more := f.from(ctx, pod, &a, waiting(&a, i), left-1); len(more) > 0 {
			own.Cause = more[len(more)-1].Cause
			w.hops = append([]answer.Hop{own}, more...)
			w.moot = p.moot(w.seen, own.Cause, i >= 0 || cluster.SaysAnothers(&a))
			return w
		}
	}
	if i < 0 {
		own.Cause, own.Text = unseen(p, met, &a)
	}
	if own.Cause == "" || own.Cause == answer.CauseUnknown {
		return way{}
	}
	if own.Cause == answer.ProbeTimeoutTooShort && !p.late {
		return way{} // it answers, and no probe of its own keeps who asks it waiting
	}
	w.hops = []answer.Hop{own}
	w.moot = p.moot(w.seen, own.Cause, own.Cause == answer.AppUnhealthy)
	return w
}

// about asks about a pod, once.
func (f *follower) about(ctx context.Context, pod *v1.Pod) (answer.Answer, error) {
	if a, ok := f.told[pod.UID]; ok {
		return a, nil
	}
	a, err := f.pod(ctx, pod)
	if err == nil {
		f.told[pod.UID] = a
	}
	return a, err
}

// met says whether there are connections between who asks and a pod, or were a moment ago:
// so they reach each other.
func (p place) met(service *v1.Service, pod *v1.Pod, a *answer.Answer) bool {
	return a.Listening != nil && p.address != "" && slices.Contains(a.Listening.From, p.address) ||
		pod.Status.PodIP != "" && slices.Contains(p.connected, pod.Status.PodIP) ||
		service != nil && slices.Contains(p.connected, service.Spec.ClusterIP)
}

// moot says whether a trouble that was found at a place explains nothing of who asks there;
// fails is set where it gives failures for answers.
func (p place) moot(seen bool, there answer.Cause, fails bool) bool {
	return p.failing && (!seen || !cluster.Silent(there) && (p.own || !fails))
}

// waiting is what a pod on the way suffers from: its own verdict, or, where it looks well,
// that it was given a failure, or as far as anyone knows waits for an answer.
func waiting(a *answer.Answer, i int) answer.Verdict {
	switch {
	case i >= 0:
		return a.Verdicts[i]
	case cluster.SaysAnothers(a) && !cluster.SaysOwn(a):
		return answer.Verdict{Cause: answer.DependencyDown}
	}
	return answer.Verdict{Cause: answer.AppHang}
}

// unseen is what is wrong with a pod that looks well, by what who asks it gets; nothing where
// that does not tell.
func unseen(p place, met bool, a *answer.Answer) (answer.Cause, string) {
	if p.late && met {
		if cause, text, ok := cluster.Mute(a); ok && (cause != answer.AppHang || !p.Heard) {
			return cause, text
		}
	}
	if text, ok := cluster.Fails(a); ok && (p.failing || p.handsOn && met || cluster.AnsweredFailure(p.Text)) {
		return answer.AppUnhealthy, text
	}
	return "", ""
}

// resolve finds what a host stands for in the cluster: a Service or a pod, or neither.
func (f *follower) resolve(ctx context.Context, space, host string) (*v1.Service, *v1.Pod) {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.IsLoopback() {
			return nil, nil
		}
		return f.address(ctx, space, ip.Unmap().String())
	}
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	switch {
	case len(parts) >= 2 && (len(parts) == 2 || parts[2] == "svc"):
		space = parts[1]
	case len(parts) != 1:
		return nil, nil
	}
	service, err := f.client.CoreV1().Services(space).Get(ctx, parts[0], metav1.GetOptions{})
	if err != nil {
		return nil, nil
	}
	return service, nil
}

// address finds the Service or the pod that has an address.
func (f *follower) address(ctx context.Context, space, ip string) (*v1.Service, *v1.Pod) {
	for _, in := range []string{space, metav1.NamespaceAll} {
		services, err := f.client.CoreV1().Services(in).List(ctx, metav1.ListOptions{})
		if err != nil {
			continue // it may be that only the own namespace may be read
		}
		for i := range services.Items {
			if slices.Contains(services.Items[i].Spec.ClusterIPs, ip) || services.Items[i].Spec.ClusterIP == ip {
				return &services.Items[i], nil
			}
		}
		pods, err := f.client.CoreV1().Pods(in).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("status.podIP", ip).String()})
		if err != nil {
			continue
		}
		for i := range pods.Items {
			if pods.Items[i].Status.PodIP == ip {
				return nil, &pods.Items[i]
			}
		}
	}
	return nil, nil
}

// configured are the Services of its namespace that a pod's specification or its
// ConfigMaps name.
func (f *follower) configured(ctx context.Context, pod *v1.Pod) []place {
	services, err := f.client.CoreV1().Services(pod.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	texts := cluster.Settings(pod)
	for _, name := range cluster.ConfigMaps(pod) {
		c, err := f.client.CoreV1().ConfigMaps(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			continue
		}
		for key, text := range c.Data {
			texts = append(texts, cluster.Setting{Where: fmt.Sprintf("ConfigMap %s, key %s", name, key), Text: text})
		}
	}
	var all []place
	for i := range services.Items {
		s := &services.Items[i]
		if cluster.Leads(s, pod) {
			continue
		}
		named := regexp.MustCompile(`(?:^|[^\w.-])` + regexp.QuoteMeta(s.Name) + `(?:\.` + regexp.QuoteMeta(s.Namespace) + `(?:\.svc[\w.]*)?)?(?::(\d{2,5})\b|[^\w.-]|$)`)
		for _, t := range texts {
			if m := named.FindStringSubmatch(t.Text); m != nil {
				port, _ := strconv.ParseInt(m[1], 10, 32)
				all = append(all, place{Reach: answer.Reach{Place: s.Name, Text: "its " + t.Where + " names it"}, host: s.Name, port: int32(port)})
				break
			}
		}
	}
	return all
}
