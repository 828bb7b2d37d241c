package volumes

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"whylet.dev/whylet/sense"
)

// Groups as kubelet names them in messages.
var configMaps, secrets = v1.Resource("configmap"), v1.Resource("secret")

// newConfigs watches what the pods refer to. Changed hears whose object changed.
func newConfigs(ctx context.Context, client kubernetes.Interface, changed func(users []types.UID)) *sense.Configs {
	api := client.CoreV1()
	return sense.NewConfigs(ctx, client, changed,
		sense.ConfigKind{
			Group: configMaps, Empty: &v1.ConfigMap{}, Used: visited(podutil.VisitPodConfigmapNames),
			List: func(ctx context.Context, namespace string, o metav1.ListOptions) (runtime.Object, error) {
				return api.ConfigMaps(namespace).List(ctx, o)
			},
			Watch: func(ctx context.Context, namespace string, o metav1.ListOptions) (watch.Interface, error) {
				return api.ConfigMaps(namespace).Watch(ctx, o)
			},
		},
		sense.ConfigKind{
			Group: secrets, Empty: &v1.Secret{}, Used: visited(podutil.VisitPodSecretNames),
			List: func(ctx context.Context, namespace string, o metav1.ListOptions) (runtime.Object, error) {
				return api.Secrets(namespace).List(ctx, o)
			},
			Watch: func(ctx context.Context, namespace string, o metav1.ListOptions) (watch.Interface, error) {
				return api.Secrets(namespace).Watch(ctx, o)
			},
		})
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

// Configs are the ConfigMaps and Secrets that the pods refer to.
func (m *Manager) Configs() *sense.Configs { return m.configs }

// GetConfigMap reads a ConfigMap that a pod set up here refers to, from the
// cache that its volumes use. One that does not exist is an API error NotFound.
func (m *Manager) GetConfigMap(namespace, name string) (*v1.ConfigMap, error) {
	return get[*v1.ConfigMap](m, configMaps, namespace, name)
}

// GetSecret is GetConfigMap for Secrets, pull secrets among them.
func (m *Manager) GetSecret(namespace, name string) (*v1.Secret, error) {
	return get[*v1.Secret](m, secrets, namespace, name)
}

func get[T runtime.Object](m *Manager, group schema.GroupResource, namespace, name string) (T, error) {
	var none T
	o, err := m.configs.Get(group, namespace, name)
	if err != nil {
		return none, err
	}
	value, ok := o.(T)
	if !ok {
		return none, fmt.Errorf("%s %s/%s: the API server sent a %T", group.Resource, namespace, name, o)
	}
	return value, nil
}
