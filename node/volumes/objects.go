package volumes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
)

// firstAnswer is how long a reader waits for the first answer about an object,
// as in kubelet's watch based manager.
const firstAnswer = time.Second

// retries is how a lost or refused watch is asked for again. It begins far
// earlier than client-go's default (800 ms): the node authorizer learns of a new
// pod at about the time that the node does, and may refuse the first request.
var retries = wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 30 * time.Second}

// errNoAnswer is worded as kubelet's cache words it.
var errNoAnswer = errors.New("timed out waiting for the condition")

// objects keeps the ConfigMaps, or the Secrets, that the pods of the node refer
// to: one watch per object, for as long as a pod uses it. Its methods may be
// called concurrently.
type objects struct {
	ctx   context.Context // ends all watches
	group schema.GroupResource
	// used lists the names that a pod refers to.
	used func(*v1.Pod) sets.Set[string]
	// reflect watches one object into a store until ctx ends.
	reflect func(ctx context.Context, name types.NamespacedName, store cache.ReflectorStore, failed func(error))
	// changed is told, outside all locks, whose object changed, and how: old is nil
	// when there was none before, or it was not known.
	changed func(users []types.UID, old, now runtime.Object)

	mu    sync.Mutex
	items map[types.NamespacedName]*object
	pods  map[types.UID]sets.Set[types.NamespacedName]
}

func newConfigMaps(ctx context.Context, client kubernetes.Interface, changed func(users []types.UID, old, now runtime.Object)) *objects {
	o := newObjects(ctx, v1.Resource("configmap"), changed)
	o.used = visited(podutil.VisitPodConfigmapNames)
	o.reflect = func(ctx context.Context, n types.NamespacedName, store cache.ReflectorStore, failed func(error)) {
		api := client.CoreV1().ConfigMaps(n.Namespace)
		reflectOne(ctx, client, n, &v1.ConfigMap{}, store, failed,
			func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return api.List(ctx, o) }, api.Watch)
	}
	return o
}

func newSecrets(ctx context.Context, client kubernetes.Interface, changed func(users []types.UID, old, now runtime.Object)) *objects {
	o := newObjects(ctx, v1.Resource("secret"), changed)
	o.used = visited(podutil.VisitPodSecretNames)
	o.reflect = func(ctx context.Context, n types.NamespacedName, store cache.ReflectorStore, failed func(error)) {
		api := client.CoreV1().Secrets(n.Namespace)
		reflectOne(ctx, client, n, &v1.Secret{}, store, failed,
			func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return api.List(ctx, o) }, api.Watch)
	}
	return o
}

func newObjects(ctx context.Context, group schema.GroupResource, changed func(users []types.UID, old, now runtime.Object)) *objects {
	return &objects{
		ctx: ctx, group: group, changed: changed,
		items: map[types.NamespacedName]*object{},
		pods:  map[types.UID]sets.Set[types.NamespacedName]{},
	}
}

// visited turns one of podutil's visitors into a set of names.
func visited(visit func(*v1.Pod, podutil.Visitor) bool) func(*v1.Pod) sets.Set[string] {
	return func(pod *v1.Pod) sets.Set[string] {
		names := sets.New[string]()
		visit(pod, func(name string) bool {
			names.Insert(name)
			return true
		})
		return names
	}
}

// reflectOne watches the one object of that name, by the field selector that the
// node authorizer demands.
func reflectOne(ctx context.Context, client kubernetes.Interface, n types.NamespacedName, kind runtime.Object,
	store cache.ReflectorStore, failed func(error),
	list func(context.Context, metav1.ListOptions) (runtime.Object, error),
	watcher func(context.Context, metav1.ListOptions) (watch.Interface, error),
) {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, n.Name).String()
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			l, err := list(ctx, o)
			failed(err)
			return l, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			w, err := watcher(ctx, o)
			failed(err)
			return w, err
		},
	}
	backoff := retries
	cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, client), kind, store, cache.ReflectorOptions{
		Name:            "volumes " + n.String(),
		MinWatchTimeout: 30 * time.Minute, // as kubelet: fewer renewals of quiet watches
		Backoff:         &backoff,
	}).RunWithContext(ctx)
}

// register begins to watch what the pod refers to, and ends the watch of what it
// no longer refers to. It does not wait.
func (o *objects) register(pod *v1.Pod) {
	now := sets.New[types.NamespacedName]()
	for name := range o.used(pod) {
		now.Insert(types.NamespacedName{Namespace: pod.Namespace, Name: name})
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.pods[pod.UID]
	if now.Len() == 0 && before == nil {
		return
	}
	o.pods[pod.UID] = now
	for n := range now.Difference(before) {
		o.addLocked(n).users.Insert(pod.UID)
	}
	for n := range before.Difference(now) {
		o.dropLocked(n, pod.UID)
	}
}

// unregister forgets the pod. Watches that no other pod needs end.
func (o *objects) unregister(uid types.UID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for n := range o.pods[uid] {
		o.dropLocked(n, uid)
	}
	delete(o.pods, uid)
}

func (o *objects) addLocked(n types.NamespacedName) *object {
	if item, ok := o.items[n]; ok {
		return item
	}
	ctx, stop := context.WithCancel(o.ctx)
	item := &object{name: n, users: sets.New[types.UID](), stop: stop, synced: make(chan struct{})}
	item.changed = func(old, now runtime.Object) { o.tell(n, old, now) }
	o.items[n] = item
	go o.reflect(ctx, n, item, item.note)
	return item
}

func (o *objects) dropLocked(n types.NamespacedName, uid types.UID) {
	item := o.items[n]
	item.users.Delete(uid)
	if item.users.Len() == 0 {
		item.stop()
		delete(o.items, n)
	}
}

// tell passes on that an object changed.
func (o *objects) tell(n types.NamespacedName, old, now runtime.Object) {
	o.mu.Lock()
	var users []types.UID
	if item, ok := o.items[n]; ok {
		users = item.users.UnsortedList()
	}
	o.mu.Unlock()
	if len(users) > 0 {
		o.changed(users, old, now)
	}
}

// get gives the object as last seen. It waits for the first answer of the API
// server, at most firstAnswer. That it does not exist is an API error NotFound.
func (o *objects) get(namespace, name string) (runtime.Object, error) {
	o.mu.Lock()
	item, ok := o.items[types.NamespacedName{Namespace: namespace, Name: name}]
	o.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("object %q/%q not registered", namespace, name)
	}
	select {
	case <-item.synced:
	case <-time.After(firstAnswer):
		return nil, fmt.Errorf("failed to sync %s cache: %w", o.group.String(), item.giveUp())
	case <-o.ctx.Done():
		return nil, context.Cause(o.ctx)
	}
	if value := item.get(); value != nil {
		return value, nil
	}
	return nil, apierrors.NewNotFound(o.group, name)
}

// object is one watched object: a store with one place, filled by a Reflector.
type object struct {
	name    types.NamespacedName
	users   sets.Set[types.UID] // guarded by objects.mu
	stop    context.CancelFunc
	changed func(old, now runtime.Object)

	mu      sync.Mutex
	value   runtime.Object // nil: there is none
	known   bool
	synced  chan struct{} // closed once known
	missed  bool          // a reader gave up before that
	failure error
}

func (i *object) get() runtime.Object {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.value
}

// note keeps the last failure to reach the API server, for the reader that
// waits in vain; nil forgets it.
func (i *object) note(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failure = err
}

// giveUp says why there was no answer, and asks to be told when there is one.
func (i *object) giveUp() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.missed = true
	if i.failure != nil {
		return i.failure
	}
	return errNoAnswer
}

// set takes over what the API server says. A difference is told to others; the
// first answer only if somebody gave up waiting for it.
func (i *object) set(value runtime.Object) {
	i.mu.Lock()
	tell := i.missed
	if i.known {
		tell = version(i.value) != version(value)
	}
	old := i.value
	i.value = value
	if !i.known {
		i.known = true
		close(i.synced)
	}
	i.mu.Unlock()
	if immutable(value) {
		i.stop() // it cannot change any more, so the watch can go
	}
	if tell {
		i.changed(old, value)
	}
}

// mine tells whether an object of the stream is the one that is watched. The
// field selector should see to it; test clients ignore it.
func (i *object) mine(obj any) (runtime.Object, bool) {
	value, ok := obj.(runtime.Object)
	if !ok {
		return nil, false
	}
	meta, ok := obj.(metav1.Object)
	return value, ok && meta.GetName() == i.name.Name && meta.GetNamespace() == i.name.Namespace
}

// Add, Update, Delete, Replace and Resync make it a cache.ReflectorStore.
func (i *object) Add(obj any) error {
	if value, ok := i.mine(obj); ok {
		i.set(value)
	}
	return nil
}

// Update is Add.
func (i *object) Update(obj any) error { return i.Add(obj) }

// Delete notes that the object is gone.
func (i *object) Delete(obj any) error {
	if _, ok := i.mine(obj); ok {
		i.set(nil)
	}
	return nil
}

// Replace takes over a list: of the one object, or empty.
func (i *object) Replace(list []any, _ string) error {
	for _, obj := range list {
		if value, ok := i.mine(obj); ok {
			i.set(value)
			return nil
		}
	}
	i.set(nil)
	return nil
}

// Resync is not needed: nothing is queued.
func (i *object) Resync() error { return nil }

func version(o runtime.Object) string {
	if meta, ok := o.(metav1.Object); ok {
		return string(meta.GetUID()) + "/" + meta.GetResourceVersion()
	}
	return ""
}

func immutable(o runtime.Object) bool {
	switch o := o.(type) {
	case *v1.ConfigMap:
		return o.Immutable != nil && *o.Immutable
	case *v1.Secret:
		return o.Immutable != nil && *o.Immutable
	}
	return false
}
