package effect

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

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
