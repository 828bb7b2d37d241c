package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// containerStatus finds a container of any kind in the pod's status; nil when it
// has none yet.
func containerStatus(s *v1.PodStatus, name string) *v1.ContainerStatus {
	for _, statuses := range [][]v1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses} {
		if i := slices.IndexFunc(statuses, func(c v1.ContainerStatus) bool { return c.Name == name }); i >= 0 {
			return &statuses[i]
		}
	}
	return nil
}

// containerSpec finds a container of any kind in the pod's spec; nil when there
// is none of that name. Ephemeral containers differ in type only.
func containerSpec(pod *v1.Pod, name string) *v1.Container {
	for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		if i := slices.IndexFunc(containers, func(c v1.Container) bool { return c.Name == name }); i >= 0 {
			return &containers[i]
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		if pod.Spec.EphemeralContainers[i].Name == name {
			common := v1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)
			return &common
		}
	}
	return nil
}

// logged decides which of a container's runs the reader of its log means, and
// gives its id with the runtime's scheme: the one that runs or ran last, or with
// previous the one before. The order of the questions and the texts are those of
// kubelet's validateContainerLogStatus (pkg/kubelet/kubelet_pods.go).
func logged(pod *v1.Pod, name string, previous bool) (string, error) {
	s := containerStatus(&pod.Status, name)
	if s == nil {
		return "", fmt.Errorf("container %q in pod %q is not available", name, pod.Name)
	}
	last := ""
	if t := s.LastTerminationState.Terminated; t != nil {
		last = t.ContainerID
	}
	switch {
	case previous && last == "":
		return "", fmt.Errorf("previous terminated container %q in pod %q not found", name, pod.Name)
	case previous:
		return last, nil
	case s.State.Running != nil:
		return s.ContainerID, nil
	case s.State.Terminated != nil && s.State.Terminated.ContainerID != "":
		return s.State.Terminated.ContainerID, nil
	case last != "":
		return last, nil
	case s.State.Terminated != nil, s.LastTerminationState.Terminated != nil:
		return "", fmt.Errorf("container %q in pod %q is terminated", name, pod.Name)
	case s.State.Waiting != nil:
		return "", fmt.Errorf("container %q in pod %q is waiting to start: %s", name, pod.Name, waitingFor(s.State.Waiting.Reason))
	}
	return "", fmt.Errorf("container %q in pod %q is waiting to start - no logs yet", name, pod.Name)
}

// waitingFor words the two reasons for which kubectl's users wait most.
func waitingFor(reason string) string {
	switch reason {
	case "ErrImagePull":
		return "image can't be pulled"
	case "ImagePullBackOff":
		return "trying and failing to pull image"
	}
	return reason
}

// bareID is a container id without the runtime's scheme.
func bareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}

// logPath asks the runtime where it writes a container's log.
func (a *api) logPath(ctx context.Context, id string) (string, error) {
	response, err := a.runtime.ContainerStatus(ctx, bareID(id), false)
	if err != nil {
		return "", fmt.Errorf("unable to retrieve container logs for %s: %w", id, err)
	}
	path := response.GetStatus().GetLogPath()
	if path == "" {
		return "", fmt.Errorf("unable to retrieve container logs for %s: the runtime knows no log file", id)
	}
	return path, nil
}

// follower tells the log reader whether there is more to come. The reader asks
// after every write and once a second, so the answer comes from the node's
// memory for as long as the container runs, and only its end is asked of the
// runtime: the runtime calls a container ended when its last output is in the
// file, which is what a follower waits for.
type follower struct {
	internalapi.RuntimeService // nil: the reader calls ContainerStatus only

	a              *api
	namespace, pod string
	container, id  string
}

// ContainerStatus implements the only call that the log reader makes.
func (f follower) ContainerStatus(ctx context.Context, bare string, verbose bool) (*runtimeapi.ContainerStatusResponse, error) {
	if f.running() {
		return stateOnly(runtimeapi.ContainerState_CONTAINER_RUNNING), nil
	}
	response, err := f.a.runtime.ContainerStatus(ctx, bare, verbose)
	if status.Code(err) == codes.NotFound {
		return stateOnly(runtimeapi.ContainerState_CONTAINER_EXITED), nil
	}
	return response, err
}

func (f follower) running() bool {
	pod := f.a.host.Pod(f.namespace, f.pod)
	if pod == nil {
		return false
	}
	s := containerStatus(&pod.Status, f.container)
	return s != nil && s.State.Running != nil && s.ContainerID == f.id
}

func stateOnly(state runtimeapi.ContainerState) *runtimeapi.ContainerStatusResponse {
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{State: state}}
}
