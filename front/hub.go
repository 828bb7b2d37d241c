package front

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/front/link"
	"whylet.dev/whylet/why/answer"
	"whylet.dev/whylet/why/ask"
	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/common"
	"whylet.dev/whylet/why/serve"
)

// Closing is the closing answer about a pod, and who gave it.
type Closing struct {
	link.Ended
	Node string
	// Confirmed is set where the API server had said that the pod was on that node.
	Confirmed bool
}

// Archive keeps closing answers. It may be used from many goroutines.
type Archive interface {
	// Kept is up to where a node's closing answers are kept.
	Kept(ctx context.Context, node string) (link.Mark, error)
	// Keep keeps closing answers of one node, in the order of their marks. Once it returns
	// without an error they outlive this process.
	Keep(ctx context.Context, node string, ends []Closing) error
	// Newest is the newest one about a pod of that name, and that uid where it is given.
	Newest(ctx context.Context, namespace, name string, uid types.UID) (c Closing, ok bool, err error)
	// Owned are the newest ones about pods that a controller made.
	Owned(ctx context.Context, namespace string, owner types.UID) ([]Closing, error)
}

// Options are what a hub needs.
type Options struct {
	API kubernetes.Interface
	// Agent is the user that agents are: system:serviceaccount:NAMESPACE:NAME.
	Agent string
	// Authorities are those whom the API server trusts to say who a node is; nil: nodes show
	// no certificate.
	Authorities func(context.Context) (*x509.CertPool, error)
	// Archive is nil where closing answers are not kept.
	Archive Archive
	Log     *slog.Logger
}

// AgentNamespace is where the agents' pods are.
func (o Options) AgentNamespace() string {
	parts := strings.Split(o.Agent, ":")
	return parts[max(0, len(parts)-2)]
}

// Hub knows what the agents told, and asks them.
type Hub struct {
	o       Options
	began   time.Time
	reviews Reviews
	guard   *Guard // nil: whoever connects may stay

	mu      sync.RWMutex
	nodes   map[string]*nodeState
	pods    map[types.UID]*podState
	names   map[podName]*podState
	ill     map[types.UID]*podState // those of pods that are not well
	crowds  map[handle]*crowd       // the others, as numbers
	left    map[types.UID]leftPod
	counts  Counts
	causes  map[answer.Cause]uint64
	listed  []string // nodes of the cluster, as of at
	own     []string // those of them that are Whylet's own
	traits  map[string]common.Traits
	at      time.Time
	changed chan struct{} // closed when an agent comes
}

// Counts are what happened since the front began.
type Counts struct {
	Connected, Refused, Foreign, Malformed, Kept, Unkept, Requested uint64
}

type nodeState struct {
	name    string
	session *session // nil while it is away
	seen    time.Time
	whole   bool
	pods    map[types.UID]*podState
}

type podState struct {
	pod    fact.Pod
	node   string
	answer *answer.Answer // nil: well
	seen   int64          // in nanoseconds
	maker  handle
	before *podState // another of that name
	// containers are the names of its containers, see [site].
	containers unique.Handle[string]
}

type podName struct{ namespace, name string }

func nameOf(p fact.Pod) podName { return podName{p.Namespace, p.Name} }

// leftPod is where a pod was of which the closing answer may be on its way.
type leftPod struct {
	node string
	at   time.Time
}

// New makes a hub that knows nobody.
func New(o Options) *Hub {
	return &Hub{
		o: o, began: time.Now(), reviews: Reviews{API: o.API}, nodes: map[string]*nodeState{}, pods: map[types.UID]*podState{}, names: map[podName]*podState{}, left: map[types.UID]leftPod{},
		ill: map[types.UID]*podState{}, crowds: map[handle]*crowd{}, causes: map[answer.Cause]uint64{},
		changed: make(chan struct{}),
	}
}

const (
	// awayFor is how long what a node told is taken for how things stand after its agent
	// went; agents that start anew are back in seconds.
	awayFor = time.Minute
	// FreshFor is how long agents may take to come: they look for new fronts each 15 s, and try
	// one that was away again after 45 s at the latest.
	FreshFor = time.Minute
	// leftFor is how long it is remembered where a pod was.
	leftFor = 10 * time.Minute
	// nodesFor is how long a list of the nodes is good, ownFor which of them are Whylet's own.
	nodesFor, ownFor = 30 * time.Second, 5 * time.Minute
)

// Fresh says whether agents may be on their way still, because the front has just begun.
func (h *Hub) Fresh() bool { return time.Since(h.began) < FreshFor }

// Whole says whether the agents of all nodes have told of all their pods.
func (h *Hub) Whole(ctx context.Context) bool {
	names, err := h.Nodes(ctx)
	h.mu.RLock()
	defer h.mu.RUnlock()
	return err == nil && !slices.ContainsFunc(names, func(name string) bool { n := h.nodes[name]; return n == nil || !n.whole })
}

// Standing is of [ask.Front].
func (h *Hub) Standing(ctx context.Context, namespace string) (ill []answer.Answer, well int, missing []string, err error) {
	nodes, err := h.Nodes(ctx)
	if err != nil {
		return nil, 0, nil, err
	}
	now := time.Now().UTC()
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, name := range nodes {
		n := h.nodes[name]
		if n == nil || !n.whole || n.session == nil && now.Sub(n.seen) > awayFor {
			missing = append(missing, name)
			continue
		}
		for _, p := range n.pods {
			switch {
			case namespace != "" && p.pod.Namespace != namespace:
			case p.answer == nil:
				well++
			default:
				a := *p.answer
				a.AsOf = now
				ill = append(ill, a)
			}
		}
	}
	return ill, well, missing, nil
}

// Nodes is of [ask.Front]. To list them for each question would take the API server a tenth
// of a second: so often it asks etcd how far its cache is.
func (h *Hub) Nodes(ctx context.Context) ([]string, error) {
	h.mu.RLock()
	names, at := h.listed, h.at
	h.mu.RUnlock()
	if time.Since(at) < nodesFor {
		return names, nil
	}
	list, err := h.o.API.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	names = make([]string, 0, len(list.Items))
	var own []string
	traits := make(map[string]common.Traits, len(list.Items))
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
		traits[list.Items[i].Name] = common.TraitsOf(&list.Items[i])
		if cluster.Own(&list.Items[i]) {
			own = append(own, list.Items[i].Name)
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.listed, h.own, h.traits, h.at = names, own, traits, time.Now()
	return names, nil
}

// Own are the nodes that are Whylet's own and do not speak for themselves here: they know more
// of their pods than an agent beside them, and answer where the hub does not reach (nodes/proxy).
func (h *Hub) Own(ctx context.Context) []string {
	h.mu.RLock()
	at := h.at
	h.mu.RUnlock()
	if time.Since(at) >= ownFor {
		_, _ = h.Nodes(ctx) // those that were known stay
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	var silent []string
	for _, name := range h.own {
		if n := h.nodes[name]; n == nil || n.session == nil || !n.session.itself {
			silent = append(silent, name)
		}
	}
	return silent
}

// Departed is of [ask.Front].
func (h *Hub) Departed(ctx context.Context, about serve.Question) ([]answer.Answer, error) {
	if about.Owner != "" {
		return h.owned(ctx, about)
	}
	if node, uid, ok := h.still(about); ok {
		about.UID = uid
		if a, err := h.one(ctx, node, about); err == nil {
			return []answer.Answer{a}, nil
		}
	}
	c, ok, err := h.newest(ctx, about)
	if err != nil || !ok {
		return nil, err
	}
	if about.Container != "" || !about.Since.IsZero() { // which the node can leave out
		about.UID = c.Pod.UID
		if a, err := h.one(ctx, c.Node, about); err == nil {
			return []answer.Answer{a}, nil
		}
	}
	a, err := c.answer()
	return []answer.Answer{a}, err
}

func (h *Hub) newest(ctx context.Context, about serve.Question) (Closing, bool, error) {
	if h.o.Archive == nil {
		return Closing{}, false, nil
	}
	return h.o.Archive.Newest(ctx, about.Namespace, about.Name, about.UID)
}

func (h *Hub) owned(ctx context.Context, about serve.Question) ([]answer.Answer, error) {
	if h.o.Archive == nil {
		return nil, nil
	}
	list, err := h.o.Archive.Owned(ctx, about.Namespace, about.Owner)
	var all []answer.Answer
	for _, c := range list {
		if a, err := c.answer(); err == nil {
			all = append(all, a)
		}
	}
	answer.WorstFirst(all)
	return all, err
}

// Where is of [ask.Front].
func (h *Hub) Where(ctx context.Context, about serve.Question) (string, bool) {
	if node, _, ok := h.still(about); ok {
		return node, true
	}
	c, ok, err := h.newest(ctx, about)
	return c.Node, ok && err == nil
}

// still finds a pod that an agent tells of though the API server has it no more.
func (h *Hub) still(about serve.Question) (node string, uid types.UID, ok bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var best *podState
	for p := h.names[podName{about.Namespace, about.Name}]; p != nil; p = p.before {
		if (about.UID == "" || about.UID == p.pod.UID) && (best == nil || p.seen > best.seen) {
			best = p
		}
	}
	if best == nil {
		return "", "", false
	}
	return best.node, best.pod.UID, true
}

// Count gives what happened, how many agents there are, and of how many pods they tell.
func (h *Hub) Count() (c Counts, agents, pods int) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, n := range h.nodes {
		if n.session != nil {
			agents++
		}
	}
	return h.counts, agents, len(h.pods)
}

// Causes are how often each cause was told of anew.
func (h *Hub) Causes() map[answer.Cause]uint64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return maps.Clone(h.causes)
}

// Each calls f for every pod that is not well, worst first.
func (h *Hub) Each(f func(node string, a answer.Answer)) {
	h.mu.RLock()
	type one struct {
		node string
		a    answer.Answer
	}
	var all []one
	for _, p := range h.ill {
		all = append(all, one{p.node, *p.answer})
	}
	h.mu.RUnlock()
	slices.SortFunc(all, func(a, b one) int {
		return cmp.Or(cmp.Compare(a.a.Subject.Namespace, b.a.Subject.Namespace), cmp.Compare(a.a.Subject.Name, b.a.Subject.Name))
	})
	for _, o := range all {
		f(o.node, o.a)
	}
}

func (h *Hub) count(f func(*Counts)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f(&h.counts)
}

var _ ask.Front = (*Hub)(nil)
