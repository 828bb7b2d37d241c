package ask

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/cluster"
	object "whylet.dev/whylet/why/question"
)

// Cluster asks a cluster's nodes through its API server.
type Cluster struct {
	client  kubernetes.Interface
	config  *rest.Config
	http    *http.Client
	options Options
	// closed is set once a front could not be asked: the nodes are, from then on.
	closed atomic.Bool
	// confined is set once it is known that the asker may ask about namespaces only.
	confined atomic.Bool
	// name is who asks, looked up once.
	self sync.Once
	name string
}

// With gives one that asks the same cluster with other options.
func (c *Cluster) With(o Options) *Cluster {
	o.complete()
	return &Cluster{client: c.client, config: c.config, http: c.http, options: o}
}

// Connect makes a Cluster of what is known of the API server. Nothing is asked yet.
func Connect(config *rest.Config, o Options) (*Cluster, error) {
	config = rest.CopyConfig(config)
	// How many are asked at once is bounded here, and the API server has a bound of its
	// own: client-go's five a second would make fifty nodes wait for each other.
	config.QPS = -1
	config.UserAgent = cmp.Or(config.UserAgent, rest.DefaultKubernetesUserAgent())
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	client, err := kubernetes.NewForConfigAndClient(config, web)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	o.complete()
	return &Cluster{client: client, config: config, http: web, options: o}, nil
}

func (c *Cluster) now() time.Time { return c.options.now() }

// question is one question on its way, and what is looked up at most once for it.
type question struct {
	*Cluster
	space string // "" for every namespace
	look  bool   // have the nodes look into pods anew
	top   bool   // it was asked about what stands for several, whose waiting is followed
	peer  bool   // it is about a pod that another asks
	nodes func() []v1.Node
	alone func() bool
	// read is what was read for it.
	read *snapshot
	// given are the answers about pods that a question about everything has already; nil for other questions.
	given map[types.UID]answer.Answer
	// unpacked and taken are the bytes and the number of facts that a front has of it.
	unpacked, taken int64
}

// begin begins a question, which ends when the returned function is called or its time
// is over.
func (c *Cluster) begin(ctx context.Context, space string) (*question, context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, c.options.Whole)
	q := &question{Cluster: c, space: space, read: newSnapshot()}
	if space == "" {
		q.space = c.options.Namespace
	}
	// The nodes that a pod without one could have; none where they may not be read. Many
	// pods may wait.
	q.nodes = sync.OnceValue(func() []v1.Node { return readable[v1.Node](ctx, q, "") })
	// Whether the cluster has one node only; false where that is not told.
	q.alone = sync.OnceValue(func() bool {
		if c.options.Front != nil {
			nodes, err := c.options.Front.Nodes(ctx)
			return err == nil && len(nodes) == 1
		}
		list, err := q.listOnce(ctx, kindFor[v1.Node](), "", metav1.ListOptions{Limit: 2})
		return err == nil && len(items[v1.Node](list)) == 1
	})
	return q, ctx, cancel
}

// in is the same question about another namespace.
func (q *question) in(space string) *question {
	inside := *q
	inside.space = space
	return &inside
}

// About answers about a pod, or about what stands for several.
func (c *Cluster) About(ctx context.Context, t Target) ([]answer.Answer, error) {
	if err := c.beyond(t); err != nil {
		return nil, err
	}
	q, ctx, cancel := c.begin(ctx, t.Namespace)
	defer cancel()
	all, err := q.ask(ctx, t)
	q.showLines(ctx, all)
	q.meant(ctx, all)
	q.decide(ctx, all)
	q.nameAsked(ctx, all)
	c.options.Known.inform(ctx, c.client, all)
	return answer.Redacted(all), err
}

// ask asks a front, where there is one, or the nodes.
func (q *question) ask(ctx context.Context, t Target) ([]answer.Answer, error) {
	spec := object.Spec{Kind: t.Kind, Name: t.Name}
	return byFront(ctx, q, q.space, spec, answersOf, func(q *question) ([]answer.Answer, error) { return q.answers(ctx, t) })
}

// answers asks the nodes about one thing.
func (q *question) answers(ctx context.Context, t Target) ([]answer.Answer, error) {
	if t.Kind != "pod" {
		asked := *q
		asked.top = true
		all, err := asked.workload(ctx, t)
		if apierrors.IsNotFound(err) && len(all) == 0 {
			return q.forgotten(ctx, t)
		}
		return all, q.orMeant(ctx, t, err)
	}
	pod, err := oneOf[v1.Pod](ctx, q, q.space, t.Name)
	if apierrors.IsNotFound(err) {
		return q.departed(ctx, t.Name)
	}
	if err != nil {
		return nil, q.orMeant(ctx, t, fmt.Errorf("reading pod %s/%s: %w", q.space, t.Name, err))
	}
	asked := *q
	asked.look = cluster.LooksWell(pod) // what does not show in its status its log and connections may
	a, err := asked.pod(ctx, pod)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", whoHas(pod), err)
	}
	cluster.KeptOpen(&a, pod)
	q.hear(ctx, pod, &a, mostHeard)
	q.follow(ctx, pod, &a)
	q.sufferers(ctx, pod, &a)
	q.beside(ctx, pod, &a)
	return []answer.Answer{a}, nil
}

// beyond refuses what is not of the namespace that the asker may see.
func (c *Cluster) beyond(t Target) error {
	if c.options.Within && (t.Kind == "node" || t.Namespace != "" && t.Namespace != c.options.Namespace) {
		return fmt.Errorf("%s is not of namespace %s, and nothing else may be asked about", t, c.options.Namespace)
	}
	return nil
}

// whoHas names who would have answered about a pod.
func whoHas(pod *v1.Pod) string {
	return fmt.Sprintf("node %s about pod %s/%s", pod.Spec.NodeName, pod.Namespace, pod.Name)
}

// mostPods bounds a list of the pods of all namespaces.
const mostPods = 5000

// everyPod returns the pods of all namespaces; nil if they may not be listed, or exceed mostPods.
func (q *question) everyPod(ctx context.Context) []v1.Pod {
	list, err := q.listOnce(ctx, kindFor[v1.Pod](), metav1.NamespaceAll, metav1.ListOptions{Limit: mostPods})
	if err != nil || !isWhole(list) {
		return nil
	}
	return append([]v1.Pod{}, items[v1.Pod](list)...)
}

// pod asks about a pod that exists: its node, or the scheduler's condition.
func (q *question) pod(ctx context.Context, pod *v1.Pod) (answer.Answer, error) {
	if q.given != nil {
		return q.fromGiven(ctx, pod), nil
	}
	if pod.Spec.NodeName == "" {
		// What may not be read is left out.
		around := cluster.Around{Storage: q.storage(ctx, pod), Nodes: q.nodes(), Pods: func() []v1.Pod { return q.everyPod(ctx) }, Within: q.options.Within}
		return cluster.Unscheduled(pod, around, q.now()), nil
	}
	about := q.about(pod.Name)
	about.Namespace, about.UID = pod.Namespace, pod.UID
	a, err := fromNode[answer.Answer](ctx, q, pod.Spec.NodeName, about)
	if err == nil && (a.Subject.UID != pod.UID || a.Subject.Namespace != pod.Namespace) {
		err = fmt.Errorf("it speaks of another pod, %s/%s", a.Subject.Namespace, a.Subject.Name)
	}
	if err != nil {
		node, nodeErr := oneOf[v1.Node](ctx, q, "", pod.Spec.NodeName)
		reason, absent := q.absent(pod.Spec.NodeName, err)
		if nodeErr == nil || apierrors.IsNotFound(nodeErr) {
			if lost, ok := cluster.NodeLostAnswer(pod, node, q.now()); ok && !(absent && cluster.FailsByItself(pod, node)) {
				return lost, nil
			}
		}
		if absent {
			return q.fromAPI(ctx, pod, q.eventsOf(ctx, pod), reason), nil
		}
		return a, err
	}
	cluster.StillThere(&a, pod)
	return a, nil
}

// pods asks about every one of some pods, worst first; the error names those that
// could not be asked.
func (q *question) pods(ctx context.Context, pods []v1.Pod) ([]answer.Answer, error) {
	all, errs := make([]answer.Answer, len(pods)), make([]error, len(pods))
	each(pods, func(i int, _ v1.Pod) { all[i], errs[i] = q.pod(ctx, &pods[i]) })
	there := answered(all, errs)
	answer.WorstFirst(there)
	return there, partial(errs, func(i int) string { return whoHas(&pods[i]) })
}

// storage reads what a pod's volume claims are about; not everybody may.
func (q *question) storage(ctx context.Context, pod *v1.Pod) (s cluster.Storage) {
	if len(cluster.ClaimNames(pod)) == 0 {
		return s
	}
	s.Claims = whole[v1.PersistentVolumeClaim](ctx, q, pod.Namespace)
	s.Classes, s.Volumes = whole[storagev1.StorageClass](ctx, q, ""), whole[v1.PersistentVolume](ctx, q, "")
	return s
}

// All asks every node about all its pods, and adds those without a node.
func (c *Cluster) All(ctx context.Context) ([]answer.Answer, error) {
	all, err := c.all(ctx)
	c.options.Known.inform(ctx, c.client, all)
	return answer.Redacted(all), err
}

func (c *Cluster) all(ctx context.Context) ([]answer.Answer, error) {
	q, ctx, cancel := c.begin(ctx, "")
	defer cancel()
	if status, ok, err := c.asked(ctx, q.space, object.Spec{All: true}); err != nil {
		return nil, err
	} else if ok {
		all, err := answersOf(status)
		return q.nearest(ctx, all, status.Unheard), err
	}
	if c.options.Front != nil {
		return q.standing(ctx)
	}
	return q.everything(ctx)
}

// withPods gives the answers that are about some pods, each with its pod.
func withPods(answers []answer.Answer, pods []v1.Pod) iter.Seq2[*answer.Answer, *v1.Pod] {
	byUID := map[types.UID]*v1.Pod{}
	for i := range pods {
		byUID[pods[i].UID] = &pods[i]
	}
	return func(yield func(*answer.Answer, *v1.Pod) bool) {
		for i := range answers {
			if p := byUID[answers[i].Subject.UID]; p != nil && !yield(&answers[i], p) {
				return
			}
		}
	}
}
