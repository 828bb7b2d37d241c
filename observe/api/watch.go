package api

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/sense"
)

// Watch tells of the pods of one node, which it reads at its kubelet or at the API server.
type Watch struct {
	Client *Client
	Node   string
	Log    *slog.Logger
	// Kubelet connects to the pods API of the node's kubelet. As long as it fails, or if it is nil, pods are read
	// from the API server.
	Kubelet func(context.Context) (net.Conn, error)
	// Changed hears of each pod as it is now, after its facts; gone is set when the
	// API server has it no more.
	Changed func(pod *v1.Pod, gone bool)
	// Synced is called once the first list was told.
	Synced func()

	// compare and again are those of source, for tests.
	compare, again time.Duration
}

// Run watches until ctx ends. What vanished while the connection was lost comes as
// gone. emit is called from one goroutine.
func (w Watch) Run(ctx context.Context, emit func(fact.Fact)) error {
	selector := fields.OneTermEqualSelector("spec.nodeName", w.Node).String()
	server := cache.NewFilteredListWatchFromClient(w.Client.rest, "pods", metav1.NamespaceAll,
		func(o *metav1.ListOptions) { o.FieldSelector = selector })
	lists := cache.ListerWatcher(server)
	if w.Kubelet != nil {
		both := &source{server: cache.ToListerWatcherWithContext(server), dial: w.Kubelet, node: w.Node, log: w.Log, compare: cmp.Or(w.compare, compareEvery), again: cmp.Or(w.again, lookAgain)}
		lists = both.listerWatcher(ctx)
	}
	tell := func(old, pod *v1.Pod) {
		for _, f := range FactsOf(old, pod) {
			emit(f)
		}
		w.Changed(pod, false)
	}
	_, controller := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: lists, ObjectType: &v1.Pod{},
		Transform: func(o any) (any, error) {
			if pod, ok := o.(*v1.Pod); ok {
				return slim(pod), nil
			}
			return o, nil
		},
		Handler: cache.ResourceEventHandlerDetailedFuncs{
			AddFunc:    func(o any, _ bool) { tell(nil, o.(*v1.Pod)) },
			UpdateFunc: func(old, o any) { tell(old.(*v1.Pod), o.(*v1.Pod)) },
			DeleteFunc: func(o any) {
				if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
					o = last.Obj
				}
				if pod, ok := o.(*v1.Pod); ok {
					w.gone(pod, emit)
				}
			},
		},
	})
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), controller.HasSynced) && w.Synced != nil {
			w.Synced()
		}
	}()
	controller.RunWithContext(ctx)
	return nil
}

func (w Watch) gone(pod *v1.Pod, emit func(fact.Fact)) {
	key := KeyOf(pod)
	if pod.DeletionTimestamp == nil { // nobody was told that it was to go
		emit(fact.Fact{Pod: key, At: time.Now().UTC(), Body: fact.DeletionSeen{GraceSeconds: sense.GraceOf(pod), Gone: true}})
	}
	w.Changed(pod, true)
	emit(fact.Fact{Pod: key, Body: fact.ObjectGone{}})
}
