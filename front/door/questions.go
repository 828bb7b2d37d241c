package door

import (
	"context"
	"fmt"
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
	// Fresh says whether this replica has just begun, so that another may know more: it comes
	// last then. It may be nil.
	Fresh func() bool
	Log   *slog.Logger

	mu       sync.Mutex
	inFlight map[types.UID]*flight
	of       map[string]int // being answered, by namespace
	refusing int            // those of inFlight that are beyond a bound
	answered uint64
	removals chan removal
}

// removal is a question that is to go at once.
type removal struct {
	gvr schema.GroupVersionResource
	of  *unstructured.Unstructured
}

// flight is a question that is being answered.
type flight struct {
	over    chan struct{} // closed once somebody has answered, or it is gone
	takenBy []string
	tooMany string // why it is refused; empty: it is not
}

const (
	// mostAtOnce and mostOfOne bound the questions that are being answered, of all and of
	// one namespace.
	mostAtOnce, mostOfOne = 256, 32
	// mostRefused is how many at the same time are told that they are too many; what comes
	// beside them is removed, and its asker takes another way.
	mostRefused = 64
	// mostRemovals is how many may wait to be removed at once, and removers is how many are
	// removed at the same time; what comes beside them goes after its minute.
	mostRemovals, removers = 1024, 8
	// roomIn is when there should be room again: most answers take a tenth of that.
	roomIn = 5 * time.Second
	// answerWithin bounds one answer.
	answerWithin = 20 * time.Second
	// removeEvery is how often questions that have lived long enough are looked for.
	removeEvery = 10 * time.Second
)

// Run answers until ctx ends.
func (q *Questions) Run(ctx context.Context) {
	q.inFlight, q.of, q.removals = map[types.UID]*flight{}, map[string]int{}, make(chan removal, mostRemovals)
	var all sync.WaitGroup
	defer all.Wait()
	for range removers {
		all.Go(func() { q.removeRefused(ctx) })
	}
	for _, resource := range []string{question.Resource, question.ClusterResource} {
		gvr := schema.GroupVersionResource{Group: question.Group, Version: question.Version, Resource: resource}
		informer := dynamicinformer.NewFilteredDynamicInformer(q.API, gvr, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
		// An answer may be large, and is not needed again.
		_ = informer.SetTransform(slim) // before it runs
		_ = informer.SetWatchErrorHandler(func(*cache.Reflector, error) {})
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(o any) {
				u, ok := o.(*unstructured.Unstructured)
				switch {
				case !ok:
				case q.begin(u):
					all.Go(func() {
						defer q.end(u)
						q.answer(ctx, gvr, u)
					})
				case q.tooMuch(u):
					q.drop(gvr, u)
				}
			},
			UpdateFunc: func(_, o any) { q.changed(o, false) },
			DeleteFunc: func(o any) { q.changed(o, true) },
		})
		all.Go(func() { informer.RunWithContext(ctx) })
		all.Go(func() { q.removeOld(ctx, gvr, informer) })
	}
	<-ctx.Done()
}

// answeredAt is when a question was answered; empty while it is not.
func answeredAt(u *unstructured.Unstructured) string {
	at, _, _ := unstructured.NestedString(u.Object, "status", "answeredAt")
	return at
}

// slim keeps of a question what answering it needs, and of an answered one that it is. Whoever
// asks decides what is in its metadata, and every replica would hold that for a minute.
func slim(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	kept := &unstructured.Unstructured{Object: map[string]any{"apiVersion": u.GetAPIVersion(), "kind": u.GetKind()}}
	kept.SetNamespace(u.GetNamespace())
	kept.SetName(u.GetName())
	kept.SetUID(u.GetUID())
	kept.SetResourceVersion(u.GetResourceVersion())
	kept.SetCreationTimestamp(u.GetCreationTimestamp())
	switch at := answeredAt(u); {
	case at != "":
		kept.Object["status"] = map[string]any{"answeredAt": at}
	case laden(u): // without a spec it asks nothing
	default:
		kept.Object["spec"] = u.Object["spec"]
		if by := takenBy(u); len(by) > 0 {
			_ = unstructured.SetNestedStringSlice(kept.Object, by, "status", "takenBy")
		}
	}
	return kept, nil
}

const (
	// mostAnnotations, mostAnnotation and mostLabels are the bounds of admission.yaml, for
	// clusters that know no such policies.
	mostAnnotations, mostAnnotation, mostLabels = 2, 1024, 4
)

// laden says whether a question brings along more than it may.
func laden(u *unstructured.Unstructured) bool {
	for _, text := range u.GetAnnotations() {
		if len(text) > 4*mostAnnotation { // which counts characters there
			return true
		}
	}
	return len(u.GetAnnotations()) > mostAnnotations || len(u.GetLabels()) > mostLabels || len(u.GetFinalizers())+len(u.GetOwnerReferences()) > 0
}

// asksNothing says whether a question was emptied by slim, unanswered.
func asksNothing(u *unstructured.Unstructured) bool {
	_, has := u.Object["spec"]
	return !has && answeredAt(u) == ""
}

// old says whether a question has lived long enough.
func old(u *unstructured.Unstructured) bool {
	return time.Since(u.GetCreationTimestamp().Time) > question.Lives
}

// begin takes a question, unless it is answered or too old. Beyond a bound it is taken to be
// refused.
func (q *Questions) begin(u *unstructured.Unstructured) bool {
	if answeredAt(u) != "" || asksNothing(u) || old(u) {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.inFlight[u.GetUID()] != nil {
		return false
	}
	f := &flight{over: make(chan struct{}), takenBy: takenBy(u)}
	space := u.GetNamespace()
	switch {
	case q.of[space] >= mostOfOne:
		f.tooMany = fmt.Sprintf("too much is asked at once in namespace %s (%d questions): try again in %v", space, mostOfOne, roomIn)
	case len(q.inFlight)-q.refusing >= mostAtOnce:
		f.tooMany = fmt.Sprintf("too much is asked at once in the cluster (%d questions): try again in %v", mostAtOnce, roomIn)
	}
	switch {
	case f.tooMany == "":
		q.of[space]++
	case q.refusing >= mostRefused:
		return false
	default:
		q.refusing++
	}
	q.inFlight[u.GetUID()] = f
	return true
}

func (q *Questions) end(u *unstructured.Unstructured) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f := q.inFlight[u.GetUID()]
	delete(q.inFlight, u.GetUID())
	if f.tooMany != "" {
		q.refusing--
		return
	}
	if q.of[u.GetNamespace()]--; q.of[u.GetNamespace()] == 0 {
		delete(q.of, u.GetNamespace())
	}
}

// tooMuch says whether a question that was not taken is to be removed by this replica, the first
// to answer it: it brings along more than it may, or comes beside all that can be refused.
func (q *Questions) tooMuch(u *unstructured.Unstructured) bool {
	q.mu.Lock()
	taken := q.inFlight[u.GetUID()] != nil
	q.mu.Unlock()
	return answeredAt(u) == "" && !taken && !old(u) && q.rank(u.GetUID()) == 0
}

// drop has a question removed soon: what is refused is not to stay in etcd for its minute.
func (q *Questions) drop(gvr schema.GroupVersionResource, u *unstructured.Unstructured) {
	select {
	case q.removals <- removal{gvr, u}:
	default:
	}
}

// removeRefused removes what is refused, until ctx ends.
func (q *Questions) removeRefused(ctx context.Context) {
	for {
		select {
		case r := <-q.removals:
			q.delete(ctx, r.gvr, r.of)
		case <-ctx.Done():
			return
		}
	}
}

func (q *Questions) delete(ctx context.Context, gvr schema.GroupVersionResource, u *unstructured.Unstructured) {
	uid := u.GetUID()
	_ = q.API.Resource(gvr).Namespace(u.GetNamespace()).Delete(ctx, u.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
}

// removeOld removes questions that have lived long enough, first of all those that were asked
// while nobody was there.
func (q *Questions) removeOld(ctx context.Context, gvr schema.GroupVersionResource, informer cache.SharedIndexInformer) {
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return
	}
	ticker := time.NewTicker(removeEvery)
	defer ticker.Stop()
	for {
		q.remove(ctx, gvr, informer.GetStore(), time.Now().Add(-question.Lives))
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// remove removes questions that were asked before a time.
func (q *Questions) remove(ctx context.Context, gvr schema.GroupVersionResource, store cache.Store, before time.Time) {
	for _, o := range store.List() {
		u, ok := o.(*unstructured.Unstructured)
		if !ok || u.GetCreationTimestamp().After(before) {
			continue
		}
		q.delete(ctx, gvr, u)
	}
}
