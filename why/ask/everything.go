package ask

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/fromapi"
	"whylet.dev/whylet/why/serve"
)

// everything asks the nodes about their pods, and the API about the rest.
func (q *question) everything(ctx context.Context) ([]answer.Answer, error) {
	l, err := q.listed(ctx, metav1.ListOptions{}, append([]string{"pod", "event"}, surveyed...)...)
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	var waiting, pods []v1.Pod
	on := map[string][]v1.Pod{}
	for _, p := range itemsOf[v1.Pod](l, "pod") {
		pods = append(pods, *p)
		if p.Spec.NodeName == "" {
			waiting = append(waiting, *p)
		} else {
			on[p.Spec.NodeName] = append(on[p.Spec.NodeName], *p)
		}
	}
	nodes := slices.Sorted(maps.Keys(on))
	all, _ := q.pods(ctx, waiting) // which asks no node
	lists, errs := make([][]answer.Answer, len(nodes)), make([]error, len(nodes))
	each(nodes, func(i int, node string) { lists[i], errs[i] = q.onNode(ctx, node, on[node]) })
	for i, list := range lists {
		for a, pod := range withPods(list, on[nodes[i]]) {
			cluster.StillThere(a, pod)
		}
		all = append(all, list...)
	}
	if q.options.Now != nil || q.space != "" && !q.options.Watching {
		q.heard(ctx, pods, all, mostHeardOf)
	}
	for a, pod := range withPods(all, pods) {
		cluster.KeptOpen(a, pod)
	}
	q.followed(ctx, pods, all, mostFollowed, func(a *answer.Answer) bool {
		root := cluster.Trouble(a)
		return root >= 0 && cluster.MayLead(a.Verdicts[root])
	})
	q.inCommon(ctx, all, pods)
	failed := partial(errs, func(i int) string { return "node " + nodes[i] })
	others, err := q.survey(ctx, l, all)
	all = append(all, others...)
	answer.WorstFirst(all)
	return all, joined(failed, err)
}

// mostFollowed is how many pods are followed to whom they wait for, of all that are not well.
const mostFollowed = 8

// followed goes on where the answers about pods end at another's door: of those that wait, as far as there are not too many.
func (q *question) followed(ctx context.Context, pods []v1.Pod, answers []answer.Answer, most int, waits func(*answer.Answer) bool) {
	eachPod(pods, answers, most, func(a *answer.Answer, _ *v1.Pod) bool { return waits(a) }, func(a *answer.Answer, pod *v1.Pod) { q.follow(ctx, pod, a) })
}

// eachPod calls do, several at a time, for the first answers that fit and the pods that they are about.
func eachPod(pods []v1.Pod, answers []answer.Answer, most int, fits func(*answer.Answer, *v1.Pod) bool, do func(*answer.Answer, *v1.Pod)) {
	var of []*answer.Answer
	var about []*v1.Pod
	for a, pod := range withPods(answers, pods) {
		if len(of) < most && fits(a, pod) {
			of, about = append(of, a), append(about, pod)
		}
	}
	each(of, func(i int, a *answer.Answer) { do(a, about[i]) })
}

// joined is one error of who did not answer.
func joined(a, b error) error {
	var one, two *PartialError
	if errors.As(a, &one) && errors.As(b, &two) {
		return &PartialError{Missing: slices.Concat(one.Missing, two.Missing)}
	}
	return errors.Join(a, b)
}

// lostWithin is how long a node may take with an answer that has stopped reporting.
const lostWithin = 3 * time.Second

// onNode asks a node about its pods. Those of a node that cannot be reached are answered from the API.
func (q *question) onNode(ctx context.Context, name string, pods []v1.Pod) ([]answer.Answer, error) {
	var node *v1.Node
	nodes := q.nodes()
	if i := slices.IndexFunc(nodes, func(n v1.Node) bool { return n.Name == name }); i >= 0 {
		node = &nodes[i]
	}
	if len(nodes) == 0 || !cluster.IsLost(node) {
		list, err := q.listOf(ctx, name, q.space, pods)
		switch {
		case err == nil || ctx.Err() != nil:
			return list, err
		case isUnreachable(err):
			list = q.eachFromAPI(ctx, pods, fmt.Sprintf("the API server cannot reach node %s", name))
			return append(list, cluster.NodeUnreachable(name, node, reasonOf(err), q.now())), nil
		}
		return q.eachFromAPI(ctx, pods, fmt.Sprintf("node %s gives no answer", name)), err
	}
	short, cancel := context.WithTimeout(ctx, lostWithin)
	defer cancel()
	about := q.about("")
	about.Namespace = q.space
	if list, err := fromNode[serve.List](short, q, name, about); err == nil {
		return list.Items, nil
	}
	var all []answer.Answer
	for i := range pods {
		if phase := pods[i].Status.Phase; phase == v1.PodSucceeded || phase == v1.PodFailed {
			continue // it ended before
		}
		a, _ := cluster.NodeLostAnswer(&pods[i], node, q.now())
		all = append(all, a)
	}
	return all, nil
}

// isUnreachable reports whether an error says that the API server cannot reach a node.
func isUnreachable(err error) bool {
	var status apierrors.APIStatus
	return errors.Is(err, context.DeadlineExceeded) || apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) ||
		errors.As(err, &status) && (status.Status().Code == 502 || status.Status().Code == 504)
}

// fromGiven returns the answer about a pod that there is already, or what the API shows of one that was told nothing of.
func (q *question) fromGiven(ctx context.Context, pod *v1.Pod) answer.Answer {
	if a, ok := q.given[pod.UID]; ok && pod.UID != "" {
		a.Symptoms, a.Verdicts = slices.Clone(a.Symptoms), slices.Clone(a.Verdicts)
		return a
	}
	const reason = "its node says nothing of it"
	if cluster.LooksWell(pod) {
		return fromapi.Explain(fromapi.Seen{Pod: pod, Now: q.now()}, q.aboutPod(reason))
	}
	return q.fromAPI(ctx, pod, q.eventsOf(ctx, pod), reason)
}

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
	l[unscheduled] = &v1.PodList{Items: waiting}
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
