package server

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// Host is what the server asks of the node. All methods may be called from many
// goroutines at once; what they return is not changed by either side.
type Host interface {
	// Pods lists the pods that are bound to the node, each with the status that
	// the node knows (not the one it last managed to write to the API server).
	Pods() []*v1.Pod
	// Pod finds one of them; nil when there is none of that name.
	Pod(namespace, name string) *v1.Pod
	// RunningPods lists the pods that the runtime has, whether bound or not.
	RunningPods(ctx context.Context) ([]*v1.Pod, error)
	// SandboxID is the runtime's id of the pod's live sandbox, empty when it has none.
	SandboxID(uid types.UID) string
	// Healthy says what keeps the node's loop from turning; nil when it turns.
	Healthy() error
}

// Runtime is the part of CRI that is needed here. Any
// k8s.io/cri-api/pkg/apis.RuntimeService has it.
type Runtime interface {
	ContainerStatus(ctx context.Context, containerID string, verbose bool) (*runtimeapi.ContainerStatusResponse, error)
	ExecSync(ctx context.Context, containerID string, cmd []string, timeout time.Duration) (stdout, stderr []byte, err error)
	Exec(ctx context.Context, request *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error)
	Attach(ctx context.Context, request *runtimeapi.AttachRequest) (*runtimeapi.AttachResponse, error)
	PortForward(ctx context.Context, request *runtimeapi.PortForwardRequest) (*runtimeapi.PortForwardResponse, error)
}

// Stats gives the Summary API its content; package node/stats has one.
type Stats interface {
	// Summary is cheap enough to be called for every request. With
	// onlyCPUAndMemory, network and file systems are left out.
	Summary(ctx context.Context, onlyCPUAndMemory bool) (*statsapi.Summary, error)
}
