package sense

import (
	"context"
	"reflect"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/tools/cache"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// APIPods turns the watch on a node's pods into facts.
type APIPods struct {
	hearers    APIHearers
	emit       func(fact.Fact)
	synced     chan struct{}
	store      cache.Store
	controller cache.Controller
}

// APIHearers are told of what is no fact.
type APIHearers struct {
	// Mirror hears of mirror pods: the static pods behind them are what runs.
	Mirror func(pod *v1.Pod, gone bool)
	// StatusSeen hears of the status that the API server has; first is set when the
	// pod was not seen before.
	StatusSeen func(pod *v1.Pod, first bool)
}

// NewAPIPods makes a source that has seen nothing yet, of a client of core/v1: not of
// all of Kubernetes' groups, whose types are most of a small program.
func NewAPIPods(client cache.Getter, node string, h APIHearers) *APIPods {
	s := &APIPods{hearers: h, synced: make(chan struct{})}
	selector := fields.OneTermEqualSelector("spec.nodeName", node).String()
	watch := cache.NewFilteredListWatchFromClient(client, "pods", metav1.NamespaceAll,
		func(o *metav1.ListOptions) { o.FieldSelector = selector })
	s.store, s.controller = cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: watch,
		ObjectType:    &v1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { s.changed(nil, o.(*v1.Pod)) },
			UpdateFunc: func(old, o any) { s.changed(old.(*v1.Pod), o.(*v1.Pod)) },
			DeleteFunc: s.deleted,
		},
	})
	return s
}

// Get finds a pod as the API server last had it.
func (s *APIPods) Get(pod fact.Pod) (*v1.Pod, bool) {
	o, ok, err := s.store.GetByKey(pod.String())
	if err != nil || !ok {
		return nil, false
	}
	object, isPod := o.(*v1.Pod)
	return object, isPod && object.UID == pod.UID
}

// Synced is closed once the first list is in.
func (s *APIPods) Synced() <-chan struct{} { return s.synced }

// Run implements [Source]. The watch resumes by itself after a lost connection;
// objects that vanished meanwhile come as deletions, and so do pods that are known
// from before and are not in the first list.
func (s *APIPods) Run(ctx context.Context, known pods.Registry, emit func(fact.Fact)) error {
	s.emit = emit
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		if !cache.WaitForCacheSync(ctx.Done(), s.controller.HasSynced) {
			return
		}
		for _, p := range known.All() {
			if _, ok := s.Get(p.Key); p.Source == fact.FromAPI && !ok {
				emit(fact.Fact{Pod: p.Key, Body: fact.DeletionSeen{Gone: true}})
			}
		}
		close(s.synced)
	})
	s.controller.RunWithContext(ctx)
	return nil
}

func (s *APIPods) changed(old, pod *v1.Pod) {
	if isMirror(pod) {
		if old == nil || old.UID != pod.UID || pod.DeletionTimestamp != nil && old.DeletionTimestamp == nil {
			s.hearers.Mirror(pod, false)
		}
		return
	}
	s.hearers.StatusSeen(pod, old == nil)
	for _, f := range factsOf(old, pod) {
		s.emit(f)
	}
}

func (s *APIPods) deleted(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	pod, ok := o.(*v1.Pod)
	if !ok {
		return
	}
	if isMirror(pod) {
		s.hearers.Mirror(pod, true)
		return
	}
	s.emit(PodFact(pod, fact.DeletionSeen{GraceSeconds: GraceOf(pod), Gone: true}))
}

// factsOf says what a change of the API object means to the node. What nobody
// here acts on (managed fields, the status this node wrote itself) is no fact.
func factsOf(old, pod *v1.Pod) []fact.Fact {
	if old != nil && old.UID != pod.UID {
		return append([]fact.Fact{PodFact(old, fact.DeletionSeen{Gone: true})}, factsOf(nil, pod)...)
	}
	var facts []fact.Fact
	if old == nil && pod.Status.StartTime != nil { // some agent ran it already
		facts = append(facts, PodFact(pod, fact.AdoptedStatus{Status: pod.Status}))
	}
	if old == nil || specChanged(old, pod) {
		facts = append(facts, PodFact(pod, fact.SpecSeen{Object: Trimmed(pod), By: LastManager(pod), Changed: ChangedFields(old, pod), Source: fact.FromAPI}))
	}
	if foreign := foreignConditions(pod); old == nil || !reflect.DeepEqual(foreignConditions(old), foreign) {
		if len(foreign) > 0 || old != nil {
			facts = append(facts, PodFact(pod, fact.ConditionsSeen{Conditions: foreign}))
		}
	}
	if pod.DeletionTimestamp != nil && (old == nil || old.DeletionTimestamp == nil || GraceOf(old) != GraceOf(pod)) {
		facts = append(facts, PodFact(pod, fact.DeletionSeen{GraceSeconds: GraceOf(pod), By: LastManager(pod)}))
	}
	return facts
}

func specChanged(old, pod *v1.Pod) bool {
	return old.Generation != pod.Generation || !reflect.DeepEqual(old.Spec, pod.Spec) ||
		!reflect.DeepEqual(old.Labels, pod.Labels) || !reflect.DeepEqual(old.Annotations, pod.Annotations)
}

// Trimmed is the pod without what the journal need not keep.
func Trimmed(pod *v1.Pod) *v1.Pod {
	t := &v1.Pod{TypeMeta: pod.TypeMeta, ObjectMeta: *pod.ObjectMeta.DeepCopy(), Spec: *pod.Spec.DeepCopy()}
	t.ManagedFields = nil
	return t
}

// kubeletConditions are those that a node owns (kubelet: types/pod_status.go).
var kubeletConditions = []v1.PodConditionType{
	v1.PodScheduled, v1.PodReady, v1.PodInitialized, v1.ContainersReady, v1.PodResizeInProgress, v1.PodResizePending,
	v1.PodReadyToStartContainers, v1.AllContainersRestarting,
}

// foreignConditions are those that this node does not own.
func foreignConditions(pod *v1.Pod) []v1.PodCondition {
	var foreign []v1.PodCondition
	for _, c := range pod.Status.Conditions {
		if !slices.Contains(kubeletConditions, c.Type) {
			foreign = append(foreign, c)
		}
	}
	return foreign
}

// LastManager is who changed the object last, as managed fields tell.
func LastManager(object metav1.Object) string {
	var last metav1.ManagedFieldsEntry
	for _, m := range object.GetManagedFields() {
		if m.Subresource == "" && (last.Time == nil || m.Time != nil && !m.Time.Before(last.Time)) {
			last = m
		}
	}
	return last.Manager
}

// GraceOf is how many seconds a pod has to end.
func GraceOf(pod *v1.Pod) int64 {
	if pod.DeletionGracePeriodSeconds != nil {
		return *pod.DeletionGracePeriodSeconds
	}
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return 0
}

func isMirror(pod *v1.Pod) bool {
	_, mirror := pod.Annotations[v1.MirrorPodAnnotationKey]
	return mirror
}

// PodFact is what was observed of a pod.
func PodFact(pod *v1.Pod, body fact.Observed) fact.Fact {
	return fact.Fact{Pod: pods.KeyOf(pod), Body: body}
}
