package ask

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

// name tells whose an address is that a verdict speaks of, where nothing was found to be wrong
// there.
func (f *follower) name(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int) {
	for _, r := range a.Reaches {
		host, _ := split(r.Place)
		if _, err := netip.ParseAddr(host); err != nil || r.How == answer.ReachOpen || r.How == answer.ReachLately || !a.Verdicts[i].Tells(r.Place) {
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

// readyBehind adds the state of the pods of a Service that the pod cannot reach, if all of them are Ready.
func (f *follower) readyBehind(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int) {
	for _, r := range a.Reaches {
		host, port := split(r.Place)
		if r.How != answer.ReachSaid || !a.Verdicts[i].Tells(host) {
			continue
		}
		service, _ := f.resolve(ctx, pod.Namespace, host)
		if service == nil || f.foreign(service, nil) {
			continue
		}
		if behind := cluster.Selected(service, readable[v1.Pod](ctx, f.question, service.Namespace)); f.well(ctx, service.Namespace, service.Name) {
			cluster.ReadyBehind(&a.Verdicts[i], service, behind, port, r.Said)
		}
		return
	}
}

// otherDomain tells of a Service that is there and is asked for below another domain than clusters have mostly.
func (f *follower) otherDomain(ctx context.Context, pod *v1.Pod, v *answer.Verdict, a *answer.Answer) bool {
	if !cluster.NoSuchHost(v.Words()) {
		return false
	}
	for _, r := range a.Reaches {
		host, _ := split(r.Place)
		name, space, domain, ok := cluster.OtherDomain(host)
		if !ok {
			continue
		}
		service, err := oneOf[v1.Service](ctx, f.question, space, name)
		if err != nil || f.foreign(service, nil) {
			continue
		}
		where, _, _ := cluster.Named(f.settings(ctx, pod), service)
		cluster.InOtherDomain(v, pod, service, domain, where)
		return true
	}
	return false
}

// elsewhere tells of a pod that asks for a Service by its name where nobody knows it: at the node's name
// server.
func (f *follower) elsewhere(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int) bool {
	setting, ok := cluster.AsksTheNode(pod)
	if !ok {
		return false
	}
	sure, ok := cluster.NotThere(a, a.Verdicts[i])
	if !ok {
		return false
	}
	for _, p := range f.configured(ctx, pod) {
		cluster.UnknownThere(&a.Verdicts[i], pod, p.host, p.named, setting, sure)
		return true
	}
	return false
}

// asks tells of one that answers with a failure whom it asks, where its connections lead to one Service
// alone: an error of a client's library seldom says at whom it was met.
func (f *follower) asks(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int) {
	var asked *v1.Service
	for _, r := range a.Reaches {
		host, _ := split(r.Place)
		if r.How != answer.ReachOpen && r.How != answer.ReachLately {
			continue
		}
		switch service, target := f.resolve(ctx, pod.Namespace, host); {
		case service == nil || f.foreign(service, target) || cluster.Leads(service, pod):
		case asked != nil && asked.UID != service.UID:
			return
		default:
			asked = service
		}
	}
	if asked != nil && !a.Verdicts[i].Tells(asked.Name) {
		cluster.Asked(&a.Verdicts[i], "", asked.Namespace, asked.Name, f.well(ctx, asked.Namespace, asked.Name))
	}
}

// call tells the names of the Services whose addresses a verdict speaks of that leads to another.
func (f *follower) call(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int) {
	told := map[string]bool{}
	for _, r := range a.Reaches {
		host, _ := split(r.Place)
		if _, err := netip.ParseAddr(host); err != nil || told[r.Place] {
			continue
		}
		told[r.Place] = true
		if service, target := f.resolve(ctx, pod.Namespace, host); service != nil && !f.foreign(service, target) {
			a.Verdicts[i].TellName(r.Place, "Service "+cluster.Key(service))
		}
	}
}

// oldAddress tells of an address that a verdict speaks of and nobody has any more, where one
// Service is likely to have given it out.
func (f *follower) oldAddress(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int) bool {
	v := &a.Verdicts[i]
	r, likely, pods := f.givenOut(ctx, pod, a, func(r answer.Reach) bool { return r.How == answer.ReachSaid && v.Names(r.Place) })
	if likely == nil {
		return false
	}
	cluster.OldAddress(v, pod, r.Place, likely.where, likely.service, pods)
	return true
}

// goesOn is the same of a pod on the way that looks well: it completes the hop to it.
func (f *follower) goesOn(ctx context.Context, pod *v1.Pod, a *answer.Answer, own *answer.Hop) bool {
	r, likely, pods := f.givenOut(ctx, pod, a, func(r answer.Reach) bool { return r.How == answer.ReachSaid || r.How == answer.ReachDialing })
	if likely == nil {
		return false
	}
	cluster.AsksOldAddress(own, pod, a, r.Place, likely.where, likely.service, pods)
	return true
}

// givenOut is the first of some addresses that a pod asks, and that nobody has any more, which one Service alone is
// likely to have given out; where the pod's configuration names that, and the pods behind it now.
func (f *follower) givenOut(ctx context.Context, pod *v1.Pod, a *answer.Answer, fits func(answer.Reach) bool) (reach answer.Reach, likely *place, selected []v1.Pod) {
	for _, r := range a.Reaches {
		host, port := split(r.Place)
		ip, err := netip.ParseAddr(host)
		if err != nil || f.options.Within || !fits(r) {
			continue
		}
		if service, target := f.resolve(ctx, pod.Namespace, host); service != nil || target != nil || ip.IsLoopback() {
			continue
		}
		pods := readable[v1.Pod](ctx, f.question, pod.Namespace)
		likely, selected = nil, nil
		several := false
		for _, p := range f.configured(ctx, pod) {
			behind := cluster.Selected(p.service, pods)
			if cluster.Replaced(port, p.service, behind, func(other string) bool { return near(ip, other) }) {
				several = several || likely != nil
				likely, selected = &p, behind
			}
		}
		if likely != nil && !several {
			return r, likely, selected
		}
	}
	return answer.Reach{}, nil, nil
}

// nameless tells of a name that a verdict speaks of, that DNS does not have and that is no Service's.
func (f *follower) nameless(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int) bool {
	for _, r := range a.Reaches {
		host, port := split(r.Place)
		name, space, qualified := strings.Cut(host, ".")
		if space, _, _ = strings.Cut(space, "."); !qualified {
			space = pod.Namespace
		}
		aliased := slices.ContainsFunc(pod.Spec.HostAliases, func(h v1.HostAlias) bool { return slices.Contains(h.Hostnames, host) })
		if r.How != answer.ReachSaid || !cluster.MayLackName(r.Said) || aliased || !cluster.MayBeService(host) || f.options.Within && space != f.options.Namespace || !a.Verdicts[i].Names(host) {
			continue
		}
		if _, err := oneOf[v1.Service](ctx, f.question, space, name); !apierrors.IsNotFound(err) {
			continue
		}
		services, err := allOf[v1.Service](ctx, f.question, space)
		if err != nil {
			return false
		}
		missing := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: space, Name: name}}
		var elsewhere []v1.Service
		if !f.options.Within {
			elsewhere, _ = someOf[v1.Service](ctx, f.question, "", metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		}
		cluster.NoService(&a.Verdicts[i], pod, missing, r.Said, port, f.settings(ctx, pod), services, elsewhere)
		if quotas, err := allOf[v1.ResourceQuota](ctx, f.question, space); err == nil {
			cluster.FullOfServices(&a.Verdicts[i], space, quotas)
		}
		return true
	}
	return false
}

// near says whether two addresses are of one small network, as those of a node's pods are.
func near(ip netip.Addr, other string) bool {
	at, err := netip.ParseAddr(other)
	if err != nil || at.Is4() != ip.Is4() {
		return false
	}
	bits := 24
	if at.Is6() {
		bits = 64
	}
	network, err := at.Prefix(bits)
	return err == nil && network.Contains(ip)
}

// well says whether all pods behind a Service are ready.
func (f *follower) well(ctx context.Context, space, name string) bool {
	service, err := oneOf[v1.Service](ctx, f.question, space, name)
	if err != nil {
		return false
	}
	behind := cluster.Selected(service, readable[v1.Pod](ctx, f.question, space))
	return len(behind) > 0 && !slices.ContainsFunc(behind, func(p v1.Pod) bool { return !cluster.Serves(&p) })
}

// domain is the headless Service that gives a pod its name; nil where none does.
func (f *follower) domain(ctx context.Context, pod *v1.Pod) *v1.Service {
	if pod.Spec.Subdomain == "" {
		return nil
	}
	service, err := oneOf[v1.Service](ctx, f.question, pod.Namespace, pod.Spec.Subdomain)
	if err != nil || service.Spec.ClusterIP != v1.ClusterIPNone {
		return nil
	}
	return service
}

// foreign says whether what is asked is of a namespace that the asker may not see.
func (q *question) foreign(service *v1.Service, pod *v1.Pod) bool {
	return q.options.Within && (service != nil && service.Namespace != q.options.Namespace || pod != nil && pod.Namespace != q.options.Namespace)
}

// ownService tells of a probe whose command asks its own pod by the Service of that, which leads there only when
// the pod is ready: no other pod is waited for then.
func (f *follower) ownService(ctx context.Context, pod *v1.Pod, a *answer.Answer, i int) bool {
	v := &a.Verdicts[i]
	attempt, ok := cluster.ByCommand(*v)
	if !ok {
		return false
	}
	for _, r := range a.Reaches {
		host, port := split(r.Place)
		if v.Container != "" && r.Container != v.Container || !cluster.AskedBy(attempt, r, host) {
			continue
		}
		service := f.serviceOf(ctx, pod, host)
		if service == nil || !cluster.Leads(service, pod) {
			continue
		}
		pods, err := allOf[v1.Pod](ctx, f.question, pod.Namespace)
		if err != nil {
			return false
		}
		target, has := cluster.OwnPort(service, port, pod)
		if !has || !cluster.AwaitsItself(service, pod, pods, attempt) {
			continue
		}
		cluster.OwnService(v, pod, service, attempt, host, target)
		return true
	}
	return false
}

// serviceOf is the Service that a host stands for: also the headless one below which the pod itself has that name,
// which DNS has only where the Service leads to it.
func (f *follower) serviceOf(ctx context.Context, pod *v1.Pod, host string) *v1.Service {
	service, target := f.resolve(ctx, pod.Namespace, host)
	if f.foreign(service, target) {
		return nil
	}
	if _, err := netip.ParseAddr(host); err != nil && target != nil && target.UID == pod.UID {
		return f.domain(ctx, pod)
	}
	return service
}
