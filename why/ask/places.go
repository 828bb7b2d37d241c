package ask

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/knowledge"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/words"
)

type place struct {
	answer.Reach
	host string
	port int32 // 0: not known
	// called is set where an error's words call it by its name, and say nothing of a kind
	// that is known here; closed, where no pod behind the Service takes requests.
	called, closed bool
	echo           bool // it only counts where its own words are found there
	answer         bool // it is the asker's answer that names it, which may be another's
	// where is what of the pod's configuration names it, named that as a sentence.
	where, named string
	service      *v1.Service // nil where it was not looked up yet, or is none
	pod          *v1.Pod     // that its words call by its name; nil elsewhere
	asker
}

// passed says whether nothing shows of a connection but that it is there, or was.
func (p place) passed() bool { return p.How == answer.ReachOpen || p.How == answer.ReachLately }

// mayBeDropped reports whether what was sent there may have been dropped on the way: nobody answered, and nothing shows
// that somebody took the connection.
func (p place) mayBeDropped() bool {
	switch {
	case p.How == answer.ReachDialing:
		return true
	case p.Said != "":
		return p.How == answer.ReachSaid && cluster.MayBeDropped(p.Said)
	}
	return (p.How == answer.ReachSaid || p.How == "") && (p.late || p.timesOut || !p.names && p.dropped) && !p.own
}

// unreached reports whether an error says that no connection to the place came about, or one that names no place, if none
// names this.
func (p place) unreached() bool {
	return unmet(p.Said) || slices.ContainsFunc(p.said, func(said string) bool {
		_, where, _ := words.Unreached(said)
		host, _ := split(where)
		here := host == p.host || p.service != nil && host == p.service.Spec.ClusterIP
		return unmet(said) && (here || where == "" && p.Said == "")
	})
}

// unmet reports whether an error is about a connection that did not come about, and not about a name.
func unmet(said string) bool {
	_, _, ok := words.Unreached(said)
	return words.Refused(said) || ok && !cluster.NoSuchHost(said)
}

// key is one of a place: whatever it is called by.
func (p place) key() string {
	if p.service != nil {
		return cluster.Key(p.service)
	}
	return fmt.Sprint(p.host, p.port)
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
	// slow is set where it answers too late for its probe, or may.
	slow bool
	// timesOut is set where its probe got no answer in time.
	timesOut bool
	// dropped is set where its words are that nobody answered its connection.
	dropped bool
	// mute is set where its probe's command says that it is not well, and not why.
	mute bool
	// relays is set where its answer is signed by another server than it runs.
	relays bool
	// answered is set where it was given an answer, and not too late: nothing says else; told,
	// where its words are that it was given a failure.
	answered, told bool
	// names is set where its words name who failed it.
	names bool
	// dialing are the places to which a connection of its is not answered, and unanswered is set
	// where its log says now that one was not.
	dialing    []string
	unanswered bool
	// nameless is set where its words are that another broke a connection off, and nothing but
	// those that it has or had shows who that may be.
	nameless bool
	// started is when its youngest container was, well is when it was seen well last, since when it began to fail after that.
	started, since, well time.Time
	// top is when the first of all that wait was well last.
	top        time.Time
	complaints []answer.Complaint
	said       []string        // its words of errors
	calls      map[string]bool // whom its errors call by name, by their keys
}

func newAsker(pod *v1.Pod, a *answer.Answer, v answer.Verdict) asker {
	k := asker{address: pod.Status.PodIP, late: cluster.TimesOut(v, ""), handsOn: cluster.HandsOn(v), own: cluster.SaysOwn(a), complaints: a.Complaints}
	k.failing, k.mute = cluster.Plain(v), cluster.FailsCommand(v)
	k.timesOut = cluster.ProbeTimesOut(v)
	k.slow = v.Cause == answer.AppOverloaded || v.Cause == answer.ProbeTimeoutTooShort || slices.Contains(v.Possible, answer.AppOverloaded)
	if cluster.Relays(v) { // what it says itself is not the reason: another's answer is
		k.relays, k.own, k.failing = true, false, !k.handsOn
	}
	k.answered = k.failing
	k.said = cluster.Words(a, v)
	k.dropped = slices.ContainsFunc(k.said, cluster.MayBeDropped)
	k.told = slices.ContainsFunc(k.said, cluster.AnsweredFailure)
	if k.well = cluster.LastWell(v); !k.well.IsZero() {
		k.since = cluster.Since(a, v)
	}
	k.started = cluster.LastStart(pod)
	k.unanswered = cluster.Unanswered(a)
	for _, r := range a.Reaches {
		if r.How == answer.ReachDialing {
			k.dialing = append(k.dialing, r.Place)
		}
		if r.How == answer.ReachOpen || r.How == answer.ReachAwaits || r.How == answer.ReachLately {
			host, _ := split(r.Place)
			k.connected = append(k.connected, host)
		}
		k.names = k.names || r.How == answer.ReachSaid
	}
	return k
}

// letDown takes one that fails for one that hands on another's failure, where its own words say
// that, and not whose: called are those that they call by their names.
func (k *asker) letDown(a *answer.Answer, v answer.Verdict, called []place) {
	k.calls = map[string]bool{}
	for _, p := range called {
		k.names, k.calls[p.key()] = true, true
	}
	if (k.failing || k.mute) && !k.names && !k.own && slices.ContainsFunc(k.said, knowledge.DatabaseAway.In) {
		k.handsOn, k.failing = true, false
	}
	if (k.failing || k.mute) && !k.names && !k.own && cluster.SaysAnothers(a) {
		k.handsOn, k.failing, k.nameless = true, false, cluster.BreaksOff(a)
	}
	if v.Cause == answer.AppExitError && !k.names && slices.ContainsFunc(k.said, cluster.ReachesNobody) {
		k.handsOn = true
	}
	for _, c := range a.Complaints {
		k.late = k.late || c.Another && !c.Before && cluster.TimesOut(answer.Verdict{}, c.Text)
	}
	k.answered = k.answered && !k.late
}

// hungUpOn says whether its words are that another broke its connection off, and not who.
func (k *asker) hungUpOn() bool { return !k.names && slices.ContainsFunc(k.said, words.BreaksOff) }

// about says whether an error of the asker's own has the name of a Service among its words.
func (k *asker) about(service *v1.Service) bool {
	return service != nil && slices.ContainsFunc(k.complaints, func(c answer.Complaint) bool { return !c.Before && cluster.Mentions(c.Text, service.Name) })
}

// places are what a pod asks, as its words and sockets show: those that it is known to ask in vain, among them those that
// its words call by their names, and those to which nothing but a connection leads.
func places(k asker, a *answer.Answer, v answer.Verdict, called []place) (said, open []place) {
	at := slices.IndexFunc(a.Reaches, refusedBeside)
	for _, r := range a.Reaches {
		if r.How == answer.ReachOpen && !cluster.MayWait(v) && !k.hungUpOn() {
			continue // an open connection tells only of who waits for an answer, or was hung up on
		}
		if at >= 0 && r.Container != a.Reaches[at].Container && (r.How == answer.ReachOpen || r.How == answer.ReachLately) {
			continue // who did not listen beside it was not kept waiting by one that it reached
		}
		echo := r.How == answer.ReachLately && !k.handsOn && !k.failing
		if _, full := cluster.SaysFull(a); echo && !full && !k.slow {
			continue // one that is over, only of who hands on what it was answered, repeats it, or waited there
		}
		host, port := split(r.Place)
		p := place{Reach: r, host: host, port: port, echo: echo, answer: r.How == answer.ReachSaid && cluster.Answers(v, r.Fact)}
		if p.passed() {
			open = append(open, p)
		} else {
			said = append(said, p)
		}
	}
	said = append(said, called...)
	said = said[:min(len(said), mostPlaces)]
	open = open[:min(len(open), mostPlaces-len(said))]
	for _, all := range [][]place{said, open} {
		for p := range pointers(all) {
			p.asker = k
			p.late = k.late || cluster.TimesOut(v, p.Said) || p.How == answer.ReachAwaits
			p.failing = k.failing && p.How != answer.ReachSaid && p.How != answer.ReachDialing
		}
	}
	return said, open
}

// refusedBeside says whether words are those of one that was refused by another container of its
// own pod.
func refusedBeside(r answer.Reach) bool {
	host, _ := split(r.Place)
	ip, err := netip.ParseAddr(host)
	return r.How == answer.ReachSaid && (host == "localhost" || err == nil && ip.IsLoopback()) && knowledge.ConnectionRefused.In(r.Said)
}

// split parts a host from its port; 0 where it has none.
func split(where string) (string, int32) {
	host, number, err := net.SplitHostPort(where)
	port, isNone := strconv.ParseInt(number, 10, 32)
	if err != nil || isNone != nil {
		return where, 0
	}
	return host, int32(port)
}

// met says whether there are connections between who asks and a pod, or were a moment ago:
// so they reach each other.
func (p place) met(service *v1.Service, pod *v1.Pod, a *answer.Answer) bool {
	return a.Listening != nil && p.address != "" && slices.Contains(a.Listening.From, p.address) ||
		pod.Status.PodIP != "" && slices.Contains(p.connected, pod.Status.PodIP) ||
		service != nil && slices.Contains(p.connected, service.Spec.ClusterIP) ||
		p.How == answer.ReachSaid && cluster.WasReached(p.Said)
}

// explainedBy are the causes by which a trouble that was found at a place explains anything of who asks there, and whether
// it explains nothing; fails is set where it gives failures for answers.
func (p place) explainedBy(service *v1.Service, seen, fails bool) (only []string, moot bool) {
	switch {
	case !p.failing, seen && p.about(service), seen && !p.own && (fails || p.closed):
		return nil, false
	case !seen:
		return nil, true
	}
	return cluster.Silences, false
}

// called are the Services and pods that the words of a pod's errors call by their names.
func (f *follower) called(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict) []place {
	said := slices.DeleteFunc(cluster.Says(a, v), func(s cluster.Said) bool { return knowledge.OwnFile.In(s.Words) })
	if len(said) == 0 {
		return nil
	}
	var all []place
	add := func(host string, port int32, service *v1.Service, s cluster.Said) {
		all = append(all, place{Reach: answer.Reach{Place: host, How: answer.ReachSaid, Text: s.Shown, Said: s.Words}, host: host, port: port, service: service})
	}
	services, err := allOf[v1.Service](ctx, f.question, pod.Namespace)
	if err != nil {
		return nil
	}
	for s := range pointers(services) {
		for _, text := range said {
			if port, ok := cluster.Called(text.Words, s); ok && !cluster.Leads(s, pod) {
				add(s.Name, port, s, text)
				break
			}
		}
	}
	pods := readable[v1.Pod](ctx, f.question, pod.Namespace)
	for i := range pods {
		p := &pods[i]
		for _, text := range said {
			if p.UID == pod.UID || !cluster.CallsPod(text.Words, p.Name) && !cluster.HasAddress(text.Words, p) {
				continue
			}
			// A pod's name is no host of its own: where a Service has it, too, that was asked.
			if i := slices.IndexFunc(services, func(s v1.Service) bool { return s.Name == p.Name }); i >= 0 && !cluster.Leads(&services[i], pod) {
				add(p.Name, 0, &services[i], text)
			} else {
				add(cmp.Or(p.Status.PodIP, p.Name), 0, nil, text)
				all[len(all)-1].pod = p
			}
			break
		}
	}
	return all
}

// mostNames is how many names of other Services a name may stand for one after another.
const mostNames = 3

// resolve finds what a host stands for in the cluster: a Service or a pod, or neither.
func (q *question) resolve(ctx context.Context, space, host string) (*v1.Service, *v1.Pod) {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.IsLoopback() {
			return nil, nil
		}
		return q.address(ctx, space, ip.Unmap().String())
	}
	var service *v1.Service
	for range mostNames {
		next, pod := q.known(ctx, space, host)
		if next == nil {
			return service, pod
		}
		if service = next; service.Spec.Type != v1.ServiceTypeExternalName {
			break
		}
		space, host = service.Namespace, service.Spec.ExternalName
	}
	return service, nil
}

// known finds what a name stands for, as the cluster's DNS has them: service[.namespace[.svc…]],
// or a pod's of a headless Service, pod.service[.namespace[.svc…]]; the Service where there is
// no such pod.
func (q *question) known(ctx context.Context, space, host string) (*v1.Service, *v1.Pod) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if n := len(parts); n <= 2 || parts[2] == "svc" {
		in := space
		if n > 1 {
			in = parts[1]
		}
		if service, err := oneOf[v1.Service](ctx, q, in, parts[0]); err == nil {
			return service, nil
		}
	}
	switch n := len(parts); {
	case n == 2:
	case n == 3 && parts[2] != "svc", n > 3 && parts[3] == "svc":
		space = parts[2]
	default:
		return nil, nil
	}
	if pod, err := oneOf[v1.Pod](ctx, q, space, parts[0]); err == nil && pod.Spec.Subdomain == parts[1] {
		return nil, pod
	}
	service, err := oneOf[v1.Service](ctx, q, space, parts[1])
	if err != nil || service.Spec.ClusterIP != v1.ClusterIPNone {
		return nil, nil
	}
	return service, nil
}

func (q *question) address(ctx context.Context, space, ip string) (*v1.Service, *v1.Pod) {
	for _, in := range []string{space, metav1.NamespaceAll} {
		services, err := allOf[v1.Service](ctx, q, in)
		if err != nil {
			continue // it may be that only the own namespace may be read
		}
		for i := range services {
			if slices.Contains(services[i].Spec.ClusterIPs, ip) || services[i].Spec.ClusterIP == ip {
				return &services[i], nil
			}
		}
		if pods := q.withAddress(ctx, in, ip); len(pods) > 0 {
			return nil, &pods[0]
		}
	}
	return nil, nil
}

// configured are the Services of its namespace that a pod's specification or its
// ConfigMaps name.
func (q *question) configured(ctx context.Context, pod *v1.Pod) []place {
	texts := q.settings(ctx, pod)
	var all []place
	for s := range pointers(readable[v1.Service](ctx, q, pod.Namespace)) {
		if cluster.Leads(s, pod) {
			continue
		}
		if where, port, ok := cluster.Named(texts, s); ok {
			named := "its " + where + " names it"
			all = append(all, place{Reach: answer.Reach{Place: s.Name, Text: named}, named: named, where: "its " + where, host: s.Name, port: port, service: s})
		}
	}
	return all
}

// settings are the texts that configure a pod.
func (q *question) settings(ctx context.Context, pod *v1.Pod) []cluster.Setting {
	texts := cluster.Settings(pod)
	for _, c := range q.configMaps(ctx, pod) {
		for _, key := range slices.Sorted(maps.Keys(c.Data)) {
			texts = append(texts, cluster.Setting{Where: fmt.Sprintf("ConfigMap %s, key %s", c.Name, key), Text: c.Data[key], ConfigMap: c.Name})
		}
	}
	return texts
}
