package api

import (
	"reflect"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"whylet.dev/whylet/fact"
	"whylet.dev/whylet/observe/reported"
	"whylet.dev/whylet/sense"
)

// slim is a pod without what nobody here reads, or should keep. Of
// managed fields it keeps who wrote last.
func slim(pod *v1.Pod) *v1.Pod {
	by := sense.LastManager(pod)
	pod.ManagedFields = nil
	if by != "" {
		pod.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: by}}
	}
	delete(pod.Annotations, v1.LastAppliedConfigAnnotation)
	for i := range pod.Spec.InitContainers {
		withoutValues(pod.Spec.InitContainers[i].Env)
	}
	for i := range pod.Spec.Containers {
		withoutValues(pod.Spec.Containers[i].Env)
	}
	for i := range pod.Spec.EphemeralContainers {
		withoutValues(pod.Spec.EphemeralContainers[i].Env)
	}
	return pod
}

// originals is where Istio keeps the probes that it has rewritten: the only word of what a
// probe asks in the end.
const originals = "ISTIO_KUBE_APP_PROBERS"

// withoutValues drops what variables are set to: nobody here reads it, and people keep
// passwords there. Which there are, and from where, stays.
func withoutValues(env []v1.EnvVar) {
	for i := range env {
		if env[i].Value != "" && env[i].Name != originals {
			env[i].Value = "[not kept]"
		}
	}
}

// KeyOf says which pod it is. A mirror pod stands for a static one, and the runtime
// knows that by its own UID, which kubelet makes as a digest. Anybody may write that annotation:
// with the UID of a pod of the API server's a pod would pass for another.
func KeyOf(pod *v1.Pod) fact.Pod {
	key := fact.Pod{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
	if own := pod.Annotations[v1.MirrorPodAnnotationKey]; isDigest(own) {
		key.UID = types.UID(own)
	}
	return key
}

// isDigest reports whether a UID is one that kubelet makes of a file (pkg/kubelet/config/common.go).
func isDigest(uid string) bool {
	return len(uid) == 32 && strings.Trim(uid, "0123456789abcdef") == ""
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
		add(time.Time{}, fact.SpecSeen{Object: sense.Trimmed(pod), By: sense.LastManager(pod), Changed: sense.ChangedFields(old, pod), Source: fact.FromAPI})
	}
	if others := foreign(pod); (old == nil && len(others) > 0) || (old != nil && !reflect.DeepEqual(foreign(old), others)) {
		add(time.Time{}, fact.ConditionsSeen{Conditions: others})
	}
	if pod.DeletionTimestamp != nil && (old == nil || old.DeletionTimestamp == nil || sense.GraceOf(old) != sense.GraceOf(pod)) {
		// The timestamp is when the grace period is over.
		at := pod.DeletionTimestamp.Add(-time.Duration(sense.GraceOf(pod)) * time.Second).UTC()
		add(at, fact.DeletionSeen{GraceSeconds: sense.GraceOf(pod), By: sense.LastManager(pod)})
	}
	if old == nil || !reflect.DeepEqual(old.Status, pod.Status) {
		add(time.Time{}, fact.StatusSeen{Status: *pod.Status.DeepCopy()})
		facts = append(facts, statusFacts(old, pod)...)
	}
	return facts
}

func specChanged(old, pod *v1.Pod) bool {
	return !reflect.DeepEqual(old.Spec, pod.Spec) || !reflect.DeepEqual(old.Labels, pod.Labels) || !reflect.DeepEqual(old.Annotations, pod.Annotations) ||
		!slices.Equal(old.Finalizers, pod.Finalizers)
}

// foreign are the conditions that somebody other than kubelet set.
func foreign(pod *v1.Pod) []v1.PodCondition {
	return slices.DeleteFunc(slices.Clone(pod.Status.Conditions), func(c v1.PodCondition) bool { return slices.Contains(reported.Kubelets, c.Type) })
}
