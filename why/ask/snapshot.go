package ask

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"whylet.dev/whylet/why/cluster"
	"whylet.dev/whylet/why/record"
)

// mostKept is how many events of a namespace, or of all, are listed at once. Where there are more, they are read by their
// selectors, object by object.
const mostKept = 5000

// snapshot is what was read for one question: each list, object, log and answer of a node once, so that all parts of an
// answer are of one moment. It may be used from many goroutines.
type snapshot struct {
	mu    sync.Mutex
	reads map[string]*reading
	count map[string]int
}

type reading struct {
	once  sync.Once
	done  bool // guarded by the snapshot's lock
	value any
	err   error
}

func newSnapshot() *snapshot {
	return &snapshot{reads: map[string]*reading{}, count: map[string]int{}}
}

// once reads what was not read yet.
func once[T any](s *snapshot, key string, read func() (T, error)) (T, error) {
	s.mu.Lock()
	r := s.reads[key]
	if r == nil {
		r = &reading{}
		s.reads[key] = r
	}
	s.mu.Unlock()
	r.once.Do(func() {
		value, err := read()
		s.mu.Lock()
		defer s.mu.Unlock()
		r.value, r.err, r.done = value, err, true
	})
	value, _ := r.value.(T)
	return value, r.err
}

// has returns what was read already, and without an error.
func has[T any](s *snapshot, key string) (value T, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.reads[key]; r != nil && r.done && r.err == nil {
		value, ok = r.value.(T)
	}
	return value, ok
}

// allows reports whether something that is bounded may be done once more.
func (s *snapshot) allows(what string, most int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count[what]++
	return s.count[what] <= most
}

// allowsOnce is the same for something that counts once, however often it is done.
func (s *snapshot) allowsOnce(what, which string, most int) bool {
	ok, _ := once(s, "allowed "+what+" "+which, func() (bool, error) { return s.allows(what, most), nil })
	return ok
}

// kindFor returns the kind of objects of a Go type.
func kindFor[T any]() record.Kind {
	known, _, err := scheme.Scheme.ObjectKinds(any(new(T)).(runtime.Object))
	if err != nil {
		panic(err)
	}
	k, _ := record.KindOf(known[0].GroupVersion().String(), known[0].Kind)
	return k
}

// kindNamed returns the kind of a lower-case name.
func kindNamed(name string) (record.Kind, bool) {
	i := slices.IndexFunc(record.Kinds, func(k record.Kind) bool { return strings.ToLower(k.Kind) == name })
	if i < 0 {
		return record.Kind{}, false
	}
	return record.Kinds[i], true
}

// fromCache are the kinds that change seldom: the API server's cache will do for them. A list that must be new may take it a
// tenth of a second.
var fromCache = []string{"services", "nodes", "networkpolicies", "replicasets", "controllerrevisions"}

// list lists a kind without regard to what was read already.
func (c *Cluster) list(ctx context.Context, k record.Kind, space string, o metav1.ListOptions) (runtime.Object, error) {
	into, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(k.Version, k.Kind+"List"))
	if err != nil {
		return nil, err
	}
	r := c.client.CoreV1().RESTClient().Get().AbsPath(k.Path(space)).VersionedParams(&o, scheme.ParameterCodec)
	return into, r.Do(ctx).Into(into)
}

// listKey names the list of a kind in a namespace, or what a selector leaves of it.
func listKey(k record.Kind, space string, o metav1.ListOptions) string {
	return strings.Join([]string{"list", k.Path(space), o.LabelSelector, o.FieldSelector}, " ")
}

// listOnce lists a kind, unless it was listed for this question already. A list that is bounded counts for that of all only
// if it has all.
func (q *question) listOnce(ctx context.Context, k record.Kind, space string, o metav1.ListOptions) (runtime.Object, error) {
	key := listKey(k, space, o)
	if o.Limit == 0 {
		return once(q.read, key, func() (runtime.Object, error) {
			if slices.Contains(fromCache, k.Resource) {
				o.ResourceVersion = "0"
			}
			return q.list(ctx, k, space, o)
		})
	}
	if list, ok := has[runtime.Object](q.read, key); ok {
		return list, nil
	}
	list, err := once(q.read, fmt.Sprint(key, " ", o.Limit), func() (runtime.Object, error) { return q.list(ctx, k, space, o) })
	if err == nil && isWhole(list) {
		return once(q.read, key, func() (runtime.Object, error) { return list, nil })
	}
	return list, err
}

// allOf returns the objects of a kind in a namespace, "" for all. They are shared: nobody changes them.
func allOf[T any](ctx context.Context, q *question, space string) ([]T, error) {
	return someOf[T](ctx, q, space, metav1.ListOptions{})
}

// readable returns the same; none where they may not be listed.
func readable[T any](ctx context.Context, q *question, space string) []T {
	all, _ := allOf[T](ctx, q, space)
	return all
}

// pointers gives the objects of a list one after the other.
func pointers[T any](all []T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	}
}

// whole returns the same where it is known that they are all; nil where they may not be listed, or a dump lacks some.
func whole[T any](ctx context.Context, q *question, space string) []T {
	all, err := allOf[T](ctx, q, space)
	if err != nil || isPartial[T](q, space) {
		return nil
	}
	return append([]T{}, all...)
}

// someOf returns those that selectors fit.
func someOf[T any](ctx context.Context, q *question, space string, o metav1.ListOptions) ([]T, error) {
	k := kindFor[T]()
	for _, in := range []string{space, metav1.NamespaceAll} {
		of := listKey(k, in, metav1.ListOptions{})
		list, ok := has[runtime.Object](q.read, of)
		if !ok || !isWhole(list) {
			continue
		}
		if of == listKey(k, space, o) {
			return items[T](list), nil
		}
		return once(q.read, "some "+listKey(k, space, o), func() ([]T, error) {
			all := items[T](list)
			if in != space && listKey(k, space, o) != listKey(k, space, metav1.ListOptions{}) { // the namespace is taken out once
				all = readable[T](ctx, q, space)
			}
			return selected(all, space, o)
		})
	}
	list, err := q.listOnce(ctx, k, space, o)
	if err != nil {
		return nil, err
	}
	return items[T](list), nil
}

// oneOf returns an object by its name; beside an error, an empty one.
func oneOf[T any](ctx context.Context, q *question, space, name string) (*T, error) {
	o, err := q.object(ctx, kindFor[T](), space, name)
	if one, ok := any(o).(*T); ok && err == nil {
		return one, nil
	}
	return new(T), err
}

// object is the same of a kind; nil beside an error.
func (q *question) object(ctx context.Context, k record.Kind, space, name string) (metav1.Object, error) {
	if !k.Namespaced {
		space = ""
	}
	for _, in := range []string{space, metav1.NamespaceAll} {
		list, ok := has[runtime.Object](q.read, listKey(k, in, metav1.ListOptions{}))
		if !ok {
			continue
		}
		byName, _ := once(q.read, "names "+k.Path(in), func() (map[string]metav1.Object, error) { return byNames(list), nil })
		if one := byName[space+"/"+name]; one != nil {
			return one, nil
		}
		if isWhole(list) {
			return nil, apierrors.NewNotFound(schema.GroupResource{Group: schema.FromAPIVersionAndKind(k.Version, k.Kind).Group, Resource: k.Resource}, name)
		}
	}
	return once(q.read, "object "+k.Path(space)+"/"+name, func() (metav1.Object, error) {
		one, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(k.Version, k.Kind))
		if err != nil {
			return nil, err
		}
		if err := q.client.CoreV1().RESTClient().Get().AbsPath(k.Path(space), name).Do(ctx).Into(one); err != nil {
			return nil, err
		}
		return meta.Accessor(one)
	})
}

func items[T any](list runtime.Object) []T {
	at, err := meta.GetItemsPtr(list)
	if all, ok := at.(*[]T); ok && err == nil {
		return *all
	}
	return nil
}

func byNames(list runtime.Object) map[string]metav1.Object {
	byName := map[string]metav1.Object{}
	for _, o := range objects(list) {
		byName[cluster.Key(o)] = o
	}
	return byName
}

// selected returns the objects of a namespace that selectors fit.
func selected[T any](all []T, space string, o metav1.ListOptions) (some []T, err error) {
	byLabels, err := labels.Parse(o.LabelSelector)
	if err != nil {
		return nil, err
	}
	byFields, err := fields.ParseSelector(o.FieldSelector)
	if err != nil {
		return nil, err
	}
	fits := func(m metav1.Object) bool {
		return !slices.ContainsFunc(byFields.Requirements(), func(r fields.Requirement) bool { return fieldOf[r.Field](m) != r.Value })
	}
	for i := range all {
		m, err := meta.Accessor(&all[i])
		if err == nil && (space == "" || m.GetNamespace() == space) && byLabels.Matches(labels.Set(m.GetLabels())) && fits(m) {
			some = append(some, all[i])
		}
	}
	return some, nil
}

// fieldOf has the fields of objects by which they are selected here.
var fieldOf = map[string]func(metav1.Object) string{
	"metadata.name":       metav1.Object.GetName,
	"spec.nodeName":       func(o metav1.Object) string { return o.(*v1.Pod).Spec.NodeName },
	"status.podIP":        func(o metav1.Object) string { return o.(*v1.Pod).Status.PodIP },
	"involvedObject.uid":  func(o metav1.Object) string { return string(o.(*v1.Event).InvolvedObject.UID) },
	"involvedObject.name": func(o metav1.Object) string { return o.(*v1.Event).InvolvedObject.Name },
	"involvedObject.kind": func(o metav1.Object) string { return o.(*v1.Event).InvolvedObject.Kind },
	"reason":              func(o metav1.Object) string { return o.(*v1.Event).Reason },
	"type":                func(o metav1.Object) string { return o.(*v1.Event).Type },
}

// mostSelected is about how many objects the events are read object by object; for more all of the namespace are.
const mostSelected = 2

// events returns the events that a selector fits; none where they may not be read.
func (q *question) events(ctx context.Context, space string, fits fields.Set) []v1.Event {
	o := metav1.ListOptions{FieldSelector: fits.String()}
	if !q.read.allowsOnce("events of "+space, o.FieldSelector, mostSelected) {
		_, _ = q.allEvents(ctx, space) // of which those that fit are taken, if it is whole
	}
	all, _ := someOf[v1.Event](ctx, q, space, o)
	return all
}

// allEvents returns the events of a namespace; not all where there are very many.
func (q *question) allEvents(ctx context.Context, space string) ([]v1.Event, error) {
	if all, ok := has[runtime.Object](q.read, listKey(kindFor[v1.Event](), "", metav1.ListOptions{})); ok && isWhole(all) {
		return allOf[v1.Event](ctx, q, space)
	}
	list, err := q.listOnce(ctx, kindFor[v1.Event](), space, metav1.ListOptions{Limit: q.mostEvents()})
	if err != nil {
		return nil, err
	}
	return items[v1.Event](list), nil
}

// mostEvents bounds a list of events. A recorded case has no more than it has.
func (q *question) mostEvents() int64 {
	if q.options.Now != nil {
		return 0
	}
	return mostKept
}

// isWhole reports whether all objects that were asked for are in a list. One of a dump may lack some, and an object that
// it lacks may exist.
func isWhole(list runtime.Object) bool {
	m, err := meta.ListAccessor(list)
	return err == nil && m.GetContinue() == "" && (m.GetRemainingItemCount() == nil || *m.GetRemainingItemCount() == 0)
}

// isPartial reports whether the list of a kind was read and lacks objects.
func isPartial[T any](q *question, space string) bool {
	list, ok := has[runtime.Object](q.read, listKey(kindFor[T](), space, metav1.ListOptions{}))
	return ok && !isWhole(list)
}

// lists are the API's objects of a namespace, or of all, by their kinds: each is listed once.
type lists map[string]runtime.Object

// listed lists kinds at the same time. A kind that cannot be listed is left out; pods are the exception.
func (q *question) listed(ctx context.Context, o metav1.ListOptions, kinds ...string) (lists, error) {
	l := lists{}
	var mu sync.Mutex
	var podErr error
	each(kinds, func(_ int, kind string) {
		own := o
		if kind == "event" {
			own.Limit = q.mostEvents()
		}
		k, _ := kindNamed(kind)
		list, err := q.listOnce(ctx, k, q.space, own)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			l[kind] = list
		case kind == "pod":
			podErr = err
		default:
			q.told("%s objects are left out: %s", kind, err)
		}
	})
	return l, podErr
}

// itemsOf returns the objects of a kind; none where they could not be listed.
func itemsOf[T any](l lists, kind string) (all []*T) {
	for _, o := range objects(l[kind]) {
		if one, ok := o.(any).(*T); ok {
			all = append(all, one)
		}
	}
	return all
}

// objects returns what all objects of a list have; none of nil.
func objects(list runtime.Object) (all []metav1.Object) {
	if list == nil {
		return nil
	}
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		if one, err := meta.Accessor(o); err == nil {
			all = append(all, one)
		}
		return nil
	})
	return all
}

// isWhole reports whether all objects of a kind are in its list.
func (l lists) isWhole(kind string) bool { return l[kind] != nil && isWhole(l[kind]) }
