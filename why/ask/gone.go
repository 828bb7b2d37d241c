package ask

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/fromapi"
	"whylet.dev/whylet/why/kubectl"
	"whylet.dev/whylet/why/prose"
	"whylet.dev/whylet/why/serve"
)

// remembered asks the node that remembers a pod: its own, by its UID, or of one that is gone, any.
func remembered[T any](ctx context.Context, q *question, about serve.Question, ask func(node string, uid types.UID) (T, error)) (none T, err error) {
	pod, err := oneOf[v1.Pod](ctx, q, q.space, about.Name)
	switch {
	case err == nil && pod.Spec.NodeName == "":
		return none, fmt.Errorf("pod %s/%s has no node yet, so nothing was recorded of it", q.space, about.Name)
	case err == nil && (about.UID == "" || about.UID == pod.UID):
		return ask(pod.Spec.NodeName, pod.UID)
	case err != nil && !apierrors.IsNotFound(err):
		return none, fmt.Errorf("reading pod %s/%s: %w", q.space, about.Name, err)
	}
	gone := func(node string) (T, error) { return ask(node, about.UID) }
	if q.options.Front != nil {
		if node, ok := q.options.Front.Where(ctx, about); ok {
			return gone(node)
		}
		return none, q.notKnown(ctx, about.Name)
	}
	found, err := fromAll(ctx, q, gone)
	if len(found) > 0 {
		return found[0], nil
	}
	return none, errors.Join(err, q.notKnown(ctx, about.Name))
}

// fromAll asks every node. The answers are those of the nodes that have
// one; the error names those that failed otherwise than by knowing nothing.
func fromAll[T any](ctx context.Context, q *question, ask func(node string) (T, error)) ([]T, error) {
	nodes, err := allOf[v1.Node](ctx, q, "")
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	all, errs := make([]T, len(nodes)), make([]error, len(nodes))
	name := func(i int) string { return nodes[i].Name }
	each(all, func(i int, _ T) { all[i], errs[i] = ask(name(i)) })
	var found []T
	for i, err := range errs {
		switch {
		case err == nil:
			found = append(found, all[i])
		case apierrors.IsNotFound(err):
			errs[i] = nil
		}
	}
	return found, partial(errs, func(i int) string { return "node " + name(i) })
}

// departed asks all nodes about a pod that does not exist any more.
func (q *question) departed(ctx context.Context, name string) ([]answer.Answer, error) {
	var found []answer.Answer
	var err error
	if about := q.about(name); q.options.Front != nil {
		found, err = q.options.Front.Departed(ctx, about)
	} else {
		found, err = fromAll(ctx, q, func(node string) (answer.Answer, error) { return fromNode[answer.Answer](ctx, q, node, about) })
	}
	if len(found) > 0 {
		newest := slices.MaxFunc(found, func(a, b answer.Answer) int { return a.Journal.From.Compare(b.Journal.From) })
		q.existing(ctx, &newest)
		return []answer.Answer{newest}, nil
	}
	if a, ok := q.departedFromAPI(ctx, name); ok {
		q.existing(ctx, &a)
		return []answer.Answer{a}, nil
	}
	known := q.notKnown(ctx, name)
	if len(known.Near) == 0 {
		if e := q.notThere(ctx, Target{Kind: "pod", Name: name}); len(e.Meant) > 0 || e.NoNamespace {
			return nil, errors.Join(err, e)
		}
	}
	return nil, errors.Join(err, known)
}

// podSuffix fits what follows the name of a workload in those of its pods, by kind.
var podSuffix = map[string]string{
	"Deployment": "-[a-z0-9]+-[a-z0-9]{5}", "ReplicaSet": "-[a-z0-9]{5}", "DaemonSet": "-[a-z0-9]{5}",
	"Job": `(?:-\d+)?-[a-z0-9]{5}`, "StatefulSet": `-\d+`,
}

// forgotten answers about a workload that does not exist by its pods, where somebody remembers them or
// events tell of them.
func (q *question) forgotten(ctx context.Context, t Target) ([]answer.Answer, error) {
	e := q.notThere(ctx, t)
	known, _ := kindNamed(t.Kind)
	kind, suffix := known.Kind, podSuffix[known.Kind]
	if suffix == "" {
		return nil, e
	}
	events, err := q.allEvents(ctx, q.space)
	if err != nil {
		return nil, e
	}
	living, err := allOf[v1.Pod](ctx, q, q.space)
	if err != nil {
		return nil, e
	}
	exists := func(name string) bool {
		return slices.ContainsFunc(living, func(p v1.Pod) bool { return p.Name == name })
	}
	itsPod := regexp.MustCompile("^" + regexp.QuoteMeta(t.Name) + suffix + "$")
	var uid types.UID
	var pod v1.Event // the newest of a pod of it
	for _, one := range events {
		switch about := one.InvolvedObject; {
		case about.Kind == kind && about.Name == t.Name:
			uid = about.UID
		case about.Kind == "Pod" && itsPod.MatchString(about.Name) && !exists(about.Name) && !one.LastTimestamp.Before(&pod.LastTimestamp):
			pod = one
		}
	}
	var all []answer.Answer
	if uid != "" {
		all = q.gone(ctx, answer.Subject{Kind: kind, Namespace: q.space, Name: t.Name, UID: uid})
	}
	if a, ok := q.departedFromAPI(ctx, pod.InvolvedObject.Name); ok && len(all) == 0 && uid != "" {
		all = append(all, a)
	}
	if len(all) == 0 {
		return nil, e
	}
	answer.WorstFirst(all)
	return all[:1], nil
}

// departedFromAPI answers about a pod that is gone by what the API server still has of it.
func (q *question) departedFromAPI(ctx context.Context, name string) (answer.Answer, bool) {
	if q.options.Front != nil {
		return answer.Answer{}, false // it remembers, or there was none
	}
	events, err := q.allEvents(ctx, q.space)
	if err != nil {
		return answer.Answer{}, false
	}
	return fromapi.Departed(q.space, name, events, q.now(), q.aboutPod("no agent has seen the pod"))
}

// notKnown names pods with names like it.
func (q *question) notKnown(ctx context.Context, name string) *serve.NotKnownError {
	e := &serve.NotKnownError{Namespace: q.space, Name: name}
	space := prose.Whether(q.options.Within, q.space, "")
	list, err := q.listOnce(ctx, kindFor[v1.Pod](), space, metav1.ListOptions{Limit: mostKept})
	if err != nil {
		// Who may not list everywhere may know what is in the namespace.
		if list, err = q.listOnce(ctx, kindFor[v1.Pod](), q.space, metav1.ListOptions{Limit: mostKept}); err != nil {
			return e
		}
	}
	for _, p := range items[v1.Pod](list) {
		if len(e.Near) < 5 && (p.Name == name || p.Namespace == q.space && serve.Alike(p.Name, name)) {
			e.Near = append(e.Near, p.Namespace+"/"+p.Name)
		}
	}
	return e
}

// gone asks all nodes about the pods of a controller that do not exist any more. A node
// that cannot be asked leaves its own out.
func (q *question) gone(ctx context.Context, owner answer.Subject) []answer.Answer {
	about := q.about(owner.Name)
	about.Owner = owner.UID
	var all []answer.Answer
	switch {
	case q.options.Front != nil:
		all, _ = q.options.Front.Departed(ctx, about)
	case q.given == nil || len(q.nodes()) <= fewNodes: // a question about everything cannot ask many nodes about each Job
		lists, _ := fromAll(ctx, q, func(node string) (serve.List, error) { return fromNode[serve.List](ctx, q, node, about) })
		for _, list := range lists {
			all = append(all, list.Items...)
		}
	}
	for i := range all {
		kubectl.WithoutPod(&all[i])
	}
	return all
}

// existing takes out of an answer about a pod that is gone the commands about what does not exist any more: the
// pod, and the workload where that is gone, too.
func (q *question) existing(ctx context.Context, a *answer.Answer) {
	kubectl.WithoutPod(a)
	gone := map[Target]bool{}
	for i := range a.Verdicts {
		for j := range a.Verdicts[i].Fixes {
			f := &a.Verdicts[i].Fixes[j]
			kind, name, ok := kubectl.Edited(*f)
			kind, known := Kind(kind)
			if !ok || !known || kind == "pod" || kind == "node" || kind == "service" || kind == "cronjob" {
				continue
			}
			t := Target{Kind: kind, Name: name}
			if _, asked := gone[t]; !asked {
				_, err := q.behind(ctx, t)
				gone[t] = apierrors.IsNotFound(err)
			}
			if gone[t] {
				f.Command = ""
			}
		}
	}
}

// leftWithin is how long ago a pod went that a question about everything tells of, mostLeft how many such pods are looked at,
// and mostAskedOf about how many a front is asked, which needs no request for that.
const leftWithin, mostLeft, mostAskedOf = 10 * time.Minute, 50, 200

// left tells of pods that went lately and were not well, by who remembers them or by their events.
func (s *survey) left(ctx context.Context) {
	if s.options.Front != nil {
		s.leftFront(ctx)
		return
	}
	events := itemsOf[v1.Event](s.lists, "event")
	there := map[[2]string]bool{}
	for _, p := range itemsOf[v1.Pod](s.lists, "pod") {
		there[[2]string{p.Namespace, p.Name}] = true
	}
	exists := func(namespace, name string) bool { return there[[2]string{namespace, name}] }
	if len(events) == 0 || !s.isWhole("pod") {
		return
	}
	gone := fromapi.LeftSince(events, exists, s.now().Add(-leftWithin))
	gone = gone[:min(len(gone), mostLeft)]
	found := make([]answer.Answer, len(gone))
	each(gone, func(i int, one fromapi.Left) { found[i] = s.leftPod(ctx, one, events) })
	s.found = append(s.found, slices.DeleteFunc(found, func(a answer.Answer) bool { return !cluster.LeftBadly(&a) })...)
}

// leftFront asks the front about pods that warnings tell of: it knows which are gone.
func (s *survey) leftFront(ctx context.Context) {
	warnings := fields.Set{"type": v1.EventTypeWarning, "involvedObject.kind": "Pod"}
	var events []*v1.Event
	list, _ := someOf[v1.Event](ctx, s.question, s.space, metav1.ListOptions{FieldSelector: warnings.String(), Limit: mostKept})
	for i := range list {
		events = append(events, &list[i])
	}
	told := fromapi.LeftSince(events, func(string, string) bool { return false }, s.now().Add(-leftWithin))
	for _, one := range told[:min(len(told), mostAskedOf)] {
		about := s.in(one.Namespace).about(one.Name)
		about.UID = one.UID
		found, err := s.options.Front.Departed(ctx, about)
		if err != nil {
			continue
		}
		for _, a := range found {
			if a.Subject.UID == one.UID && cluster.LeftBadly(&a) {
				s.found = append(s.found, a)
			}
		}
	}
}

// leftPod answers about a pod that went.
func (s *survey) leftPod(ctx context.Context, one fromapi.Left, events []*v1.Event) answer.Answer {
	in := s.in(one.Namespace)
	if one.Node != "" {
		about := in.about(one.Name)
		about.UID = one.UID
		if a, err := fromNode[answer.Answer](ctx, in, one.Node, about); err == nil && a.Subject.UID == one.UID {
			in.existing(ctx, &a)
			return a
		}
	}
	var own []v1.Event
	for _, e := range events {
		if e.Namespace == one.Namespace && (e.InvolvedObject.Kind != "Pod" || e.InvolvedObject.Name == one.Name) {
			own = append(own, *e)
		}
	}
	a, ok := fromapi.Departed(one.Namespace, one.Name, own, s.now(), s.aboutPod("no agent has seen the pod"))
	if ok {
		in.existing(ctx, &a)
	}
	return a
}
