package metricsapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/metrics/pkg/apis/metrics"
	"k8s.io/metrics/pkg/apis/metrics/install"
)

// Install adds the API group to server, which must not have been prepared yet.
// client is how nodes, pods and the nodes' statistics are read; it needs no more
// than get and list on nodes and pods, and get on nodes/proxy.
func Install(server *genericapiserver.GenericAPIServer, client kubernetes.Interface) error {
	scheme := runtime.NewScheme()
	install.Install(scheme)
	// List options and the like are looked up in the group-less version v1.
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})

	source := &source{client: client}
	group := genericapiserver.NewDefaultAPIGroupInfo(metrics.GroupName, scheme, metav1.ParameterCodec, serializer.NewCodecFactory(scheme))
	for _, version := range group.PrioritizedVersions {
		group.VersionedResourcesStorageMap[version.Version] = map[string]rest.Storage{
			"nodes": newNodeStorage(source),
			"pods":  newPodStorage(source),
		}
	}
	return server.InstallAPIGroup(&group)
}
