package node

import (
	"context"
	"reflect"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/kubelet/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/pods"
)

// apiSource turns the watch on this node's pods into facts.
type apiSource struct {
	client kubernetes.Interface
	node   string
	submit func(fact.Fact)
	// mirror hears of mirror pods: the static pods behind them are what runs.
	mirror func(pod *v1.Pod, gone bool)
	// known hears of the status that the API server has; first is set when the pod
	// was not seen before.
	known func(pod *v1.Pod, first bool)

	store      cache.Store
	controller cache.Controller
}

// newAPISource makes a source that has seen nothing yet.
func newAPISource(client kubernetes.Interface, node string, submit func(fact.Fact)) *apiSource {
	s := &apiSource{client: client, node: node, submit: submit}
	selector := fields.OneTermEqualSelector("spec.nodeName", node).String()
	watch := cache.NewFilteredListWatchFromClient(client.CoreV1().RESTClient(), "pods", metav1.NamespaceAll,
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

// get finds a pod as the API server last had it.
func (s *apiSource) get(pod fact.Pod) (*v1.Pod, bool) {
	o, ok, err := s.store.GetByKey(pod.String())
	if err != nil || !ok {
		return nil, false
	}
	object, isPod := o.(*v1.Pod)
	return object, isPod && object.UID == pod.UID
}

// has says whether the API server knows a pod. It is only to be asked once the
// first list is in.
func (s *apiSource) has(pod fact.Pod) bool {
	_, ok := s.get(pod)
	return ok
}

// run watches until ctx ends. synced is closed once the first list is in.
// The watch resumes by itself after a lost connection; objects that vanished
// meanwhile come as deletions.
func (s *apiSource) run(ctx context.Context, synced chan<- struct{}) {
	go func() {
		if cache.WaitForCacheSync(ctx.Done(), s.controller.HasSynced) {
			close(synced)
		}
	}()
	s.controller.RunWithContext(ctx)
}

func (s *apiSource) changed(old, pod *v1.Pod) {
	if isMirror(pod) {
		if old == nil || old.UID != pod.UID || pod.DeletionTimestamp != nil && old.DeletionTimestamp == nil {
			s.mirror(pod, false)
		}
		return
	}
	s.known(pod, old == nil)
	for _, f := range factsOf(old, pod) {
		s.submit(f)
	}
}

func (s *apiSource) deleted(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	pod, ok := o.(*v1.Pod)
	if !ok {
		return
	}
	if isMirror(pod) {
		s.mirror(pod, true)
		return
	}
	s.submit(podFact(pod, fact.DeletionSeen{GraceSeconds: graceOf(pod), Gone: true}))
}

// factsOf says what a change of the API object means to the node. What nobody
// here acts on (managed fields, the status this node wrote itself) is no fact.
func factsOf(old, pod *v1.Pod) []fact.Fact {
	if old != nil && old.UID != pod.UID {
		return append([]fact.Fact{podFact(old, fact.DeletionSeen{Gone: true})}, factsOf(nil, pod)...)
	}
	var facts []fact.Fact
	if old == nil || specChanged(old, pod) {
		facts = append(facts, podFact(pod, fact.SpecSeen{Object: trimmed(pod), By: lastManager(pod), Changed: changedFields(old, pod), Source: "api"}))
	}
	if foreign := foreignConditions(pod); old == nil || !reflect.DeepEqual(foreignConditions(old), foreign) {
		if len(foreign) > 0 || old != nil {
			facts = append(facts, podFact(pod, fact.ConditionsSeen{Conditions: foreign}))
		}
	}
	if pod.DeletionTimestamp != nil && (old == nil || old.DeletionTimestamp == nil || graceOf(old) != graceOf(pod)) {
		facts = append(facts, podFact(pod, fact.DeletionSeen{GraceSeconds: graceOf(pod), By: lastManager(pod)}))
	}
	return facts
}

func specChanged(old, pod *v1.Pod) bool {
	return old.Generation != pod.Generation || !reflect.DeepEqual(old.Spec, pod.Spec) ||
		!reflect.DeepEqual(old.Labels, pod.Labels) || !reflect.DeepEqual(old.Annotations, pod.Annotations)
}

// trimmed is the pod without what the journal need not keep.
func trimmed(pod *v1.Pod) *v1.Pod {
	t := &v1.Pod{TypeMeta: pod.TypeMeta, ObjectMeta: *pod.ObjectMeta.DeepCopy(), Spec: *pod.Spec.DeepCopy()}
	t.ManagedFields = nil
	return t
}

// foreignConditions are those that this node does not own.
func foreignConditions(pod *v1.Pod) []v1.PodCondition {
	var foreign []v1.PodCondition
	for _, c := range pod.Status.Conditions {
		if !types.PodConditionByKubelet(c.Type) {
			foreign = append(foreign, c)
		}
	}
	return foreign
}

// lastManager is who changed the object last, as managed fields tell.
func lastManager(pod *v1.Pod) string {
	var last *metav1.ManagedFieldsEntry
	for i := range pod.ManagedFields {
		m := &pod.ManagedFields[i]
		if m.Subresource != "" || m.Time == nil {
			continue
		}
		if last == nil || last.Time.Before(m.Time) {
			last = m
		}
	}
	if last == nil {
		return ""
	}
	return last.Manager
}

func graceOf(pod *v1.Pod) int64 {
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

func podFact(pod *v1.Pod, body fact.Observed) fact.Fact {
	return fact.Fact{Pod: pods.KeyOf(pod), Body: body}
}
