package containers

import (
	"path/filepath"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// PodLogDir is where a pod's logs lie below the folder of all pods' logs:
// NAMESPACE_NAME_UID, as kubelet lays them out and log collectors expect.
func PodLogDir(root string, pod *v1.Pod) string {
	return filepath.Join(root, strings.Join([]string{pod.Namespace, pod.Name, string(pod.UID)}, "_"))
}

// messagePath is where a container finds its termination message file; a relative
// terminationMessagePath begins at the root.
func messagePath(path string) string { return filepath.Clean("/" + path) }

// LogFile is the log of one run of a container below the folder of all pods' logs.
func LogFile(root string, pod *v1.Pod, container string, attempt int32) string {
	return filepath.Join(PodLogDir(root, pod), LogPath(container, attempt))
}

// LogPath is a container's log below its pod's folder: CONTAINER/ATTEMPT.log.
func LogPath(container string, attempt int32) string {
	return filepath.Join(container, strconv.Itoa(int(attempt))+".log")
}
