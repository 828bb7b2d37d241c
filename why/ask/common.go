package ask

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/common"
	"whylet.dev/whylet/why/kubectl"
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
	others := slices.DeleteFunc(slices.Clone(readable[v1.Pod](ctx, q, pod.Namespace)), func(p v1.Pod) bool {
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
			s.Traits = map[string]common.Traits{}
			for n := range pointers(q.nodes()) {
				s.Traits[n.Name] = common.TraitsOf(n)
			}
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
	for p := range pointers(known.Pods) {
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

// places puts what the cluster calls them in place of the places that pods say they ask:
// NAMESPACE/NAME of a Service or pod, or the host. What is of the pod itself is left out.
func (q *question) places(ctx context.Context, pods []common.Pod) {
	var by *directory
	for p := range pointers(pods) {
		if len(p.Asks) > 0 && by == nil {
			by = q.directory(ctx)
		}
		named := map[string]bool{}
		for _, place := range p.Asks {
			host, _ := split(place)
			ip, err := netip.ParseAddr(host)
			switch {
			case host == "" || host == "localhost" || err == nil && ip.IsLoopback():
			case err == nil:
				named[cmp.Or(by.address(ctx, ip.Unmap().String()), place)] = true
			default:
				named[cmp.Or(by.service(p.Namespace, host), place)] = true
			}
		}
		p.Asks = slices.Sorted(maps.Keys(named))
	}
}

// directory knows what the cluster calls an address or a name.
type directory struct {
	*question
	space    string
	services []v1.Service
	known    map[string]string // by address
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

// directory reads the Services that the asker may see.
func (q *question) directory(ctx context.Context) *directory {
	d := &directory{question: q, space: q.space, known: map[string]string{}}
	if !q.options.Within && q.options.Front != nil {
		d.space = metav1.NamespaceAll
	}
	d.services = readable[v1.Service](ctx, q, d.space)
	for s := range pointers(d.services) {
		for _, ip := range append(s.Spec.ClusterIPs, s.Spec.ClusterIP) {
			d.known[ip] = s.Namespace + "/" + s.Name
		}
	}
	return d
}

// address is the Service that has an address, or that leads to the pod that has it, or the
// pod; empty where none does.
func (d *directory) address(ctx context.Context, ip string) string {
	if name, ok := d.known[ip]; ok {
		return name
	}
	d.known[ip] = ""
	pods := d.withAddress(ctx, d.space, ip)
	for p := range pointers(pods) {
		if p.Spec.HostNetwork {
			continue
		}
		d.known[ip] = p.Namespace + "/" + p.Name
		for j := range d.services {
			if s := &d.services[j]; cluster.Leads(s, p) {
				d.known[ip] = s.Namespace + "/" + s.Name
			}
		}
	}
	return d.known[ip]
}

// service is the Service that a pod of a namespace means by a host; empty where it means
// none.
func (d *directory) service(namespace, host string) string {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	switch {
	case len(parts) == 1:
		return namespace + "/" + host
	case len(parts) > 2 && parts[2] == "svc", len(parts) == 2 && slices.ContainsFunc(d.services, func(s v1.Service) bool { return s.Namespace == parts[1] && s.Name == parts[0] }):
		return parts[1] + "/" + parts[0]
	}
	return ""
}

// mostSettled is of how many workloads the revisions are read for one question.
const mostSettled = 8

// revision is one template of a workload.
type revision struct {
	number   int64
	hash     string
	template v1.PodTemplateSpec
}

// rollout finds out what came with a revision whose pods fail, and how to go back.
func (q *question) rollout(ctx context.Context, f *common.Finding) []answer.Fix {
	all := q.revisions(ctx, f.Maker)
	find := func(hashes ...string) *revision {
		own := slices.DeleteFunc(slices.Clone(all), func(r revision) bool { return !slices.Contains(hashes, r.hash) })
		if len(own) == 0 {
			return nil
		}
		newest := slices.MaxFunc(own, func(a, b revision) int { return cmp.Compare(a.number, b.number) })
		return &newest
	}
	now, before := find(f.Maker.Revision), find(f.Before...)
	if now == nil || before == nil || now.number < before.number { // one that was gone back from
		return nil
	}
	f.Settle(strconv.FormatInt(now.number, 10), common.Changes(&before.template, &now.template))
	if f.Certainty != answer.Inferred {
		return nil
	}
	return []answer.Fix{{
		Text:    fmt.Sprintf("go back to revision %d, whose pods do well", before.number),
		Command: kubectl.Command(f.Maker.Namespace, "rollout undo %s/%s --to-revision=%d", strings.ToLower(f.Maker.Kind), f.Maker.Name, before.number),
		Risk:    answer.Restarts,
	}}
}

// revisions are those of a workload that the API server has; none where they may not be read.
func (q *question) revisions(ctx context.Context, m common.Maker) (all []revision) {
	made := func(o metav1.Object) bool {
		owner := metav1.GetControllerOfNoCopy(o)
		return owner != nil && owner.Kind == m.Kind && owner.Name == m.Name
	}
	switch m.Kind {
	case "Deployment":
		for r := range pointers(readable[appsv1.ReplicaSet](ctx, q, m.Namespace)) {
			if number, err := strconv.ParseInt(r.Annotations["deployment.kubernetes.io/revision"], 10, 64); err == nil && made(r) {
				all = append(all, revision{number, r.Labels["pod-template-hash"], r.Spec.Template})
			}
		}
	case "StatefulSet", "DaemonSet":
		for r := range pointers(readable[appsv1.ControllerRevision](ctx, q, m.Namespace)) {
			if made(r) {
				all = append(all, revisionOf(r, m)...)
			}
		}
	}
	return all
}

// revisionOf is that of a StatefulSet or DaemonSet, a patch that replaces the template; none where it cannot be read.
func revisionOf(r *appsv1.ControllerRevision, m common.Maker) []revision {
	var patch struct {
		Spec struct {
			Template v1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}
	hash := r.Name // which a StatefulSet puts on its pods; a DaemonSet the end of it
	if m.Kind == "DaemonSet" {
		hash = strings.TrimPrefix(r.Name, m.Name+"-")
	}
	if json.Unmarshal(r.Data.Raw, &patch) != nil {
		return nil
	}
	return []revision{{r.Revision, hash, patch.Spec.Template}}
}
