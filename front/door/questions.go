package door

import (
	"context"
	"log/slog"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"whylet.dev/whylet/why/question"
)

// Questions answers the questions that are written down in the cluster.
type Questions struct {
	API      dynamic.Interface
	Answerer *Answerer
	// Self is this replica's address, and Peers are those of all that are there; nil: it is
	// alone. Each question has one that answers first; the others come after it, in case
	// it went.
	Self  string
	Peers func() []string
	Log   *slog.Logger

	mu       sync.Mutex
	inFlight map[types.UID]*flight
	of       map[string]int // in flight, by namespace
	answered uint64
}

// flight is a question that is being answered.
type flight struct {
	over    chan struct{} // closed once somebody has answered, or it is gone
	takenBy []string
}

const (
	// mostAtOnce and mostOfOne bound the questions that are being answered, of all and of
	// one namespace.
	mostAtOnce, mostOfOne = 256, 32
	// answerWithin bounds one answer.
	answerWithin = 20 * time.Second
	// removeEvery is how often questions that have lived long enough are looked for.
	removeEvery = 10 * time.Second
)

// Run answers until ctx ends.
func (q *Questions) Run(ctx context.Context) {
	q.inFlight, q.of = map[types.UID]*flight{}, map[string]int{}
	var all sync.WaitGroup
	defer all.Wait()
	for _, resource := range []string{question.Resource, question.ClusterResource} {
		gvr := schema.GroupVersionResource{Group: question.Group, Version: question.Version, Resource: resource}
		informer := dynamicinformer.NewFilteredDynamicInformer(q.API, gvr, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
		// An answer may be large, and is not needed again.
		_ = informer.SetTransform(withoutStatus) // before it runs
		_ = informer.SetWatchErrorHandler(func(*cache.Reflector, error) {})
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) {
				if u, ok := o.(*unstructured.Unstructured); ok && q.begin(u) {
					all.Go(func() {
						defer q.end(u)
						q.answer(ctx, gvr, u)
					})
				}
			},
			UpdateFunc: func(_, o any) { q.changed(o, false) },
			DeleteFunc: func(o any) { q.changed(o, true) },
		})
		all.Go(func() { informer.RunWithContext(ctx) })
		all.Go(func() { q.removeOld(ctx, gvr, informer.GetStore()) })
	}
	<-ctx.Done()
}

// answeredAt is when a question was answered; empty while it is not.
func answeredAt(u *unstructured.Unstructured) string {
	at, _, _ := unstructured.NestedString(u.Object, "status", "answeredAt")
	return at
}

// withoutStatus keeps of an answered question that it is.
func withoutStatus(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	if at := answeredAt(u); at != "" {
		u.Object["status"] = map[string]any{"answeredAt": at}
		delete(u.Object, "spec")
	}
	u.SetManagedFields(nil)
	return u, nil
}

// begin takes a question, unless it is answered, too old, or too many are.
func (q *Questions) begin(u *unstructured.Unstructured) bool {
	if answeredAt(u) != "" || time.Since(u.GetCreationTimestamp().Time) > question.Lives {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	space := u.GetNamespace()
	if q.inFlight[u.GetUID()] != nil || len(q.inFlight) >= mostAtOnce || q.of[space] >= mostOfOne {
		return false
	}
	q.inFlight[u.GetUID()] = &flight{over: make(chan struct{}), takenBy: takenBy(u)}
	q.of[space]++
	return true
}

func (q *Questions) end(u *unstructured.Unstructured) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.inFlight, u.GetUID())
	if q.of[u.GetNamespace()]--; q.of[u.GetNamespace()] == 0 {
		delete(q.of, u.GetNamespace())
	}
}

// removeOld removes questions that have lived long enough.
func (q *Questions) removeOld(ctx context.Context, gvr schema.GroupVersionResource, store cache.Store) {
	ticker := time.NewTicker(removeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		for _, o := range store.List() {
			u, ok := o.(*unstructured.Unstructured)
			if !ok || time.Since(u.GetCreationTimestamp().Time) < question.Lives {
				continue
			}
			uid := u.GetUID()
			_ = q.API.Resource(gvr).Namespace(u.GetNamespace()).Delete(ctx, u.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
		}
	}
}
