package api

import (
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
)

// slim is a pod without what nobody here reads, so that the cache stays small. Of
// managed fields it keeps who wrote last.
func slim(pod *v1.Pod) *v1.Pod {
	by := lastManager(pod)
	pod.ManagedFields = nil
	if by != "" {
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: by}}
	}
	delete(pod.Annotations, v1.LastAppliedConfigAnnotation)
	return pod
}

// lastManager is who changed the object last, as managed fields tell.
func lastManager(pod *v1.Pod) string {
	by, at := "", time.Time{}
	for _, m := range pod.ManagedFields {
		switch {
		case m.Subresource != "":
		case m.Time == nil && by == "":
			by = m.Manager
		case m.Time != nil && !m.Time.Time.Before(at):
			by, at = m.Manager, m.Time.Time
		}
	}
	return by
}

// KeyOf says which pod it is. A mirror pod stands for a static one, and the runtime
// knows that by its own UID.
func KeyOf(pod *v1.Pod) fact.Pod {
	key := fact.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
	if own := pod.Annotations[v1.MirrorPodAnnotationKey]; own != "" {
		key.UID = types.UID(own)
	}
	return key
}

// FactsOf says what a change of the API object tells; old is nil for one that was
// not seen before.
func FactsOf(old, pod *v1.Pod) []fact.Fact {
	key := KeyOf(pod)
	if old != nil && KeyOf(old).UID != key.UID {
		gone := fact.Fact{Pod: KeyOf(old), Body: fact.ObjectGone{}}
		return append([]fact.Fact{gone}, FactsOf(nil, pod)...)
	}
	var facts []fact.Fact
	add := func(at time.Time, body fact.Observed) { facts = append(facts, fact.Fact{Pod: key, At: at, Body: body}) }
	if old == nil || specChanged(old, pod) {
		add(time.Time{}, fact.SpecSeen{Object: withoutStatus(pod), By: lastManager(pod), Changed: changedFields(old, pod), Source: "api"})
	}
	if others := foreign(pod); (old == nil && len(others) > 0) || (old != nil && !reflect.DeepEqual(foreign(old), others)) {
		add(time.Time{}, fact.ConditionsSeen{Conditions: others})
	}
	if pod.DeletionTimestamp != nil && (old == nil || old.DeletionTimestamp == nil || graceOf(old) != graceOf(pod)) {
		// The timestamp is when the grace period is over.
		at := pod.DeletionTimestamp.Add(-time.Duration(graceOf(pod)) * time.Second).UTC()
		add(at, fact.DeletionSeen{GraceSeconds: graceOf(pod), By: lastManager(pod)})
	}
	if old == nil || !reflect.DeepEqual(old.Status, pod.Status) {
		add(time.Time{}, fact.StatusSeen{Status: *pod.Status.DeepCopy()})
		facts = append(facts, statusFacts(old, pod)...)
	}
	return facts
}

func specChanged(old, pod *v1.Pod) bool {
	return !reflect.DeepEqual(old.Spec, pod.Spec) || !reflect.DeepEqual(old.Labels, pod.Labels) || !reflect.DeepEqual(old.Annotations, pod.Annotations)
}

// withoutStatus is the pod as a fact keeps it.
func withoutStatus(pod *v1.Pod) *v1.Pod {
	t := &v1.Pod{TypeMeta: pod.TypeMeta, ObjectMeta: *pod.ObjectMeta.DeepCopy(), Spec: *pod.Spec.DeepCopy()}
	t.ManagedFields = nil
	return t
}

// kubelets are the conditions that kubelet owns (pkg/kubelet/types/pod_status.go).
var kubelets = []v1.PodConditionType{
	v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodReadyToStartContainers, v1.PodResizePending, v1.PodResizeInProgress,
}

// foreign are the conditions that somebody other than kubelet set.
func foreign(pod *v1.Pod) []v1.PodCondition {
	return slices.DeleteFunc(slices.Clone(pod.Status.Conditions), func(c v1.PodCondition) bool { return slices.Contains(kubelets, c.Type) })
}

func graceOf(pod *v1.Pod) int64 {
	switch {
	case pod.DeletionGracePeriodSeconds != nil:
		return *pod.DeletionGracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return 0
}

// changedFields names what is other than before, bounded: the containers' images and
// resources, which may be changed while the pod lives, labels and annotations.
func changedFields(old, pod *v1.Pod) []string {
	if old == nil {
		return nil
	}
	var paths []string
	for _, set := range []struct {
		path     string
		was, are []v1.Container
	}{{"spec.containers", old.Spec.Containers, pod.Spec.Containers}, {"spec.initContainers", old.Spec.InitContainers, pod.Spec.InitContainers}} {
		for i := range set.are {
			if i >= len(set.was) {
				break
			}
			at := set.path + "[" + set.are[i].Name + "]"
			if set.was[i].Image != set.are[i].Image {
				paths = append(paths, at+".image")
			}
			if !reflect.DeepEqual(set.was[i].Resources, set.are[i].Resources) {
				paths = append(paths, at+".resources")
			}
		}
	}
	for _, whole := range []struct {
		path     string
		was, are any
	}{
		{"metadata.labels", old.Labels, pod.Labels},
		{"metadata.annotations", old.Annotations, pod.Annotations},
		{"spec.activeDeadlineSeconds", old.Spec.ActiveDeadlineSeconds, pod.Spec.ActiveDeadlineSeconds},
		{"spec.ephemeralContainers", old.Spec.EphemeralContainers, pod.Spec.EphemeralContainers},
		{"spec.resources", old.Spec.Resources, pod.Spec.Resources},
	} {
		if !reflect.DeepEqual(whole.was, whole.are) {
			paths = append(paths, whole.path)
		}
	}
	return paths[:min(len(paths), 16)]
}
