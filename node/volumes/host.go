package volumes

import (
	"context"
	"fmt"
	"path/filepath"

	"golang.org/x/sys/unix"
	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/util/hostutil"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	"k8s.io/mount-utils"
)

// host is the kubelet that the plugins believe to talk to. The directories are
// kubelet's (pkg/kubelet/kubelet_getters.go).
type host struct {
	m *Manager
}

var (
	_ volume.VolumeHost        = host{}
	_ volume.KubeletVolumeHost = host{}
)

func (h host) GetPodsDir() string { return h.m.podsDir }

func (h host) GetPluginDir(plugin string) string {
	return filepath.Join(h.m.cfg.DataDir, pluginsName, plugin)
}

func (h host) GetVolumeDevicePluginDir(plugin string) string {
	return filepath.Join(h.GetPluginDir(plugin), devicesName)
}

func (h host) GetPodVolumeDir(uid types.UID, plugin, name string) string {
	return filepath.Join(h.m.podDir(uid), volumesName, plugin, name)
}

func (h host) GetPodPluginDir(uid types.UID, plugin string) string {
	return filepath.Join(h.m.podDir(uid), pluginsName, plugin)
}

func (h host) GetPodVolumeDeviceDir(uid types.UID, plugin string) string {
	return filepath.Join(h.m.podDir(uid), devicesName, plugin)
}

func (h host) GetKubeClient() kubernetes.Interface    { return h.m.cfg.Client }
func (h host) GetMounter() mount.Interface            { return h.m.mounter }
func (h host) GetSubpather() subpath.Interface        { return h.m.subpather }
func (h host) GetHostUtil() hostutil.HostUtils        { return h.m.hostutil }
func (h host) GetNodeName() types.NodeName            { return types.NodeName(h.m.cfg.NodeName) }
func (h host) GetEventRecorder() record.EventRecorder { return recorder{h.m.cfg.Event} }

func (h host) GetNodeLabels() (map[string]string, error) {
	node, err := h.m.cfg.Node()
	if err != nil {
		return nil, fmt.Errorf("error retrieving node: %w", err)
	}
	return node.Labels, nil
}

// GetNodeAllocatable bounds memory backed volumes. While the node is not known
// (pods are taken over before it is registered) the machine's memory does; the
// cgroup of all pods bounds them in any case.
func (h host) GetNodeAllocatable() (v1.ResourceList, error) {
	node, err := h.m.cfg.Node()
	if err == nil {
		return node.Status.Allocatable, nil
	}
	var machine unix.Sysinfo_t
	if unix.Sysinfo(&machine) != nil {
		return nil, fmt.Errorf("error retrieving node: %w", err)
	}
	total := int64(machine.Totalram) * int64(machine.Unit)
	return v1.ResourceList{v1.ResourceMemory: *resource.NewQuantity(total, resource.BinarySI)}, nil
}

func (h host) GetSecretFunc() func(namespace, name string) (*v1.Secret, error) {
	return h.m.GetSecret
}

func (h host) GetConfigMapFunc() func(namespace, name string) (*v1.ConfigMap, error) {
	return h.m.GetConfigMap
}

func (h host) GetServiceAccountTokenFunc() func(namespace, name string, tr *authenticationv1.TokenRequest) (*authenticationv1.TokenRequest, error) {
	return h.m.tokens.GetServiceAccountToken
}

func (h host) DeleteServiceAccountTokenFunc() func(types.UID) {
	return h.m.tokens.DeleteServiceAccountToken
}

// NewWrapperMounter makes the emptyDir that a secret, configMap or projected
// volume lies in.
func (h host) NewWrapperMounter(name string, spec volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	plugin, err := h.wrapped(name, &spec)
	if err != nil {
		return nil, err
	}
	return plugin.NewMounter(&spec, pod)
}

func (h host) NewWrapperUnmounter(name string, spec volume.Spec, uid types.UID) (volume.Unmounter, error) {
	plugin, err := h.wrapped(name, &spec)
	if err != nil {
		return nil, err
	}
	return plugin.NewUnmounter(spec.Name(), uid)
}

func (h host) wrapped(name string, spec *volume.Spec) (volume.VolumePlugin, error) {
	if spec.Volume != nil {
		spec.Volume.Name = "wrapped_" + name
	}
	return h.m.plugins.FindPluginBySpec(spec)
}

func (h host) GetTrustAnchorsByName(ctx context.Context, name string, allowMissing bool) ([]byte, error) {
	bundles, err := h.m.certificates.trusted(ctx)
	if err != nil {
		return nil, err
	}
	return ordered(bundles.GetTrustAnchorsByName(ctx, name, allowMissing))
}

func (h host) GetTrustAnchorsBySigner(ctx context.Context, signer string, selector *metav1.LabelSelector, allowMissing bool) ([]byte, error) {
	bundles, err := h.m.certificates.trusted(ctx)
	if err != nil {
		return nil, err
	}
	return ordered(bundles.GetTrustAnchorsBySigner(ctx, signer, selector, allowMissing))
}

func (h host) GetPodCertificateCredentialBundle(ctx context.Context, namespace, name, uid, volume string, source int) (key, chain []byte, err error) {
	return h.m.certificates.credentials(ctx, namespace, name, uid, volume, source)
}

// What follows serves volumes that a controller attaches or a CSI driver mounts.
// This node has no such plugin, so nobody asks.

func (h host) GetAttachedVolumesFromNodeStatus() (map[v1.UniqueVolumeName]string, error) {
	return map[v1.UniqueVolumeName]string{}, nil
}
func (h host) GetInformerFactory() informers.SharedInformerFactory { return nil }
func (h host) CSIDriverLister() storagelisters.CSIDriverLister     { return nil }
func (h host) CSIDriversSynced() cache.InformerSynced              { return func() bool { return true } }
func (h host) WaitForCacheSync() error                             { return nil }

func (h host) SetKubeletError(err error) {
	if err != nil {
		h.m.cfg.Log.Error("a volume plugin reports trouble with the node", "error", err)
	}
}

// recorder hands the plugins' own events (a shared volume with another fsGroup,
// a slow change of ownership) to whoever sends events.
type recorder struct {
	emit func(object runtime.Object, eventType, reason, message string)
}

func (r recorder) Event(object runtime.Object, eventType, reason, message string) {
	if r.emit != nil {
		r.emit(object, eventType, reason, message)
	}
}

func (r recorder) Eventf(object runtime.Object, eventType, reason, format string, args ...any) {
	r.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}

func (r recorder) AnnotatedEventf(object runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	r.Event(object, eventType, reason, fmt.Sprintf(format, args...))
}
