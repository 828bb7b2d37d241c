package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"whylet.dev/whylet/fact"
)

// The labels and annotations by which kubelet makes a container self-describing
// (pkg/kubelet/types/labels.go, pkg/kubelet/kuberuntime/labels.go).
const (
	labelPod       = "io.kubernetes.pod.name"
	labelNamespace = "io.kubernetes.pod.namespace"
	labelUID       = "io.kubernetes.pod.uid"
	labelContainer = "io.kubernetes.container.name"
	noteRestarts   = "io.kubernetes.container.restartCount"
	noteMessage    = "io.kubernetes.container.terminationMessagePath"
)

// view is what the runtime says of one container.
type view struct {
	id      string // without scheme
	pod     fact.Pod
	name    string
	attempt int32
	sandbox string
	state   runtimeapi.ContainerState
	// The following only a full status has.
	full                       bool
	started, finished, created time.Time
	exitCode                   int32
	reason, message            string
	image, imageID, logPath    string
	messageFile                string // on the host, as kubelet sees it
	pid                        int
	// environment is what its main process was given, as "NAME=value". It is compared
	// with that of another run and not kept.
	environment []string
}

func (v view) exited() bool { return v.state == runtimeapi.ContainerState_CONTAINER_EXITED }
func (v view) running() bool {
	return v.state == runtimeapi.ContainerState_CONTAINER_RUNNING
}

func podOf(labels map[string]string) fact.Pod {
	return fact.Pod{Namespace: labels[labelNamespace], Name: labels[labelPod], UID: types.UID(labels[labelUID])}
}

func attemptOf(notes map[string]string, fallback uint32) int32 {
	if n, err := strconv.ParseInt(notes[noteRestarts], 10, 32); err == nil {
		return int32(n)
	}
	return int32(fallback)
}

func listed(l *runtimeapi.Container) view {
	return view{
		id: l.Id, pod: podOf(l.Labels), name: l.GetMetadata().GetName(), attempt: attemptOf(l.Annotations, l.GetMetadata().GetAttempt()),
		sandbox: l.PodSandboxId, state: l.State,
	}
}

// list gives all containers of Kubernetes' pods, without details.
func (c *Client) list(ctx context.Context) (map[string]view, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := c.cri.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	all := map[string]view{}
	for _, l := range r.Containers {
		if v := listed(l); v.pod.UID != "" {
			all[v.id] = v
		}
	}
	return all, nil
}

// look asks about one container; with its process also for that, which has the runtime
// write out the container's whole configuration.
func (c *Client) look(ctx context.Context, id string, process bool) (view, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	r, err := c.cri.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id, Verbose: process})
	if err != nil {
		return view{}, fmt.Errorf("status of container %s: %w", id, err)
	}
	s := r.Status
	if s == nil || s.Labels[labelUID] == "" {
		return view{}, nil
	}
	v := view{
		id: s.Id, pod: podOf(s.Labels), name: s.GetMetadata().GetName(), attempt: attemptOf(s.Annotations, s.GetMetadata().GetAttempt()), state: s.State, full: true,
		started: nanos(s.StartedAt), finished: nanos(s.FinishedAt), created: nanos(s.CreatedAt), exitCode: s.ExitCode, reason: s.Reason, message: s.Message,
		image: s.GetImage().GetImage(), imageID: s.ImageRef, logPath: s.LogPath,
	}
	v.pid, v.environment = processOf(r.Info)
	if s.LogPath != "" && c.logs.Load() == nil { // FOLDER/NAMESPACE_NAME_UID/CONTAINER/ATTEMPT.log
		dir := filepath.Dir(filepath.Dir(filepath.Dir(s.LogPath)))
		c.logs.Store(&dir)
	}
	for _, m := range s.Mounts {
		if path := s.Annotations[noteMessage]; path != "" && m.ContainerPath == path {
			v.messageFile = m.HostPath
		}
	}
	return v, nil
}

// processOf takes the main process and what it was given from a verbose status: containerd
// and CRI-O both put a JSON object with "pid" and "runtimeSpec" under the key "info".
func processOf(info map[string]string) (pid int, environment []string) {
	var parsed struct {
		PID  int `json:"pid"`
		Spec struct {
			Process struct {
				Env []string `json:"env"`
			} `json:"process"`
		} `json:"runtimeSpec"`
	}
	if json.Unmarshal([]byte(info["info"]), &parsed) != nil {
		return 0, nil
	}
	return parsed.PID, parsed.Spec.Process.Env
}

func nanos(n int64) time.Time {
	if n <= 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// FullID gives a container's id the runtime's scheme, as statuses have it.
func (c *Client) FullID(id string) string {
	if id == "" || strings.Contains(id, "://") {
		return id
	}
	return c.Name + "://" + id
}
