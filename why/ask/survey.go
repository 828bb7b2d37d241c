package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
)

// surveyed are the kinds that a question about everything lists beside pods and events.
var surveyed = []string{"node", "deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob", "service", "persistentvolumeclaim"}

// workloads are those whose status tells whether they are short of pods.
var workloads = []string{"deployment", "replicaset", "statefulset", "daemonset", "job", "cronjob"}

// unscheduled stands in lists for the pods without a node, where no others were listed.
const unscheduled = "unscheduled pod"

// mostSurveyed is how many workloads and how many Services are asked about for one question.
const mostSurveyed = 200

// survey asks the API about what no pod tells of: nodes that are lost, workloads that are short of pods, and Services
// without endpoints.
type survey struct {
	*question
	lists
	pods  []answer.Answer // which get whom they take down
	found []answer.Answer
	more  int          // objects that were not asked about
	late  atomic.Int32 // objects about which no answer came in time
}

// survey returns the answers about what is wrong beside pods. It notes with the answers about pods whom they take down.
func (q *question) survey(ctx context.Context, l lists, pods []answer.Answer) ([]answer.Answer, error) {
	asked := *q
	asked.given, asked.top = map[types.UID]answer.Answer{}, false
	for _, a := range pods {
		asked.given[a.Subject.UID] = a
	}
	s := &survey{question: &asked, lists: l, pods: pods}
	defer s.victims()
	s.nodesLost()
	if l.isWhole("pod") || l["pod"] == nil { // in a dump without all pods none is known to be missing
		s.workloads(ctx)
		s.services(ctx)
		s.claims(ctx)
		s.left(ctx)
	}
	var missing []Missing
	if s.more > 0 {
		missing = append(missing, Missing{Who: fmt.Sprintf("%d more workloads and Services", s.more), Err: fmt.Errorf("too many are short of pods (%d were asked about)", s.most())})
	}
	if n := s.late.Load(); n > 0 {
		missing = append(missing, Missing{Who: fmt.Sprintf("%d workloads and Services", n), Err: errors.New("the API server did not answer in time")})
	}
	if len(missing) > 0 {
		return s.found, &PartialError{Missing: missing}
	}
	return s.found, nil
}

// nodesLost answers about nodes that have stopped reporting, or report that they are not Ready, and have pods of the
// namespace.
func (s *survey) nodesLost() {
	if s.options.Within {
		return
	}
	on := map[types.UID]string{}
	has := map[string]bool{}
	for _, p := range itemsOf[v1.Pod](s.lists, "pod") {
		on[p.UID], has[p.Spec.NodeName] = p.Spec.NodeName, true
	}
	for _, n := range itemsOf[v1.Node](s.lists, "node") {
		if !cluster.IsLost(n) || s.space != "" && !has[n.Name] {
			continue
		}
		a, _ := cluster.NodeLostAnswer(&v1.Pod{Spec: v1.PodSpec{NodeName: n.Name}}, n, s.now())
		a.Subject = answer.Subject{Kind: "Node", Name: n.Name, UID: n.UID}
		for i := range s.pods {
			if on[s.pods[i].Subject.UID] == n.Name {
				bound(&a, &s.pods[i])
			}
		}
		s.found = append(s.found, a)
	}
}

// bound notes with a lost node a pod of which no more is known than that.
func bound(node, pod *answer.Answer) {
	if i := slices.IndexFunc(pod.Verdicts, func(v answer.Verdict) bool { return v.Rule == "node-not-ready" }); i >= 0 {
		by := fmt.Sprintf("it is bound to node %s", node.Subject.Name)
		takesDown(node, 0, cluster.Suffers(podOf(pod.Subject), pod, i, answer.Hop{By: by}))
	}
}

func podOf(s answer.Subject) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, UID: s.UID}}
}

// workloads asks about those that are short of pods.
func (s *survey) workloads(ctx context.Context) {
	now := s.now()
	var short []Target
	for _, kind := range workloads {
		for _, o := range objects(s.lists[kind]) {
			if cluster.IsShort(o) && !cluster.IsNew(o, now) {
				short = append(short, Target{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName()})
			}
		}
	}
	for _, a := range s.about(ctx, short) {
		if len(a) > 0 && own(&a[0]) {
			s.found = append(s.found, a[0])
		}
	}
}

// most is about how many objects of a kind one question asks: fewer at a front, which answers for everybody.
func (s *survey) most() int {
	if s.options.AtDoor {
		return mostSurveyed / 5
	}
	return mostSurveyed
}

// about asks about some objects as if each was asked about alone, and returns the answers in their order. What cannot be
// read has none.
func (s *survey) about(ctx context.Context, targets []Target) [][]answer.Answer {
	if n := len(targets) - s.most(); n > 0 {
		s.more += n
		targets = targets[:s.most()]
	}
	all := make([][]answer.Answer, len(targets))
	each(targets, func(i int, t Target) {
		var err error
		if all[i], err = s.in(t.Namespace).workload(ctx, t); err != nil && ctx.Err() != nil {
			s.late.Add(1)
		}
	})
	return all
}

// own leaves in an answer what is wrong with the object itself, and reports whether anything is: what its pods suffer
// from is told of them.
func own(a *answer.Answer) bool {
	before := *a
	a.Symptoms, a.Verdicts, a.Well = nil, nil, 0
	for i, sym := range before.Symptoms {
		if v := before.Verdicts[i]; sym.Pod == "" && !answer.WellOrDone(sym, v) {
			a.Symptoms, a.Verdicts = append(a.Symptoms, sym), append(a.Verdicts, v)
		}
	}
	return len(a.Symptoms) > 0
}

// services asks about those that no Ready pod stands behind. One whose pods are told of, or what is to make them, is
// noted there.
func (s *survey) services(ctx context.Context) {
	var closed []*v1.Service
	var targets []Target
	is := s.closed(ctx)
	for _, o := range itemsOf[v1.Service](s.lists, "service") {
		if len(o.Spec.Selector) > 0 && !cluster.IsNew(o, s.now()) && is(o) && !s.lacksWorkload(o) {
			closed = append(closed, o)
			targets = append(targets, Target{Kind: "service", Namespace: o.Namespace, Name: o.Name})
		}
	}
	for i, all := range s.about(ctx, targets) {
		if len(all) == 0 {
			continue
		}
		a := all[0]
		if own(&all[0]) {
			s.found = append(s.found, all[0])
		} else if a.Well == 0 {
			s.unready(closed[i], a)
		}
	}
}

// closed reports of a Service whether no Ready pod may stand behind it: by its pods, or where they were not listed, by
// the workloads that it selects.
func (s *survey) closed(ctx context.Context) func(*v1.Service) bool {
	ready := map[string][]labels.Set{}
	for _, kind := range workloads {
		for _, o := range objects(s.lists[kind]) {
			if template, n := cluster.TemplateOf(o); n > 0 {
				ready[o.GetNamespace()] = append(ready[o.GetNamespace()], template.Labels)
			}
		}
	}
	return func(o *v1.Service) bool {
		if s.lists["pod"] != nil {
			return cluster.Closed(o, cluster.Selected(o, readable[v1.Pod](ctx, s.question, o.Namespace)))
		}
		selector := labels.SelectorFromSet(o.Spec.Selector)
		return !slices.ContainsFunc(ready[o.Namespace], func(l labels.Set) bool { return selector.Matches(l) })
	}
}

// lacksWorkload notes a Service with the workload that has not made the pods which it selects, if that is told of.
func (s *survey) lacksWorkload(o *v1.Service) bool {
	selector := labels.SelectorFromSet(o.Spec.Selector)
	for i := range s.found {
		of := s.found[i].Subject
		if of.Namespace != o.Namespace {
			continue
		}
		for _, w := range objects(s.lists[strings.ToLower(of.Kind)]) {
			if template, n := cluster.TemplateOf(w); template != nil && w.GetUID() == of.UID && w.GetName() == of.Name && n == 0 && selector.Matches(labels.Set(template.Labels)) {
				takesDown(&s.found[i], 0, cluster.ClosedService(o))
				return true
			}
		}
	}
	return false
}

// unready notes a Service with the first of its pods, none of which is Ready.
func (s *survey) unready(o *v1.Service, a answer.Answer) {
	for i := range s.pods {
		of := s.pods[i].Subject
		if of.Namespace != o.Namespace || !slices.ContainsFunc(a.Symptoms, func(sym answer.Symptom) bool { return sym.Pod == of.Name }) {
			continue
		}
		if root := cluster.Root(&s.pods[i]); root >= 0 {
			takesDown(&s.pods[i], root, cluster.ClosedService(o))
			return
		}
	}
}

func takesDown(a *answer.Answer, i int, hop answer.Hop) {
	a.Verdicts[i].TakesDown = append(a.Verdicts[i].TakesDown, hop)
}

// claims tells of volume claims that are not bound and that no pod waits for: a pod that does tells of them.
func (s *survey) claims(ctx context.Context) {
	used := map[[2]string]bool{}
	for _, p := range slices.Concat(itemsOf[v1.Pod](s.lists, "pod"), itemsOf[v1.Pod](s.lists, unscheduled)) {
		for _, name := range cluster.ClaimNames(p) {
			used[[2]string{p.Namespace, name}] = true
		}
	}
	for _, c := range itemsOf[v1.PersistentVolumeClaim](s.lists, "persistentvolumeclaim") {
		if c.Status.Phase == v1.ClaimBound || used[[2]string{c.Namespace, c.Name}] || cluster.IsNew(c, s.now()) {
			continue
		}
		with := podOf(answer.Subject{Namespace: c.Namespace})
		with.Spec.Volumes = []v1.Volume{{VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name}}}}
		if a, ok := cluster.ClaimAnswer(c, s.storage(ctx, with), s.now()); ok {
			s.found = append(s.found, a)
		}
	}
}

// victims notes each pod whose trouble leads to another pod or to a Service with that one, if that is told of.
func (s *survey) victims() {
	for a := range pointers(s.pods) {
		for j, v := range a.Verdicts {
			if len(v.Hops) == 0 {
				continue
			}
			last := v.Hops[len(v.Hops)-1]
			if of, root := s.rootOf(v, last); of != nil {
				takesDown(of, root, cluster.Suffers(podOf(a.Subject), a, j, last))
			}
		}
	}
}

// rootOf is the answer about what a verdict leads to, and the verdict there; nil where that is not told of.
func (s *survey) rootOf(v answer.Verdict, last answer.Hop) (*answer.Answer, int) {
	kind, name, all := "Pod", v.Pod, s.pods
	if name == "" {
		kind, name, all = "Service", last.Service, s.found
	}
	for of := range pointers(all) {
		if of.Subject.Kind != kind || of.Subject.Namespace+"/"+of.Subject.Name != name {
			continue
		}
		if root := cluster.Trouble(of); root >= 0 {
			return of, root
		}
	}
	return nil, 0
}

// mostSufferers is how many pods are asked whether they fail because of another one.
const mostSufferers = 4

// sufferers tells of the pods of its namespace that fail because of this one: they are not
// well, and their waiting leads to it. Only whom a Service leads to is asked by others.
func (q *question) sufferers(ctx context.Context, pod *v1.Pod, a *answer.Answer) {
	i := cluster.Root(a)
	if i < 0 || q.options.Container != "" || a.Verdicts[i].Pod != "" || a.Verdicts[i].Cause == answer.CauseUnknown {
		return
	}
	if !slices.ContainsFunc(readable[v1.Service](ctx, q, pod.Namespace), func(s v1.Service) bool { return cluster.Leads(&s, pod) }) {
		return
	}
	unwell := slices.DeleteFunc(slices.Clone(readable[v1.Pod](ctx, q, pod.Namespace)), func(p v1.Pod) bool { return p.UID == pod.UID || cluster.LooksWell(&p) })
	unwell = unwell[:min(len(unwell), mostSufferers)]
	all := make([][]answer.Hop, len(unwell))
	each(unwell, func(n int, _ v1.Pod) { all[n] = q.because(ctx, &unwell[n], pod) })
	a.Verdicts[i].TakesDown = slices.Concat(all...)
}

// because is how a pod comes to fail for another one; nothing where it does not.
func (q *question) because(ctx context.Context, sufferer, pod *v1.Pod) []answer.Hop {
	a, err := q.pod(ctx, sufferer)
	if err != nil {
		return nil
	}
	q.follow(ctx, sufferer, &a)
	for i, v := range a.Verdicts {
		for _, h := range v.Hops {
			if h.Pod == cluster.Key(pod) {
				return []answer.Hop{cluster.Suffers(sufferer, &a, i, h)}
			}
		}
	}
	return nil
}
