package reported

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"whylet.dev/whylet/fact"
)

// Refused says whether kubelet did not take the pod in: it failed, and nothing of it
// was ever there. An evicted pod has a condition that says who disrupted it.
func Refused(now v1.PodStatus) bool {
	if len(fact.PressuresIn(now.Message)) > 0 {
		return true
	}
	if now.Reason == "" || now.Reason == "Evicted" || now.Reason == "DeadlineExceeded" || now.Reason == "NodeLost" || now.Reason == "Terminated" || now.Reason == "NodeShutdown" {
		return false
	}
	return !slices.ContainsFunc(now.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.ContainerID != "" })
}

// NeverRan says whether the runtime's reason is that of a container that ended before
// its program was run (containerd: StartError; CRI-O and old Docker: ContainerCannotRun).
func NeverRan(reason string) bool { return reason == "StartError" || reason == "ContainerCannotRun" }

// imageReasons are kubelet's waiting reasons for want of an image (pkg/kubelet/images/types.go).
var imageReasons = []string{
	"ErrImagePull", "ErrImageNeverPull", "ErrImageInspect", "ImageInspectError", "InvalidImageName", "RegistryUnavailable", "SignatureValidationFailed",
}

// startReasons are those of a container that cannot be made or started
// (pkg/kubelet/kuberuntime/kuberuntime_container.go).
var startReasons = []string{
	"CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PreCreateHookError", "PreStartHookError",
}

// Waiting returns what failed before a container waits; nil where it waits for something else.
func Waiting(image string, w *v1.ContainerStateWaiting) fact.Observed {
	switch {
	case slices.Contains(imageReasons, w.Reason):
		return fact.ImageFailed{Image: image, Reason: w.Reason, Message: w.Message}
	case w.Reason == "ImagePullBackOff":
		// Newer kubelets repeat the words of the failure itself here.
		reason, message := "ErrImagePull", w.Message
		for _, r := range imageReasons {
			if _, rest, ok := strings.Cut(w.Message, ": "+r+": "); ok {
				reason, message = r, rest
			}
		}
		return fact.ImageFailed{Image: image, Reason: reason, Message: message}
	case slices.Contains(startReasons, w.Reason):
		return fact.StartFailed{Reason: w.Reason, Message: w.Message}
	}
	return nil
}

// Kubelets are the conditions that kubelet owns (pkg/kubelet/types/pod_status.go).
var Kubelets = []v1.PodConditionType{
	v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodReadyToStartContainers, v1.PodResizePending, v1.PodResizeInProgress, v1.AllContainersRestarting,
}
