package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/fromapi"
	"whylet.dev/whylet/why/serve"
)

// fromAll puts a question to every node. The answers are those of the nodes that have
// one; the error names those that failed otherwise than by knowing nothing.
func fromAll[T any](ctx context.Context, q *question, about serve.Question) ([]T, error) {
	list, err := q.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	all, errs := make([]T, len(list.Items)), make([]error, len(list.Items))
	name := func(i int) string { return list.Items[i].Name }
	each(all, func(i int, _ T) { all[i], errs[i] = fromNode[T](ctx, q, name(i), about) })
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
	found, err := q.remembered(ctx, q.about(name))
	if len(found) > 0 {
		newest := slices.MaxFunc(found, func(a, b answer.Answer) int { return a.Journal.From.Compare(b.Journal.From) })
		return []answer.Answer{newest}, nil
	}
	if a, ok := q.departedFromAPI(ctx, name); ok {
		return []answer.Answer{a}, nil
	}
	return nil, errors.Join(err, q.notKnown(ctx, name))
}

// departedFromAPI answers about a pod that is gone by what the API server still has of it.
func (q *question) departedFromAPI(ctx context.Context, name string) (answer.Answer, bool) {
	if q.options.Front != nil {
		return answer.Answer{}, false // it remembers, or there was none
	}
	list, err := q.client.CoreV1().Events(q.space).List(ctx, metav1.ListOptions{})
	if err != nil {
		return answer.Answer{}, false
	}
	return fromapi.Departed(q.space, name, list.Items, q.now(), q.aboutPod("nobody remembers the pod"))
}

// remembered asks the front, or all nodes, about one pod that is gone.
func (q *question) remembered(ctx context.Context, about serve.Question) ([]answer.Answer, error) {
	if q.options.Front != nil {
		return q.options.Front.Departed(ctx, about)
	}
	return fromAll[answer.Answer](ctx, q, about)
}

// notKnown names pods with names like it.
func (q *question) notKnown(ctx context.Context, name string) error {
	e := &serve.NotKnownError{Namespace: q.space, Name: name}
	space := ""
	if q.options.Within {
		space = q.space
	}
	pods, err := q.client.CoreV1().Pods(space).List(ctx, metav1.ListOptions{Limit: 5000})
	if err != nil {
		// Who may not list everywhere may know what is in the namespace.
		if pods, err = q.client.CoreV1().Pods(q.space).List(ctx, metav1.ListOptions{Limit: 5000}); err != nil {
			return e
		}
	}
	for _, p := range pods.Items {
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
	if q.options.Front != nil {
		all, _ := q.options.Front.Departed(ctx, about)
		return all
	}
	lists, _ := fromAll[serve.List](ctx, q, about)
	var all []answer.Answer
	for _, list := range lists {
		all = append(all, list.Items...)
	}
	return all
}
