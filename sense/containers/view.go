package containers

import (
	"encoding/json"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"whylet.dev/whylet/fact"
)

// State is where a container is in its life. It only ever moves forward.
type State string

// States of a container. Unknown means that the runtime lost track of it: it may
// run, and has to be stopped before anything takes its place.
const (
	Created State = "created"
	Running State = "running"
	Unknown State = "unknown"
	Exited  State = "exited"
)

var states = map[runtimeapi.ContainerState]State{
	runtimeapi.ContainerState_CONTAINER_CREATED: Created,
	runtimeapi.ContainerState_CONTAINER_RUNNING: Running,
	runtimeapi.ContainerState_CONTAINER_EXITED:  Exited,
	runtimeapi.ContainerState_CONTAINER_UNKNOWN: Unknown,
}

// age orders the states; a view of a lower age than one already seen is stale.
func (s State) age() int {
	switch s {
	case Created:
		return 1
	case Running:
		return 2
	case Unknown:
		return 3
	}
	return 4
}

// ContainerView is what the runtime says of one container. What it did not say,
// or what does not apply in that state, is empty.
type ContainerView struct {
	// ID has the runtime's scheme: containerd://….
	ID      string
	Pod     fact.Pod
	Name    string
	Attempt int32
	// Sandbox is the pod sandbox it runs in. A status alone does not say it.
	Sandbox string
	State   State

	CreatedAt, StartedAt, FinishedAt time.Time

	ExitCode int32
	// Reason and Message are the runtime's own words, of an exited container only. The
	// reason is evidence, not truth: see [fact.Exited]. What the container itself had
	// to say is in [TerminationMessage].
	Reason, Message string

	// Image is the image's name, ImageID what a pod's status shows as imageID (a
	// digest by which it can be pulled), LocalImageID the image's id on the node.
	Image, ImageID, LocalImageID string
	// LogPath is the log file on the host.
	LogPath string

	Resources  *v1.ResourceRequirements
	User       *v1.ContainerUser
	StopSignal *v1.Signal
	Mounts     []Mount
	Recorded   Recorded
}

// Mount is a mount of a container: host path and path inside. Image is the local
// id of an image that is mounted instead of a host path.
type Mount struct {
	HostPath, ContainerPath string
	ReadOnly                bool
	Image                   string
}

// SandboxView is what the runtime says of one pod sandbox.
type SandboxView struct {
	ID      string
	Pod     fact.Pod
	Attempt uint32
	Ready   bool
	// HostNetwork is set when it lives in the host's network; it has no IPs then.
	HostNetwork bool
	// IPs are the pod's addresses, the runtime's primary first. A listing has none.
	IPs       []string
	CreatedAt time.Time
	Handler   string
}

// containerView reads a full status.
func (c *Client) containerView(s *runtimeapi.ContainerStatus) ContainerView {
	v := ContainerView{
		ID: c.FullID(s.Id), Pod: podOf(s.Labels),
		Name:         s.GetMetadata().GetName(),
		Attempt:      attemptOf(s.Annotations, s.GetMetadata().GetAttempt()),
		State:        states[s.State],
		CreatedAt:    nanos(s.CreatedAt),
		Image:        s.GetImage().GetImage(),
		ImageID:      s.ImageRef,
		LocalImageID: orElse(s.ImageId, s.ImageRef),
		LogPath:      s.LogPath,
		Resources:    resourcesOf(s.Resources),
		User:         userOf(s.User),
		StopSignal:   signalName(s.StopSignal),
		Recorded:     recordedOf(s.Annotations),
	}
	if v.State != Created {
		v.StartedAt = nanos(s.StartedAt)
	}
	if v.State == Exited {
		v.FinishedAt, v.ExitCode = nanos(s.FinishedAt), s.ExitCode
		v.Reason, v.Message = s.Reason, s.Message
	}
	for _, m := range s.Mounts {
		v.Mounts = append(v.Mounts, Mount{
			HostPath: m.HostPath, ContainerPath: m.ContainerPath, ReadOnly: m.Readonly, Image: m.GetImage().GetImage(),
		})
	}
	return v
}

// listedView reads a listing, which has neither times, exit code nor mounts.
func (c *Client) listedView(l *runtimeapi.Container) ContainerView {
	return ContainerView{
		ID: c.FullID(l.Id), Pod: podOf(l.Labels), Sandbox: l.PodSandboxId,
		Name:         l.GetMetadata().GetName(),
		Attempt:      attemptOf(l.Annotations, l.GetMetadata().GetAttempt()),
		State:        states[l.State],
		CreatedAt:    nanos(l.CreatedAt),
		Image:        l.GetImage().GetImage(),
		ImageID:      l.ImageRef,
		LocalImageID: orElse(l.ImageId, l.ImageRef),
		Recorded:     recordedOf(l.Annotations),
	}
}

func sandboxView(s *runtimeapi.PodSandboxStatus) SandboxView {
	v := SandboxView{
		ID: s.Id, Pod: podOf(s.Labels), Attempt: s.GetMetadata().GetAttempt(),
		Ready:       s.State == runtimeapi.PodSandboxState_SANDBOX_READY,
		HostNetwork: s.GetLinux().GetNamespaces().GetOptions().GetNetwork() == runtimeapi.NamespaceMode_NODE,
		CreatedAt:   nanos(s.CreatedAt),
		Handler:     s.RuntimeHandler,
	}
	if ip := s.GetNetwork().GetIp(); ip != "" {
		v.IPs = append(v.IPs, ip)
	}
	for _, more := range s.GetNetwork().GetAdditionalIps() {
		v.IPs = append(v.IPs, more.Ip)
	}
	return v
}

func listedSandbox(l *runtimeapi.PodSandbox) SandboxView {
	return SandboxView{
		ID: l.Id, Pod: podOf(l.Labels), Attempt: l.GetMetadata().GetAttempt(),
		Ready:     l.State == runtimeapi.PodSandboxState_SANDBOX_READY,
		CreatedAt: nanos(l.CreatedAt), Handler: l.RuntimeHandler,
	}
}

func userOf(u *runtimeapi.ContainerUser) *v1.ContainerUser {
	l := u.GetLinux()
	if l == nil {
		return nil
	}
	return &v1.ContainerUser{Linux: &v1.LinuxContainerUser{
		UID: l.Uid, GID: l.Gid, SupplementalGroups: l.SupplementalGroups,
	}}
}

// pidOf takes the main process from a verbose status. containerd and CRI-O both
// put a JSON object with "pid" under the key "info".
func pidOf(info map[string]string) int {
	var parsed struct {
		PID int `json:"pid"`
	}
	if json.Unmarshal([]byte(info["info"]), &parsed) != nil {
		return 0
	}
	return parsed.PID
}

// nanos reads CRI's Unix nanoseconds; 0 is "never".
func nanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// FullID gives a container id its runtime's scheme, as facts and statuses have it.
func (c *Client) FullID(id string) string {
	if id == "" || strings.Contains(id, "://") {
		return id
	}
	return c.name + "://" + id
}

// Bare takes the scheme away: CRI calls want the id alone.
func Bare(id string) string {
	if _, after, found := strings.Cut(id, "://"); found {
		return after
	}
	return id
}

// signalName is the stop signal in Kubernetes' spelling: CRI spells SIGRTMIN+1 as
// SIGNAL_SIGRTMINPLUS1 and SIGRTMAX-1 as SIGNAL_SIGRTMAXMINUS1; nil where the runtime does not say.
func signalName(s runtimeapi.Signal) *v1.Signal {
	name, ok := runtimeapi.Signal_name[int32(s)]
	if !ok || s == runtimeapi.Signal_SIGNAL_RUNTIME_DEFAULT {
		return nil
	}
	named := v1.Signal(strings.NewReplacer("SIGNAL_", "", "PLUS", "+", "MINUS", "-").Replace(name))
	return &named
}
