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
	seen map[types.UID]bool
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
	f := &follower{question: &looking, seen: map[types.UID]bool{pod.UID: true}}
	// What its processes say and wait for now, and those of its other containers.
	if again, err := f.pod(ctx, pod); err == nil && len(again.Verdicts) > 0 {
		*a = again
	}
	for i, v := range a.Verdicts {
		if !cluster.MayLead(v) {
			continue
		}
		f.beside = nil
		if hops := f.from(ctx, pod, a, v, mostHops); len(hops) > 0 {
			cluster.Lead(a, i, hops)
			continue
		}
		for _, hops := range f.beside {
			cluster.Mention(&a.Verdicts[i], hops)
		}
	}
}

// place is somewhere that a pod asks.
type place struct {
	answer.Reach
	host string
	port int32 // 0: not known
}

// places are what a pod asks, as its words and sockets show.
func places(a *answer.Answer, v answer.Verdict) []place {
	var all []place
	for _, r := range a.Reaches {
		if r.How == answer.ReachOpen && !cluster.MayWait(v) {
			continue // an open connection tells only of who waits for an answer
		}
		host, port := split(r.Place)
		all = append(all, place{r, host, port})
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

// from finds the first place that a pod asks whose trouble explains the pod's: the hops
// that lead to it, none where no place does.
func (f *follower) from(ctx context.Context, pod *v1.Pod, a *answer.Answer, v answer.Verdict, left int) []answer.Hop {
	if left == 0 {
		return nil
	}
	asked := map[string]bool{}
	for _, p := range places(a, v) {
		hops := f.to(ctx, pod, p, asked, left)
		if len(hops) > 0 && cluster.Explains(v, p.How, hops[len(hops)-1].Cause) {
			return hops
		}
		if len(hops) > 0 && left == mostHops {
			f.beside = append(f.beside, hops)
		}
	}
	return f.named(ctx, pod, v, asked, left)
}

// named goes to the Services that only the pod's configuration names. That one of them is
// not well either explains a gateway's answer, if it is the only one; of anything else it
// is worth a word.
func (f *follower) named(ctx context.Context, pod *v1.Pod, v answer.Verdict, asked map[string]bool, left int) []answer.Hop {
	if !cluster.MayBeConfigured(v) {
		return nil
	}
	var unwell [][]answer.Hop
	all := f.configured(ctx, pod)
	for _, p := range all[:min(len(all), mostPlaces)] {
		if hops := f.to(ctx, pod, p, asked, left); len(hops) > 0 {
			unwell = append(unwell, hops)
		}
	}
	if len(unwell) == 1 && cluster.HandsOn(v) {
		return unwell[0]
	}
	if left == mostHops {
		f.beside = append(f.beside, unwell...)
	}
	return nil
}

// to looks at one place that a pod asks, unless it was looked at before.
func (f *follower) to(ctx context.Context, pod *v1.Pod, p place, asked map[string]bool, left int) []answer.Hop {
	service, target := f.resolve(ctx, pod.Namespace, p.host)
	if f.foreign(service, target) {
		return nil
	}
	key := fmt.Sprint(p.host, p.port)
	if service != nil {
		key = service.Namespace + "/" + service.Name
	}
	if asked[key] {
		return nil
	}
	asked[key] = true
	switch {
	case service != nil && cluster.Leads(service, pod): // its own
	case service != nil:
		return f.behind(ctx, p, service, left)
	case target != nil:
		return f.at(ctx, p, "", target, left)
	}
	return nil
}

// foreign says whether what is asked is of a namespace that the asker may not see.
func (f *follower) foreign(service *v1.Service, pod *v1.Pod) bool {
	return f.options.Within && (service != nil && service.Namespace != f.options.Namespace || pod != nil && pod.Namespace != f.options.Namespace)
}

// behind looks at a Service and the pods behind it.
func (f *follower) behind(ctx context.Context, p place, service *v1.Service, left int) []answer.Hop {
	name := service.Namespace + "/" + service.Name
	pods, err := f.client.CoreV1().Pods(service.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	selected := cluster.Selected(service, pods.Items)
	if len(selected) == 0 {
		inside := *f.question
		inside.space = service.Namespace
		all, err := inside.service(ctx, service.Name)
		if err != nil || len(all) == 0 {
			return nil
		}
		return cluster.HopOf(name, "", byPlace(p, name), &all[0])
	}
	if hop, ok := cluster.NoSuchPort(service, p.port, byPlace(p, name)); ok {
		return []answer.Hop{hop}
	}
	for i := range selected {
		if hops := f.at(ctx, p, name, &selected[i], left); len(hops) > 0 {
			return hops
		}
	}
	answers, _ := f.pods(ctx, selected)
	return cluster.Deaf(service, p.port, selected, answers, byPlace(p, name))
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
func (f *follower) at(ctx context.Context, p place, service string, pod *v1.Pod, left int) []answer.Hop {
	if f.seen[pod.UID] {
		return nil
	}
	f.seen[pod.UID] = true
	a, err := f.pod(ctx, pod)
	if err != nil {
		return nil
	}
	name := pod.Namespace + "/" + pod.Name
	by := byPlace(p, name)
	if service != "" {
		by = byPlace(p, "Service "+service+", which leads to "+name)
	}
	i := cluster.Root(&a)
	own := answer.Hop{Service: service, Pod: name, By: by, Text: "It looks well."}
	if i >= 0 {
		own.Cause, own.Text, own.Chain = a.Verdicts[i].Cause, a.Verdicts[i].Text, a.Verdicts[i].Chain
	}
	if i < 0 || cluster.MayLead(a.Verdicts[i]) {
		waiting := answer.Verdict{Cause: answer.AppHang} // who asks it waits for it, as far as anyone knows
		if i >= 0 {
			waiting = a.Verdicts[i]
		}
		if more := f.from(ctx, pod, &a, waiting, left-1); len(more) > 0 {
			own.Cause = more[len(more)-1].Cause
			return append([]answer.Hop{own}, more...)
		}
	}
	if i < 0 || own.Cause == answer.CauseUnknown {
		return nil
	}
	return []answer.Hop{own}
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
				all = append(all, place{answer.Reach{Place: s.Name, Text: "its " + t.Where + " names it"}, s.Name, int32(port)})
				break
			}
		}
	}
	return all
}
