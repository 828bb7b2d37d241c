package cri

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/userns"
)

// Users hands out user namespaces to pods with hostUsers: false. Each has a range
// of 65536 ids of its own, written down in the pod's folder, so that a restarted
// agent gives the same range to the same pod and to no other. It is kubelet's
// manager (pkg/kubelet/userns), safe for concurrent use.
type Users struct{ manager *userns.UsernsManager }

// NewUsers takes the folder of all pods' folders (named by UID), how many pods the
// node can have, and a way to ask what a runtime handler can do.
func NewUsers(podsDir string, maxPods int, health func() (Health, error)) (*Users, error) {
	m, err := userns.MakeUserNsManager(logr.Discard(), usersNode{podsDir, maxPods, health}, nil)
	if err != nil {
		return nil, err
	}
	return &Users{manager: m}, nil
}

// For gives the pod's user namespace, the host's for most. It is an error when
// the runtime handler cannot make one for a pod that wants it.
func (u *Users) For(pod *v1.Pod, handler string) (*runtimeapi.UserNamespace, error) {
	return u.manager.GetOrCreateUserNamespaceMappings(logr.Discard(), pod, handler)
}

// Release gives a pod's range back when nothing of the pod is left.
func (u *Users) Release(uid types.UID) { u.manager.Release(logr.Discard(), uid) }

// usersNode is what the manager asks of a node.
type usersNode struct {
	podsDir string
	maxPods int
	health  func() (Health, error)
}

func (n usersNode) HandlerSupportsUserNamespaces(handler string) (bool, error) {
	h, err := n.health()
	return h.Handler(handler).UserNamespaces, err
}

func (n usersNode) GetPodDir(uid types.UID) string { return filepath.Join(n.podsDir, string(uid)) }

func (n usersNode) GetMaxPods() int { return n.maxPods }

func (n usersNode) ListPodsFromDisk() ([]types.UID, error) {
	entries, err := os.ReadDir(n.podsDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var uids []types.UID
	for _, e := range entries {
		if e.IsDir() {
			uids = append(uids, types.UID(e.Name()))
		}
	}
	return uids, err
}

// GetKubeletMappings is all ids above the first range, which the host keeps:
// kubelet's default where no subordinate ids are set up for it.
func (n usersNode) GetKubeletMappings(_ klog.Logger, idsPerPod uint32) (first, length uint32, err error) {
	return idsPerPod, uint32((1 << 32) - uint64(idsPerPod)), nil
}
