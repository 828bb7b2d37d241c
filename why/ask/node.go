package ask

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/fromapi"
	"whylet.dev/whylet/why/serve"
)

// node asks about a node: what the API server has of it, what it remembers itself,
// and everything on it.
func (q *question) node(ctx context.Context, name string) ([]answer.Answer, error) {
	node, err := oneOf[v1.Node](ctx, q, "", name)
	if apierrors.IsNotFound(err) {
		return nil, q.notThere(ctx, Target{Kind: "node", Name: name})
	}
	if err != nil {
		return nil, fmt.Errorf("reading node %s: %w", name, err)
	}
	pods, err := q.podsOn(ctx, metav1.NamespaceAll, name)
	if err != nil {
		return nil, fmt.Errorf("listing the pods of node %s: %w", name, err)
	}
	k := cluster.NodeCase{Node: node, Pods: pods}
	now, known := q.now(), answer.Coverage{Complete: true}
	if _, lost := cluster.NodeLostAnswer(&v1.Pod{Spec: v1.PodSpec{NodeName: name}}, node, now); lost {
		a := cluster.NodeAnswer(k, known, now)
		q.networkPlugin(ctx, node, pods, &a)
		return []answer.Answer{a}, nil
	}
	// What cannot be asked leaves the answer with less in it, and is told.
	var own answer.Answer
	asked := []string{" about its pods", " about itself", " what its pods use"}
	errs := make([]error, len(asked))
	each(asked, func(i int, _ string) {
		switch i {
		case 0:
			k.Each, errs[i] = q.listOf(ctx, name, metav1.NamespaceAll, pods)
		case 1:
			about := q.about(name)
			about.Node = true
			own, errs[i] = fromNode[answer.Answer](ctx, q, name, about)
		case 2:
			k.Usage, errs[i] = q.usage(ctx, name)
		}
	})
	if reason, ok := q.absent(name, errs[1]); ok {
		errs[1], known = nil, answer.Coverage{Gaps: []answer.Gap{{Reason: fromapi.Sight + reason}}}
	} else if errs[1] == nil {
		k.Memory, known = &own, answer.Coverage{From: own.Journal.From, Complete: own.Journal.Complete}
	}
	return []answer.Answer{cluster.NodeAnswer(k, known, now)}, partial(errs, func(i int) string { return "node " + name + asked[i] })
}

// networkPlugin goes on from a node that is not Ready for want of a network to the pod on it that is to give it one.
func (q *question) networkPlugin(ctx context.Context, node *v1.Node, pods []v1.Pod, a *answer.Answer) {
	if !cluster.LacksNetwork(node) {
		return
	}
	answers, err := q.pods(ctx, cluster.NetworkPods(pods))
	if err != nil || len(answers) != 1 {
		return // of several nothing shows which it is
	}
	where := answers[0].Subject.Namespace + "/" + answers[0].Subject.Name
	if hop := cluster.HopOf("", where, "the network plugin of node "+node.Name+" is not ready, and its pod "+where+" fails there", &answers[0]); hop != nil {
		cluster.Lead(a, 0, []answer.Hop{*hop}, "no other pod of a network plugin fails there")
	}
}

// usage is the working set of each pod of a node, in bytes.
func (q *question) usage(ctx context.Context, node string) (map[types.UID]int64, error) {
	summary, err := fetch[statsapi.Summary](ctx, q, node, serve.Question{}, "stats", "summary")
	if err != nil {
		return nil, err
	}
	used := map[types.UID]int64{}
	for _, p := range summary.Pods {
		if p.Memory != nil && p.Memory.WorkingSetBytes != nil {
			used[types.UID(p.PodRef.UID)] = int64(*p.Memory.WorkingSetBytes)
		}
	}
	return used, nil
}
