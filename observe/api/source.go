package api

import (
	"context"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// source lists and watches the pods of a node: at its kubelet as long as that serves them, else at the
// API server. Whenever the one takes over from the other all pods are listed, so nothing is missed.
type source struct {
	server cache.ListerWatcherWithContext
	// dial connects to kubelet's pods API.
	dial func(context.Context) (net.Conn, error)
	node string
	log  *slog.Logger
	// compare is how often what kubelet streams is compared with all its pods, again how often it is looked
	// whether kubelet serves them, where it did not.
	compare, again time.Duration

	// open is the kubelet that was listed last, nil if the API server was; watched says that it was watched, too.
	open    *kubeletPods
	watched bool
	// wasKubelet says that a kubelet was listed before, back that one can be now.
	wasKubelet bool
	back       atomic.Bool
}

const (
	// compareEvery is short enough for what kubelet does not stream: labels, and the removal of a pod that had
	// ended.
	compareEvery = 15 * time.Second
	// lookAgain is long, as it looks at all processes.
	lookAgain = 30 * time.Second
)

// listerWatcher is a source as an informer takes it.
func (s *source) listerWatcher(ctx context.Context) cache.ListerWatcher {
	both := &cache.ListWatch{
		// The list's own context is none that ends with the agent's.
		ListWithContextFunc:  func(_ context.Context, o metav1.ListOptions) (runtime.Object, error) { return s.list(ctx, o) },
		WatchFuncWithContext: s.watch,
	}
	return cache.ToListWatcherWithWatchListSemantics(both, s)
}

// IsWatchListSemanticsUnSupported says that lists are not streamed.
func (s *source) IsWatchListSemanticsUnSupported() bool { return true }

func (s *source) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.Continue != "" { // the next page of the API server's list
		return s.server.ListWithContext(ctx, options)
	}
	if s.open != nil {
		s.open.Stop()
	}
	s.watched = false
	s.back.Store(false)
	if s.open = s.kubelet(ctx); s.open != nil {
		s.log.Info("pods are read from kubelet's pods API")
		s.wasKubelet = true
		first := s.open.first
		s.open.first = nil
		return &v1.PodList{Items: first}, nil
	}
	if s.wasKubelet { // it may have told what is newer than the API server's cache
		s.log.Info("pods are read from the API server, as kubelet does not serve them")
		options.ResourceVersion = ""
	}
	return s.server.ListWithContext(ctx, options)
}

func (s *source) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if s.back.Load() || s.watched {
		return nil, apierrors.NewResourceExpired("pods are listed anew, by another source")
	}
	if s.open != nil {
		s.watched = true
		go s.open.run(s.compare, s.log)
		return s.open, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	w, err := s.server.WatchWithContext(ctx, options)
	if err != nil {
		cancel()
		return nil, err
	}
	go s.lookForKubelet(ctx, w)
	return served{w, cancel}, nil
}

// served is a watch of the API server's.
type served struct {
	watch.Interface

	cancel context.CancelFunc
}

func (w served) Stop() {
	w.cancel()
	w.Interface.Stop()
}

// lookForKubelet ends a watch of the API server's once kubelet serves its pods.
func (s *source) lookForKubelet(ctx context.Context, w watch.Interface) {
	ticker := time.NewTicker(s.again)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if k := s.kubelet(ctx); k != nil {
			k.Stop()
			s.back.Store(true)
			w.Stop()
			return
		}
	}
}

// kubelet opens that of the node; nil if it does not serve its pods.
func (s *source) kubelet(ctx context.Context) *kubeletPods {
	k, err := openKubelet(ctx, s.dial, s.node)
	if err != nil {
		s.log.Debug("kubelet does not serve its pods", "error", err)
	}
	return k
}
