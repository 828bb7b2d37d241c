package cluster

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"whylet.dev/whylet/why/answer"
)

// takesHold is how long a controller may take with an object that is new.
const takesHold = 30 * time.Second

// IsNew reports whether an object was made so lately that nothing follows from what is missing of it.
func IsNew(o metav1.Object, now time.Time) bool {
	return now.Sub(o.GetCreationTimestamp().Time) < takesHold
}

// IsShort reports whether the status of a workload tells of fewer Ready pods than it is to have, of a refused pod, or
// of a Job that is not done. Objects of other kinds are not short.
func IsShort(o metav1.Object) bool {
	switch w := o.(type) {
	case *appsv1.Deployment:
		return int(w.Status.ReadyReplicas) < Replicas(w.Spec.Replicas) || slices.ContainsFunc(w.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
			return c.Type == appsv1.DeploymentReplicaFailure && c.Status == v1.ConditionTrue
		})
	case *appsv1.ReplicaSet:
		return metav1.GetControllerOfNoCopy(w) == nil && int(w.Status.ReadyReplicas) < Replicas(w.Spec.Replicas)
	case *appsv1.StatefulSet:
		return int(w.Status.ReadyReplicas) < Replicas(w.Spec.Replicas)
	case *appsv1.DaemonSet:
		return w.Status.NumberReady < w.Status.DesiredNumberScheduled
	case *batchv1.Job:
		return metav1.GetControllerOfNoCopy(w) == nil && !Completed(w)
	case *batchv1.CronJob:
		return ptr.Deref(w.Spec.Suspend, false) || len(w.Status.Active) > 0 || w.Status.LastScheduleTime != nil && (w.Status.LastSuccessfulTime == nil || w.Status.LastSuccessfulTime.Before(w.Status.LastScheduleTime))
	}
	return false
}

// TemplateOf returns the template of a workload's pods, and how many of them are Ready; nil of other objects.
func TemplateOf(o metav1.Object) (template *v1.PodTemplateSpec, ready int) {
	switch w := o.(type) {
	case *appsv1.Deployment:
		return &w.Spec.Template, int(w.Status.ReadyReplicas)
	case *appsv1.ReplicaSet:
		return &w.Spec.Template, int(w.Status.ReadyReplicas)
	case *appsv1.StatefulSet:
		return &w.Spec.Template, int(w.Status.ReadyReplicas)
	case *appsv1.DaemonSet:
		return &w.Spec.Template, int(w.Status.NumberReady)
	}
	return nil, 0
}

// ClosedService is the hop to a Service that has no Ready pod because of what it is noted with.
func ClosedService(o *v1.Service) answer.Hop {
	return answer.Hop{
		Service: o.Namespace + "/" + o.Name, By: "it selects no other pod that is Ready", Cause: answer.DependencyDown,
		Text: "The Service has no endpoints.",
	}
}

// LeftBadly reports whether a pod that is gone was evicted, failed, did not start or was restarted before. Who deleted one
// that was well did no harm.
func LeftBadly(a *answer.Answer) bool {
	badly := []answer.SymptomKind{answer.Evicted, answer.Failed, answer.NotStarting, answer.Restarted}
	return slices.ContainsFunc(a.Symptoms, func(s answer.Symptom) bool { return slices.Contains(badly, s.Kind) })
}
