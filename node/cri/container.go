package cri

import (
	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"

	"whylet.dev/whylet/sense/containers"
)

// ContainerInput is all that a container is configured from.
type ContainerInput struct {
	Pod *v1.Pod
	// Container is one of the pod's, from [FindContainer].
	Container *v1.Container
	// Attempt is the restart count: it numbers the log and tells runs apart.
	Attempt int32
	// ImageRef is the image as the runtime knows it, ImageUser whom it wants to run as.
	ImageRef  string
	ImageUser ImageUser
	// Env is the environment, from [Environment].
	Env []kubecontainer.EnvVar
	// Mounts are the volumes', /etc/hosts and the termination message file; Devices
	// are block volumes. They are not changed.
	Mounts  []*runtimeapi.Mount
	Devices []*runtimeapi.Device
	// TargetID is the container whose processes an ephemeral container shares.
	TargetID string
	// Users is the pod's user namespace; nil: the host's.
	Users *runtimeapi.UserNamespace
	// ExtraGroups are groups that the pod's persistent volumes ask for.
	ExtraGroups []int64
	// SeccompRoot is the folder that Localhost profiles are relative to.
	SeccompRoot string
	Machine     Machine
}

// ContainerConfig builds the configuration of one run of a container. Errors are
// worded as kubelet words them for CreateContainerConfigError.
func ContainerConfig(in ContainerInput) (*runtimeapi.ContainerConfig, error) {
	c := in.Container
	security, err := containerSecurity(in)
	if err != nil {
		return nil, err
	}
	annotations, err := containerAnnotations(in.Pod, c, in.Attempt)
	if err != nil {
		return nil, err
	}
	signal, err := stopSignal(c)
	if err != nil {
		return nil, err
	}
	command, args := kubecontainer.ExpandContainerCommandAndArgs(c, in.Env)
	return &runtimeapi.ContainerConfig{
		Metadata:    &runtimeapi.ContainerMetadata{Name: c.Name, Attempt: uint32(in.Attempt)},
		Image:       &runtimeapi.ImageSpec{Image: in.ImageRef, UserSpecifiedImage: c.Image},
		Command:     command,
		Args:        args,
		WorkingDir:  c.WorkingDir,
		Envs:        keyValues(in.Env),
		Mounts:      mounts(in),
		Devices:     in.Devices,
		Labels:      containerLabels(in.Pod, c),
		Annotations: annotations,
		LogPath:     containers.LogPath(c.Name, in.Attempt),
		Stdin:       c.Stdin,
		StdinOnce:   c.StdinOnce,
		Tty:         c.TTY,
		StopSignal:  signal,
		Linux: &runtimeapi.LinuxContainerConfig{
			Resources:       ContainerResources(in.Pod, c, in.Machine),
			SecurityContext: security,
		},
	}, nil
}

// FindContainer gives the container of that name, whether app, init or ephemeral
// (as the container it is in all but its target), and the name of the container
// whose processes it shares. It is nil when the pod has no such container.
func FindContainer(pod *v1.Pod, name string) (c *v1.Container, target string) {
	c = kubecontainer.GetContainerSpec(pod, name)
	for i := range pod.Spec.EphemeralContainers {
		if e := &pod.Spec.EphemeralContainers[i]; e.Name == name {
			return c, e.TargetContainerName
		}
	}
	return c, ""
}

func keyValues(env []kubecontainer.EnvVar) []*runtimeapi.KeyValue {
	out := make([]*runtimeapi.KeyValue, len(env))
	for i, e := range env {
		out[i] = &runtimeapi.KeyValue{Key: e.Name, Value: []byte(e.Value)}
	}
	return out
}

// mounts of a pod with users of its own are mapped to them.
func mounts(in ContainerInput) []*runtimeapi.Mount {
	uids, gids := in.Users.GetUids(), in.Users.GetGids()
	if len(uids) == 0 && len(gids) == 0 {
		return in.Mounts
	}
	mapped := make([]*runtimeapi.Mount, len(in.Mounts))
	for i, m := range in.Mounts {
		mapped[i] = proto.CloneOf(m)
		mapped[i].UidMappings, mapped[i].GidMappings = uids, gids
	}
	return mapped
}
