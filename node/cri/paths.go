package cri

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PodLogDir is where a pod's logs lie below the folder of all pods' logs:
// NAMESPACE_NAME_UID, as kubelet lays them out and log collectors expect.
func PodLogDir(root string, pod *v1.Pod) string {
	return filepath.Join(root, strings.Join([]string{pod.Namespace, pod.Name, string(pod.UID)}, "_"))
}

// messagePath is where a container finds its termination message file; a relative
// terminationMessagePath begins at the root.
func messagePath(path string) string { return filepath.Clean("/" + path) }

// logPath is a container's log below its pod's folder: CONTAINER/ATTEMPT.log.
func logPath(container string, attempt int32) string {
	return filepath.Join(container, strconv.Itoa(int(attempt))+".log")
}

// uidOfLogDir takes the pod's UID from the name of its log folder. Neither
// namespaces nor pod names hold an underscore, so the last part is the UID.
func uidOfLogDir(name string) types.UID {
	parts := strings.Split(name, "_")
	return types.UID(parts[len(parts)-1])
}

var attemptLog = regexp.MustCompile(`^(\d+)\.log(\..*)?$`)

// AttemptFromLogs gives the restart count that the next run of a container has
// to have so that no log is overwritten: one more than the highest in its log
// folder, 0 where there is none. It is the last memory left where both the
// journal and the runtime have forgotten the container (a reboot).
func AttemptFromLogs(podLogDir, container string) (int32, error) {
	entries, err := os.ReadDir(filepath.Join(podLogDir, container))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("restart count of container %s from its logs: %w", container, err)
	}
	var next int32
	for _, e := range entries {
		m := attemptLog.FindStringSubmatch(e.Name())
		if e.IsDir() || m == nil {
			continue
		}
		// Names out of range are somebody else's files.
		if n, err := strconv.ParseInt(m[1], 10, 32); err == nil && int32(n) >= next {
			next = int32(n) + 1
		}
	}
	return next, nil
}

// LogFile is the log of one run of a container below the folder of all pods' logs.
func LogFile(root string, pod *v1.Pod, container string, attempt int32) string {
	return filepath.Join(PodLogDir(root, pod), logPath(container, attempt))
}
