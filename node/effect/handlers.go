package effect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/userns"

	"whylet.dev/whylet/node/cri"
)

// handlers knows in which way the runtime is to run each pod, and what that way
// can do. It is safe for concurrent use.
type handlers struct {
	client  kubernetes.Interface
	runtime *cri.Client

	mu sync.Mutex
	// classes are the handlers of RuntimeClasses as last read: a class cannot change
	// its handler, and a pod must restart also while the API server is away.
	classes map[string]string
}

func newHandlers(client kubernetes.Interface, runtime *cri.Client) *handlers {
	return &handlers{client: client, runtime: runtime, classes: map[string]string{}}
}

// of is the handler that the pod's RuntimeClass names, "" the runtime's default.
// Errors are worded as kubelet's (runtimeclass/runtimeclass_manager.go).
func (h *handlers) of(ctx context.Context, pod *v1.Pod) (string, error) {
	if pod.Spec.RuntimeClassName == nil || *pod.Spec.RuntimeClassName == "" {
		return "", nil
	}
	name := *pod.Spec.RuntimeClassName
	class, err := h.client.NodeV1().RuntimeClasses().Get(ctx, name, metav1.GetOptions{})
	h.mu.Lock()
	defer h.mu.Unlock()
	switch known, ok := h.classes[name]; {
	case err == nil:
		h.classes[name] = class.Handler
		return class.Handler, nil
	case apierrors.IsNotFound(err):
		delete(h.classes, name)
		return "", err
	case ok:
		return known, nil
	}
	return "", fmt.Errorf("failed to lookup RuntimeClass %s: %w", name, err)
}

// features is what the runtime can do for the pod.
func (h *handlers) features(ctx context.Context, pod *v1.Pod) (cri.Handler, error) {
	name, err := h.of(ctx, pod)
	if err != nil {
		return cri.Handler{}, err
	}
	health, err := h.runtime.Health(ctx)
	if err != nil {
		return cri.Handler{}, err
	}
	return health.Handler(name), nil
}

// recursiveReadOnly says whether the runtime can mount recursively read-only for
// the container. It is asked only for those that want it.
func (h *handlers) recursiveReadOnly(ctx context.Context, pod *v1.Pod, c *v1.Container) (bool, error) {
	for i := range c.VolumeMounts {
		if mode := c.VolumeMounts[i].RecursiveReadOnly; mode != nil && *mode != v1.RecursiveReadOnlyDisabled {
			features, err := h.features(ctx, pod)
			return features.RecursiveReadOnly, err
		}
	}
	return false, nil
}

// users gives each pod with hostUsers: false a range of ids of the machine for
// itself. kubelet's manager keeps them, in a file of the pod's directory, so
// that a pod has the same range after a restart of the agent.
type users struct{ manager *userns.UsernsManager }

func newUsers(h *handlers, podsDir string, maxPods int) (users, error) {
	m, err := userns.MakeUserNsManager(logr.Discard(), userHost{h, podsDir, maxPods}, nil)
	if err != nil {
		return users{}, fmt.Errorf("user namespaces of pods: %w", err)
	}
	return users{m}, nil
}

// of is the pod's user namespace; that of the host unless it wants its own.
func (u users) of(pod *v1.Pod, handler string) (*runtimeapi.UserNamespace, error) {
	return u.manager.GetOrCreateUserNamespaceMappings(logr.Discard(), pod, handler)
}

// release lets another pod have the range.
func (u users) release(uid types.UID) { u.manager.Release(logr.Discard(), uid) }

// userHost is the kubelet that the manager believes to talk to.
type userHost struct {
	handlers *handlers
	podsDir  string
	maxPods  int
}

func (h userHost) HandlerSupportsUserNamespaces(name string) (bool, error) {
	health, err := h.handlers.runtime.Health(context.Background())
	if err != nil {
		return false, err
	}
	return health.Handler(name).UserNamespaces, nil
}

func (h userHost) GetPodDir(uid types.UID) string { return filepath.Join(h.podsDir, string(uid)) }

func (h userHost) ListPodsFromDisk() ([]types.UID, error) {
	entries, err := os.ReadDir(h.podsDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	uids := make([]types.UID, 0, len(entries))
	for _, e := range entries {
		uids = append(uids, types.UID(e.Name()))
	}
	return uids, nil
}

// GetKubeletMappings gives pods all ids above those that a machine itself uses
// (kubelet: getKubeletMappings in kubelet_pods.go, where no user is set up for it).
func (h userHost) GetKubeletMappings(_ klog.Logger, perPod uint32) (first, count uint32, err error) {
	return perPod, uint32(1<<32 - uint64(perPod)), nil
}

func (h userHost) GetMaxPods() int { return h.maxPods }
