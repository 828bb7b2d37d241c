package dump

import (
	"encoding/json"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"

	"whylet.dev/whylet/why/record"
)

// typeOf has the types into which clients read each of [record.Kinds].
var typeOf = map[string]any{
	"Pod": v1.Pod{}, "ReplicaSet": appsv1.ReplicaSet{}, "Deployment": appsv1.Deployment{}, "StatefulSet": appsv1.StatefulSet{}, "DaemonSet": appsv1.DaemonSet{},
	"ControllerRevision": appsv1.ControllerRevision{}, "Job": batchv1.Job{}, "CronJob": batchv1.CronJob{}, "Service": v1.Service{},
	"EndpointSlice": discoveryv1.EndpointSlice{}, "ConfigMap": v1.ConfigMap{}, "Secret": v1.Secret{}, "PersistentVolumeClaim": v1.PersistentVolumeClaim{},
	"Event": v1.Event{}, "ServiceAccount": v1.ServiceAccount{}, "Role": rbacv1.Role{}, "RoleBinding": rbacv1.RoleBinding{},
	"NetworkPolicy": networkingv1.NetworkPolicy{}, "Ingress": networkingv1.Ingress{}, "HorizontalPodAutoscaler": autoscalingv2.HorizontalPodAutoscaler{},
	"ResourceQuota": v1.ResourceQuota{}, "LimitRange": v1.LimitRange{}, "PodDisruptionBudget": policyv1.PodDisruptionBudget{}, "Node": v1.Node{},
	"PersistentVolume": v1.PersistentVolume{}, "StorageClass": storagev1.StorageClass{}, "PriorityClass": schedulingv1.PriorityClass{},
	"IngressClass": networkingv1.IngressClass{}, "Namespace": v1.Namespace{},
}

// readable reports why a client cannot read an object: one of those would leave it without the whole list.
func readable(k record.Kind, raw json.RawMessage) error {
	if err := record.Sound(raw); err != nil {
		return err
	}
	return json.Unmarshal(raw, reflect.New(reflect.TypeOf(typeOf[k.Kind])).Interface())
}
