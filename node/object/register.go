package object

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// The first pause after a registration that failed, and the longest (kubelet's
// registerWithAPIServer).
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 7 * time.Second
)

// register creates the object or takes over the one that is there, until it
// succeeds. It is false when ctx ended first.
func (r *Reporter) register(ctx context.Context) bool {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		node, err := r.tryRegister(ctx)
		if err == nil {
			r.failed(nil)
			r.saw(node)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		r.failed(fmt.Errorf("node could not be registered: %w", err))
		select {
		case <-ctx.Done():
			return false
		case <-r.c.Clock.After(pause):
		}
	}
}

func (r *Reporter) tryRegister(ctx context.Context) (*v1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: r.c.Name}}
	s := r.look(ctx)
	events := r.c.fill(node, s)
	nodes := r.c.Client.CoreV1().Nodes()
	created, err := nodes.Create(ctx, node, metav1.CreateOptions{})
	switch {
	case err == nil:
		r.c.Log.Info("node registered", "node", r.c.Name)
		r.written(s.now.Time)
		r.tell(events)
		return created, nil
	case apierrors.IsAlreadyExists(err), apierrors.IsForbidden(err):
		// Who may not create the object may still be allowed to keep it.
		existing, getErr := nodes.Get(ctx, r.c.Name, metav1.GetOptions{})
		if getErr != nil {
			return nil, fmt.Errorf("%w (creating it: %w)", getErr, err)
		}
		r.c.Log.Info("node was registered before", "node", r.c.Name)
		return existing, nil
	}
	return nil, err
}

// watch follows the object, so that what others do to it is seen at once.
func (r *Reporter) watch(ctx context.Context) {
	nodes := r.c.Client.CoreV1().Nodes()
	own := fields.OneTermEqualSelector(metav1.ObjectNameField, r.c.Name).String()
	seen := func(object any) {
		if node, ok := object.(*v1.Node); ok && node.Name == r.c.Name {
			r.saw(node)
			r.Changed()
		}
	}
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
				o.FieldSelector = own
				return nodes.List(ctx, o)
			},
			WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
				o.FieldSelector = own
				return nodes.Watch(ctx, o)
			},
		}, r.c.Client),
		ObjectType: &v1.Node{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    seen,
			UpdateFunc: func(_, object any) { seen(object) },
			DeleteFunc: func(any) {
				r.c.Log.Warn("the Node object was deleted; it is made again when the node is started again", "node", r.c.Name)
			},
		},
	})
	informer.RunWithContext(ctx)
}
