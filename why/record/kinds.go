package record

import (
	"slices"
	"strings"
)

// Kind is a kind of objects that are recorded.
type Kind struct {
	Version, Kind, Resource string
	// Namespaced kinds are recorded of the one namespace, others of the cluster.
	Namespaced bool
}

// Path is that of the list of all of a kind in a namespace; "" stands for all namespaces.
func (k Kind) Path(namespace string) string {
	root := "/apis/"
	if !strings.Contains(k.Version, "/") {
		root = "/api/"
	}
	if k.Namespaced && namespace != "" {
		return root + k.Version + "/namespaces/" + namespace + "/" + k.Resource
	}
	return root + k.Version + "/" + k.Resource
}

// Held names the list of all of a kind in a namespace, "" for every one, for [Manifest.Held].
func (k Kind) Held(namespace string) string {
	if k.Namespaced {
		return namespace + "/" + k.Resource
	}
	return k.Resource
}

// KindOf returns a kind that is recorded; ok is false for any other.
func KindOf(version, kind string) (k Kind, ok bool) {
	i := slices.IndexFunc(Kinds, func(k Kind) bool { return k.Kind == kind && k.Version == version })
	if i < 0 {
		return k, false
	}
	return Kinds[i], true
}

// Kinds are all that is recorded.
var Kinds = []Kind{
	{"v1", "Pod", "pods", true},
	{"apps/v1", "ReplicaSet", "replicasets", true},
	{"apps/v1", "Deployment", "deployments", true},
	{"apps/v1", "StatefulSet", "statefulsets", true},
	{"apps/v1", "DaemonSet", "daemonsets", true},
	{"apps/v1", "ControllerRevision", "controllerrevisions", true},
	{"batch/v1", "Job", "jobs", true},
	{"batch/v1", "CronJob", "cronjobs", true},
	{"v1", "Service", "services", true},
	{"discovery.k8s.io/v1", "EndpointSlice", "endpointslices", true},
	{"v1", "ConfigMap", "configmaps", true},
	{"v1", "Secret", "secrets", true},
	{"v1", "PersistentVolumeClaim", "persistentvolumeclaims", true},
	{"v1", "Event", "events", true},
	{"v1", "ServiceAccount", "serviceaccounts", true},
	{"rbac.authorization.k8s.io/v1", "Role", "roles", true},
	{"rbac.authorization.k8s.io/v1", "RoleBinding", "rolebindings", true},
	{"networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", true},
	{"networking.k8s.io/v1", "Ingress", "ingresses", true},
	{"autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", true},
	{"v1", "ResourceQuota", "resourcequotas", true},
	{"v1", "LimitRange", "limitranges", true},
	{"policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", true},
	{"v1", "Node", "nodes", false},
	{"v1", "PersistentVolume", "persistentvolumes", false},
	{"storage.k8s.io/v1", "StorageClass", "storageclasses", false},
	{"scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", false},
	{"networking.k8s.io/v1", "IngressClass", "ingressclasses", false},
	{"v1", "Namespace", "namespaces", false},
}
