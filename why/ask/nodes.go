package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/fromapi"
	"whylet.dev/whylet/why/serve"
)

// about begins a question to a node with what the options say.
func (q *question) about(name string) serve.Question {
	about := serve.Question{Namespace: q.space, Name: name, Look: q.look}
	about.Now = q.now()
	about.Container, about.Alone, about.WithValues = q.options.Container, q.alone(), q.options.WithValues
	if q.options.Within {
		about.Within = q.space
	}
	if q.options.Since > 0 {
		about.Since = about.Now.Add(-q.options.Since)
	}
	return about
}

// fromNode puts a question to a node, through the API server, whose RBAC decides.
func fromNode[T any](ctx context.Context, q *question, node string, about serve.Question) (T, error) {
	return fetch[T](ctx, q, node, about, "why")
}

// fetch gets what a node serves below a path.
func fetch[T any](ctx context.Context, q *question, node string, about serve.Question, path ...string) (into T, err error) {
	raw, err := q.get(ctx, node, about, path...)
	if err != nil {
		return into, err
	}
	if err := json.Unmarshal(raw, &into); err != nil {
		return into, fmt.Errorf("what it says is not understood: %w", err)
	}
	switch told := any(&into).(type) {
	case *answer.Answer:
		cluster.Typed(told)
	case *serve.List:
		for i := range told.Items {
			cluster.Typed(&told.Items[i])
		}
	}
	return into, nil
}

// get gives what a node serves below a path, which is asked once.
func (q *question) get(ctx context.Context, node string, about serve.Question, path ...string) ([]byte, error) {
	same := about
	same.Now = time.Time{}
	return once(q.read, fmt.Sprint("node ", node, path, same.Values()), func() ([]byte, error) { return q.getAnew(ctx, node, about, path...) })
}

// getAnew gets it: by the front, or through the API server.
func (q *question) getAnew(ctx context.Context, node string, about serve.Question, path ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, q.options.Each)
	defer cancel()
	if q.options.Front != nil {
		return q.options.Front.Get(ctx, node, strings.Join(path, "/"), about)
	}
	asks, none := path[0] == "why", "nobody on node "+node
	if asks {
		if err, deaf := has[error](q.read, none); deaf {
			return nil, err
		}
	}
	r := q.client.CoreV1().RESTClient().Get().Resource("nodes").Name(node).SubResource("proxy").Suffix(path...)
	for name, values := range about.Values() {
		r = r.Param(name, values[0])
	}
	raw, err := patient(ctx, r)
	if err != nil {
		err = said(err, raw)
		if _, absent := whyAbsent(node, err); absent && asks {
			_, _ = once(q.read, none, func() (error, error) { return err, nil })
		}
		return nil, err
	}
	return raw, nil
}

// comesBack is how long an agent that starts anew may take to listen again.
const comesBack = 3 * time.Second

// patient asks again for a moment when nobody listens at the node: its agent may be
// starting.
func patient(ctx context.Context, r *rest.Request) (raw []byte, err error) {
	_ = wait.PollUntilContextTimeout(ctx, comesBack/10, comesBack, true, func(context.Context) (bool, error) {
		raw, err = r.Do(ctx).Raw()
		return !apierrors.IsServiceUnavailable(err), nil
	})
	return raw, err
}

// said puts a node's own words into the error that the client made of them. The client keeps plain text, as a node
// answers, among the causes of its error, and says nothing of it.
func said(err error, raw []byte) error {
	text := strings.TrimSpace(string(raw))
	var status apierrors.APIStatus
	if errors.As(err, &status) && text == "" && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			if c.Type == metav1.CauseTypeUnexpectedServerResponse && c.Message != "unknown" {
				text = c.Message
			}
		}
	}
	if text == "" || len(text) >= longestSaid {
		return err
	}
	return fmt.Errorf("%w: %s", err, text)
}

// longestSaid bounds a node's own words in an error.
const longestSaid = 500

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
	by := fmt.Sprintf("the network plugin of node %s is not ready, and its pod %s fails there", node.Name, where)
	if hop := cluster.HopOf(answer.Hop{Pod: where, By: by}, &answers[0]); hop != nil {
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
