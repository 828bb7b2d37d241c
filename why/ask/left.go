package ask

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/fromapi"
)

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
	list, _ := someOf[v1.Event](ctx, s.question, s.lists.space, metav1.ListOptions{FieldSelector: warnings.String(), Limit: mostKept})
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
