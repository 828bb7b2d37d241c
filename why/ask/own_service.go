package ask

import (
	"context"
	"net/netip"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

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
