package sense

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
	"k8s.io/client-go/tools/cache"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
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

// ConfigKind is a kind of object that pods take their configuration from.
type ConfigKind struct {
	Group schema.GroupResource
	// Empty is an object of the kind.
	Empty runtime.Object
	// Used lists the names that a pod refers to.
	Used func(*v1.Pod) sets.Set[string]
	// List and Watch ask the API server.
	List  func(ctx context.Context, namespace string, o metav1.ListOptions) (runtime.Object, error)
	Watch func(ctx context.Context, namespace string, o metav1.ListOptions) (watch.Interface, error)
}

// Configs keeps the ConfigMaps and Secrets that the pods of the node refer to: one
// watch per object, for as long as a pod uses it. It tells of their changes, also of
// those from before Run. Its methods may be called concurrently.
type Configs struct {
	ctx    context.Context // ends all watches
	client any
	kinds  []ConfigKind
	// changed hears, outside all locks, whose object changed.
	changed func(users []types.UID)

	mu    sync.Mutex
	items map[configKey]*config
	pods  map[types.UID]sets.Set[configKey]
	// untold are the changes that are not told yet, and news says that there are some.
	untold []configChange
	news   chan struct{}
}

type configKey struct {
	group           schema.GroupResource
	namespace, name string
}

type configChange struct {
	users   []types.UID
	content fact.ConfigChanged
	differs bool
}

// NewConfigs makes a source that watches until ctx ends, whether it runs or not. Client
// is what the kinds ask.
func NewConfigs(ctx context.Context, client any, changed func(users []types.UID), kinds ...ConfigKind) *Configs {
	return &Configs{
		ctx: ctx, client: client, kinds: kinds, changed: changed,
		items: map[configKey]*config{}, pods: map[types.UID]sets.Set[configKey]{}, news: make(chan struct{}, 1),
	}
}

// Run implements [Source]. Whoever watches does not wait for what is told to be taken.
func (c *Configs) Run(ctx context.Context, known pods.Registry, emit func(fact.Fact)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.news:
		}
		c.mu.Lock()
		untold := c.untold
		c.untold = nil
		c.mu.Unlock()
		for _, change := range untold {
			for _, uid := range change.users {
				if p, ok := known.Get(uid); ok {
					change.tell(p, emit)
				}
			}
		}
	}
}

// tell tells a pod of a change. That it was waited for is told to pods that lack
// something: the volumes of the others follow by themselves.
func (c configChange) tell(p pods.Pod, emit func(fact.Fact)) {
	if c.differs {
		emit(fact.Fact{Pod: p.Key, Body: c.content})
	}
	if p.Sandbox.ID == "" || anyWaiting(p.Status) {
		emit(fact.Fact{Pod: p.Key, Body: fact.ReferenceChanged{}})
	}
}

func anyWaiting(s v1.PodStatus) bool {
	for _, set := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range set {
			if set[i].State.Waiting != nil {
				return true
			}
		}
	}
	return false
}

// Register begins to watch what the pod refers to, and ends the watch of what it
// no longer refers to. It does not wait.
func (c *Configs) Register(pod *v1.Pod) {
	now := sets.New[configKey]()
	for i := range c.kinds {
		for name := range c.kinds[i].Used(pod) {
			now.Insert(configKey{c.kinds[i].Group, pod.Namespace, name})
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.pods[pod.UID]
	if now.Len() == 0 && before == nil {
		return
	}
	c.pods[pod.UID] = now
	for key := range now.Difference(before) {
		c.addLocked(key).users.Insert(pod.UID)
	}
	for key := range before.Difference(now) {
		c.dropLocked(key, pod.UID)
	}
}

// Unregister forgets the pod. Watches that no other pod needs end.
func (c *Configs) Unregister(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.pods[uid] {
		c.dropLocked(key, uid)
	}
	delete(c.pods, uid)
}

func (c *Configs) addLocked(key configKey) *config {
	if item, ok := c.items[key]; ok {
		return item
	}
	ctx, stop := context.WithCancel(c.ctx)
	item := &config{key: key, users: sets.New[types.UID](), stop: stop, synced: make(chan struct{})}
	item.changed = func(old, now runtime.Object) { c.note(key, old, now) }
	c.items[key] = item
	for i := range c.kinds {
		if c.kinds[i].Group == key.group {
			go c.reflect(ctx, &c.kinds[i], item)
		}
	}
	return item
}

func (c *Configs) dropLocked(key configKey, uid types.UID) {
	item := c.items[key]
	delete(item.users, uid)
	if item.users.Len() == 0 {
		item.stop()
		delete(c.items, key)
	}
}

// reflect watches the one object into its place until ctx ends, by the field selector
// that the node authorizer demands.
func (c *Configs) reflect(ctx context.Context, kind *ConfigKind, item *config) {
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, item.key.name).String()
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			l, err := kind.List(ctx, item.key.namespace, o)
			item.note(err)
			return l, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			w, err := kind.Watch(ctx, item.key.namespace, o)
			item.note(err)
			return w, err
		},
	}
	backoff := retries
	cache.NewReflectorWithOptions(cache.ToListWatcherWithWatchListSemantics(lw, c.client), kind.Empty, item, cache.ReflectorOptions{
		Name:            "configs " + item.key.namespace + "/" + item.key.name,
		MinWatchTimeout: 30 * time.Minute, // as kubelet: fewer renewals of quiet watches
		Backoff:         &backoff,
	}).RunWithContext(ctx)
}

// note takes in that an object changed: old is nil when there was none before, or it
// was not known.
func (c *Configs) note(key configKey, old, now runtime.Object) {
	content, differs := contentChange(old, now)
	c.mu.Lock()
	var users []types.UID
	if item, ok := c.items[key]; ok {
		users = item.users.UnsortedList()
		c.untold = append(c.untold, configChange{users, content, differs})
	}
	c.mu.Unlock()
	c.wake(users)
}

// Changed takes in that something else changed that these pods take their
// configuration from, such as a trust bundle.
func (c *Configs) Changed(users []types.UID) {
	if len(users) == 0 {
		return
	}
	c.mu.Lock()
	c.untold = append(c.untold, configChange{users: users})
	c.mu.Unlock()
	c.wake(users)
}

// wake has what is untold told, and tells changed.
func (c *Configs) wake(users []types.UID) {
	select {
	case c.news <- struct{}{}:
	default:
	}
	c.changed(users)
}

// Get gives the object as last seen. It waits for the first answer of the API
// server, at most firstAnswer. That it does not exist is an API error NotFound.
func (c *Configs) Get(group schema.GroupResource, namespace, name string) (runtime.Object, error) {
	c.mu.Lock()
	item, ok := c.items[configKey{group, namespace, name}]
	c.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("object %q/%q not registered", namespace, name)
	}
	select {
	case <-item.synced:
	case <-time.After(firstAnswer):
		return nil, fmt.Errorf("failed to sync %s cache: %w", group.String(), item.giveUp())
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	}
	if value := item.get(); value != nil {
		return value, nil
	}
	return nil, apierrors.NewNotFound(group, name)
}

// config is one watched object: a store with one place, filled by a Reflector.
type config struct {
	key     configKey
	users   sets.Set[types.UID] // guarded by Configs.mu
	stop    context.CancelFunc
	changed func(old, now runtime.Object)

	mu      sync.Mutex
	value   runtime.Object // nil: there is none
	known   bool
	synced  chan struct{} // closed once known
	missed  bool          // a reader gave up before that
	failure error
}

func (i *config) get() runtime.Object {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.value
}

// note keeps the last failure to reach the API server, for the reader that
// waits in vain; nil forgets it.
func (i *config) note(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failure = err
}

// giveUp says why there was no answer, and asks to be told when there is one.
func (i *config) giveUp() error {
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
func (i *config) set(value runtime.Object) {
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
func (i *config) mine(obj any) (runtime.Object, bool) {
	value, ok := obj.(runtime.Object)
	if !ok {
		return nil, false
	}
	meta, ok := obj.(metav1.Object)
	return value, ok && meta.GetName() == i.key.name && meta.GetNamespace() == i.key.namespace
}

// Add, Update, Delete, Replace and Resync make it a cache.ReflectorStore.
func (i *config) Add(obj any) error {
	if value, ok := i.mine(obj); ok {
		i.set(value)
	}
	return nil
}

// Update is Add.
func (i *config) Update(obj any) error { return i.Add(obj) }

// Delete notes that the object is gone.
func (i *config) Delete(obj any) error {
	if _, ok := i.mine(obj); ok {
		i.set(nil)
	}
	return nil
}

// Replace takes over a list: of the one object, or empty.
func (i *config) Replace(list []any, _ string) error {
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
func (i *config) Resync() error { return nil }

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
