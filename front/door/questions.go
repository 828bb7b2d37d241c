package door

import (
	"cmp"
	"context"
	"encoding/json"
	"hash/fnv"
	"log/slog"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	inFlight map[types.UID]bool
	of       map[string]int // in flight, by namespace
	answered uint64
}

const (
	// mostAtOnce and mostOfOne bound the questions that are being answered, of all and of
	// one namespace.
	mostAtOnce, mostOfOne = 256, 32
	// answerWithin bounds one answer.
	answerWithin = 20 * time.Second
	// turn is how long each further replica waits for those before it.
	turn = time.Second
	// removeEvery is how often questions that have lived long enough are looked for.
	removeEvery = 10 * time.Second
)

// Run answers until ctx ends.
func (q *Questions) Run(ctx context.Context) {
	q.inFlight, q.of = map[types.UID]bool{}, map[string]int{}
	var all sync.WaitGroup
	defer all.Wait()
	for _, resource := range []string{question.Resource, question.ClusterResource} {
		gvr := schema.GroupVersionResource{Group: question.Group, Version: question.Version, Resource: resource}
		informer := dynamicinformer.NewFilteredDynamicInformer(q.API, gvr, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
		// An answer may be large, and is not needed again.
		_ = informer.SetTransform(withoutStatus) // before it runs
		_ = informer.SetWatchErrorHandler(func(*cache.Reflector, error) {})
		_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(o any) {
			if u, ok := o.(*unstructured.Unstructured); ok && q.begin(u) {
				all.Go(func() {
					defer q.end(u)
					q.answer(ctx, gvr, u)
				})
			}
		}})
		all.Go(func() { informer.RunWithContext(ctx) })
		all.Go(func() { q.removeOld(ctx, gvr, informer.GetStore()) })
	}
	<-ctx.Done()
}

// withoutStatus keeps of an answered question that it is.
func withoutStatus(o any) (any, error) {
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return o, nil
	}
	if at, _, _ := unstructured.NestedString(u.Object, "status", "answeredAt"); at != "" {
		u.Object["status"] = map[string]any{"answeredAt": at}
		delete(u.Object, "spec")
	}
	u.SetManagedFields(nil)
	return u, nil
}

// begin takes a question, unless it is answered, too old, or too many are.
func (q *Questions) begin(u *unstructured.Unstructured) bool {
	at, _, _ := unstructured.NestedString(u.Object, "status", "answeredAt")
	if at != "" || time.Since(u.GetCreationTimestamp().Time) > question.Lives {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	space := u.GetNamespace()
	if q.inFlight[u.GetUID()] || len(q.inFlight) >= mostAtOnce || q.of[space] >= mostOfOne {
		return false
	}
	q.inFlight[u.GetUID()] = true
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

// answer answers one question, after those whose turn is before.
func (q *Questions) answer(ctx context.Context, gvr schema.GroupVersionResource, u *unstructured.Unstructured) {
	space, name := u.GetNamespace(), u.GetName()
	if wait := time.Duration(q.rank(u.GetUID())) * turn; wait > 0 {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
		now, err := q.API.Resource(gvr).Namespace(space).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return // it is gone, or nobody can be told
		}
		if at, _, _ := unstructured.NestedString(now.Object, "status", "answeredAt"); at != "" {
			return
		}
	}
	raw, err := u.MarshalJSON()
	var asked question.Question
	if err == nil {
		err = json.Unmarshal(raw, &asked)
	}
	if err != nil {
		q.Log.Warn("a question is not understood", "namespace", space, "name", name, "error", err)
		return
	}
	asking, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	// The namespace is the object's own, whatever it says: who may create it there may see it.
	asked.Status = q.Answerer.Answer(asking, space, asked.Spec)
	asked.Status.AnsweredAt = metav1.NowMicro()
	if err := q.write(ctx, gvr, &asked); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		q.Log.Warn("an answer could not be written", "namespace", space, "name", name, "error", err)
		return
	}
	q.mu.Lock()
	q.answered++
	q.mu.Unlock()
}

// Answered is how many questions were answered.
func (q *Questions) Answered() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.answered
}

func (q *Questions) write(ctx context.Context, gvr schema.GroupVersionResource, asked *question.Question) error {
	raw, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(raw); err != nil {
		return err
	}
	_, err = q.API.Resource(gvr).Namespace(asked.Namespace).UpdateStatus(ctx, o, metav1.UpdateOptions{})
	return err
}

// rank is how many replicas are to answer a question before this one: each has another
// order of them, so that they share the work.
func (q *Questions) rank(uid types.UID) int {
	if q.Peers == nil {
		return 0
	}
	peers := slices.Clone(q.Peers())
	weight := func(name string) uint64 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(string(uid) + "/" + name))
		return h.Sum64()
	}
	slices.SortFunc(peers, func(a, b string) int { return cmp.Compare(weight(a), weight(b)) })
	return max(0, slices.Index(peers, q.Self))
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
