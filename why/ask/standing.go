package ask

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"whylet.dev/whylet/why/answer"
)

// mostUnspoken is of how many nodes without an agent the pods are answered for from the
// API: the rest are named as missing.
const mostUnspoken = 20

// standing answers about everything by what the nodes told last, so that no node is
// asked; pods without a node, those of nodes without an agent, and what is no pod come from the API.
func (q *question) standing(ctx context.Context) ([]answer.Answer, error) {
	all, well, missing, err := q.options.Front.Standing(ctx, q.space)
	if err != nil {
		return nil, err
	}
	typed(all)
	waiting, err := q.podsOn(ctx, q.space, "")
	if err != nil {
		return nil, fmt.Errorf("listing the pods without a node: %w", err)
	}
	pending, _ := q.pods(ctx, waiting) // which asks no node
	all = append(all, pending...)
	asked := missing[:min(len(missing), mostUnspoken)]
	lists, errs := make([][]answer.Answer, len(asked)), make([]error, len(missing))
	l, err := q.listed(ctx, metav1.ListOptions{ResourceVersion: "0"}, surveyed...) // and no pods: there may be many
	if err != nil {
		return nil, err
	}
	l.kinds[unscheduled] = &v1.PodList{Items: waiting}
	each(asked, func(i int, node string) { lists[i], errs[i] = q.unspoken(ctx, node) })
	for i := len(asked); i < len(missing); i++ {
		q.unheard(missing[i])
		errs[i] = &AwayError{"nobody on it remembers"}
	}
	for _, list := range lists {
		all = append(all, list...)
	}
	q.inCommon(ctx, all, waiting)
	others, failed := q.survey(ctx, l, all)
	all = append(all, others...)
	answer.WorstFirst(all)
	if well > 0 {
		a := answer.New(answer.Subject{Kind: "Namespace", Name: q.space}, q.now(), answer.Coverage{Complete: true})
		a.Well = well
		all = append(all, a)
	}
	return all, joined(partial(errs, func(i int) string { return "node " + missing[i] }), failed)
}

// podsOn returns the pods of a namespace, "" for all, that are on a node; those without one for "".
func (q *question) podsOn(ctx context.Context, space, node string) ([]v1.Pod, error) {
	return someOf[v1.Pod](ctx, q, space, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node).String(), ResourceVersion: "0"})
}

// unspoken answers about the pods of a node that nobody speaks for.
func (q *question) unspoken(ctx context.Context, node string) ([]answer.Answer, error) {
	pods, err := q.podsOn(ctx, q.space, node)
	if err != nil {
		return nil, fmt.Errorf("listing the pods of node %s: %w", node, err)
	}
	q.unheard(node)
	return q.eachFromAPI(ctx, pods, fmt.Sprintf("no agent on node %s answered", node)), nil
}
