package ask

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/common"
)

// mostFellows is how many pods of the same workload that are not well are asked for the
// sake of one, where no front knows how they stand.
const mostFellows = 6

// beside tells of one pod that fails what it has in common with others that do.
func (q *question) beside(ctx context.Context, pod *v1.Pod, a *answer.Answer) {
	own := common.Pod{}
	if own.Judge(a); len(own.Faults) == 0 || q.options.Container != "" {
		return
	}
	answers, pods := []answer.Answer{*a}, []v1.Pod{*pod}
	if maker := common.MakerOf(pod); q.options.Front == nil && maker != (common.Maker{}) {
		fellows, heard := q.fellows(ctx, pod, maker.Workload())
		answers, pods = append(answers, heard...), append(pods, fellows...)
	}
	q.inCommon(ctx, answers, pods)
	*a = answers[0]
}

// fellows are the other pods of a workload, and what the nodes of those say that do not
// look well.
func (q *question) fellows(ctx context.Context, pod *v1.Pod, workload common.Maker) ([]v1.Pod, []answer.Answer) {
	pods, err := allOf[v1.Pod](ctx, q, pod.Namespace)
	if err != nil {
		return nil, nil
	}
	others := slices.DeleteFunc(slices.Clone(pods), func(p v1.Pod) bool {
		return p.UID == pod.UID || p.DeletionTimestamp != nil || common.MakerOf(&p).Workload() != workload
	})
	var unwell []v1.Pod
	for i := range others {
		if !cluster.LooksWell(&others[i]) && len(unwell) < mostFellows {
			unwell = append(unwell, others[i])
		}
	}
	heard, _ := q.pods(ctx, unwell)
	return others, heard
}

// inCommon puts into answers about pods what those have in common that fail alike. pods are
// those of them that were read, or can be compared with them; a front knows of more.
func (q *question) inCommon(ctx context.Context, answers []answer.Answer, pods []v1.Pod) {
	if q.given != nil { // who asked about everything compares all
		return
	}
	s, ok := q.scene(ctx, answers, pods)
	if !ok {
		return
	}
	q.places(ctx, s.Pods)
	settled := 0
	for _, f := range common.Find(s) {
		var fixes []answer.Fix
		if f.Kind == answer.CommonRevision && settled < mostSettled && (q.space == "" || q.space == f.Maker.Namespace) {
			settled++
			fixes = q.rollout(ctx, &f)
		}
		for i := range answers {
			if f.Pods[answers[i].Subject.UID] {
				putCommon(&answers[i], f, fixes)
			}
		}
	}
}

// putCommon puts a finding into the verdict of an answer that it is about.
func putCommon(a *answer.Answer, f common.Finding, fixes []answer.Fix) {
	for i := range a.Verdicts {
		v := &a.Verdicts[i]
		about := common.FaultOf(a.Symptoms[i], *v) == f.Fault
		if f.Kind == answer.CommonDependency {
			about = cluster.MayLead(*v) || v.Pod != ""
		}
		if about {
			v.InCommon = append(v.InCommon, f.Common)
			v.Fixes = append(v.Fixes, fixes...)
			return
		}
	}
}

// scene is what there is to compare; ok is false where nothing fails.
func (q *question) scene(ctx context.Context, answers []answer.Answer, pods []v1.Pod) (s common.Scene, ok bool) {
	given, asked := map[types.UID]*answer.Answer{}, map[types.UID]bool{}
	for i := range answers {
		given[answers[i].Subject.UID], asked[answers[i].Subject.UID] = &answers[i], true
	}
	nodes, own := map[string]bool{}, map[types.UID]int{}
	for i := range pods {
		p := common.Pod{UID: pods[i].UID, Namespace: pods[i].Namespace, Node: pods[i].Spec.NodeName, Maker: common.MakerOf(&pods[i])}
		if a := given[p.UID]; a != nil {
			p.Judge(a)
		} else {
			p.Apart = !cluster.LooksWell(&pods[i])
		}
		own[p.UID] = len(s.Pods)
		s.Pods = append(s.Pods, p)
		nodes[p.Node], ok = true, ok || len(p.Faults) > 0
	}
	if q.options.Front == nil {
		if ok && len(nodes) > 1 {
			s.Traits = traitsOf(q.nodes())
		}
		return s, ok
	}
	known, err := q.options.Front.Fellows(ctx, slices.Collect(maps.Keys(own)))
	if err != nil {
		return s, ok
	}
	if q.options.Within {
		known.Only(q.space)
	}
	// What was read of a pod just now counts more than what its node told last.
	for i := range known.Pods {
		p := &known.Pods[i]
		if at, read := own[p.UID]; read {
			*p = s.Pods[at]
			delete(own, p.UID)
			continue
		}
		ok = ok || len(p.Faults) > 0
	}
	for i := range s.Pods {
		if _, left := own[s.Pods[i].UID]; left {
			known.Pods = append(known.Pods, s.Pods[i])
		}
	}
	known.Asked = asked
	return known, ok
}

func traitsOf(nodes []v1.Node) map[string]common.Traits {
	all := map[string]common.Traits{}
	for i := range nodes {
		all[nodes[i].Name] = common.TraitsOf(&nodes[i])
	}
	return all
}

// places puts what the cluster calls them in place of the places that pods say they ask:
// NAMESPACE/NAME of a Service or pod, or the host. What is of the pod itself is left out.
func (q *question) places(ctx context.Context, pods []common.Pod) {
	if !slices.ContainsFunc(pods, func(p common.Pod) bool { return len(p.Asks) > 0 }) {
		return
	}
	space := q.space
	if !q.options.Within && q.options.Front != nil {
		space = metav1.NamespaceAll
	}
	_, _ = allOf[v1.Service](ctx, q, space) // and not one by one
	for i := range pods {
		p := &pods[i]
		named := map[string]bool{}
		for _, place := range p.Asks {
			if name := q.placeName(ctx, p.Namespace, place); name != "" {
				named[name] = true
			}
		}
		p.Asks = slices.Sorted(maps.Keys(named))
	}
}

// placeName is what the cluster calls a place that a pod of a namespace asks; empty for the pod itself.
func (q *question) placeName(ctx context.Context, space, place string) string {
	host, _ := split(place)
	if ip, err := netip.ParseAddr(host); host == "" || host == "localhost" || err == nil && ip.IsLoopback() {
		return ""
	}
	service, pod := q.resolve(ctx, space, host)
	switch {
	case q.foreign(service, pod):
		return place
	case service != nil:
		return service.Namespace + "/" + service.Name
	case pod == nil && !strings.ContainsAny(host, ".:"):
		return space + "/" + host
	case pod == nil || pod.Spec.HostNetwork:
		return place
	}
	services, _ := allOf[v1.Service](ctx, q, pod.Namespace)
	if i := slices.IndexFunc(services, func(s v1.Service) bool { return cluster.Leads(&s, pod) }); i >= 0 {
		return services[i].Namespace + "/" + services[i].Name
	}
	return pod.Namespace + "/" + pod.Name
}

// mostAsked is of how many addresses that no Service has the pods are looked for, where those were not listed.
const mostAsked = 3

// withAddress returns the pods of a namespace, "" for all, that have an address.
func (q *question) withAddress(ctx context.Context, space, ip string) []v1.Pod {
	_, listed := has[runtime.Object](q.read, listKey(kindFor[v1.Pod](), space, metav1.ListOptions{}))
	if !listed && !q.read.allowsOnce("addresses", space+" "+ip, mostAsked) {
		return nil
	}
	pods, _ := someOf[v1.Pod](ctx, q, space, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("status.podIP", ip).String()})
	return slices.DeleteFunc(slices.Clone(pods), func(p v1.Pod) bool { return p.Status.PodIP != ip })
}
