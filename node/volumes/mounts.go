package volumes

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubecontainer "k8s.io/kubernetes/pkg/kubelet/container"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
	"k8s.io/kubernetes/pkg/volume/util/subpath"
	volumevalidation "k8s.io/kubernetes/pkg/volume/validation"
)

// MountOptions is what a container's mounts depend on beside the pod.
type MountOptions struct {
	// PodIPs, HostName and HostDomain go into /etc/hosts. On the pod's own network
	// it is left out while there are no PodIPs.
	PodIPs               []string
	HostName, HostDomain string
	// Env is the container's environment, for subPathExpr.
	Env []kubecontainer.EnvVar
	// Attempt is the restart count: each run has a termination message file of its
	// own, and that of the run before the last is removed.
	Attempt int32
	// RecursiveReadOnly says that the runtime handler can mount recursively
	// read-only.
	RecursiveReadOnly bool
	// Images are the pulled images of the pod's image volumes, by volume name.
	Images map[string]*runtimeapi.ImageSpec
}

// Mounts gives the mounts of a container of a pod that was set up: its volumes,
// /etc/hosts unless the container mounts something there itself, and the
// termination message file. Errors are worded as kubelet's makeMounts, which
// reports them as CreateContainerConfigError.
//
// done is never nil; it is to be called once the container runs or could not be
// started, also after an error. For a container that was added to a running pod
// (an ephemeral one), call SetUp with the changed pod before.
func (m *Manager) Mounts(pod *v1.Pod, c *v1.Container, o MountOptions) (mounts []*runtimeapi.Mount, done func(), err error) {
	var undo []func()
	done = func() {
		for _, f := range undo {
			f()
		}
	}
	p, _ := m.lookup(pod.UID)
	hosts := len(o.PodIPs) > 0 || pod.Spec.HostNetwork
	for i := range c.VolumeMounts {
		hosts = hosts && c.VolumeMounts[i].MountPath != etcHosts
		mount, cleanup, err := m.mountOf(p, pod, c, i, o)
		if cleanup != nil {
			undo = append(undo, cleanup)
		}
		if err != nil {
			return nil, done, err
		}
		mounts = append(mounts, mount)
	}
	if hosts {
		path, err := m.hostsFile(pod, o)
		if err != nil {
			return nil, done, err
		}
		mounts = append(mounts, &runtimeapi.Mount{ContainerPath: etcHosts, HostPath: path})
	}
	if c.TerminationMessagePath != "" {
		path, err := m.messageFile(pod, c, o.Attempt)
		if err != nil {
			return nil, done, err
		}
		mounts = append(mounts, &runtimeapi.Mount{ContainerPath: absolute(c.TerminationMessagePath), HostPath: path})
	}
	return mounts, done, nil
}

// mountOf makes the mount for the container's i-th volume mount.
func (m *Manager) mountOf(p *podVolumes, pod *v1.Pod, c *v1.Container, i int, o MountOptions) (*runtimeapi.Mount, func(), error) {
	vm := &c.VolumeMounts[i]
	var vol mounted
	ok := p != nil
	if ok {
		vol, ok = p.volume(vm.Name)
	}
	if !ok {
		return nil, nil, fmt.Errorf("cannot find volume %q to mount into container %q", vm.Name, c.Name)
	}
	sub, err := subPath(vm, o.Env)
	if err != nil {
		return nil, nil, err
	}
	mount := &runtimeapi.Mount{
		ContainerPath: absolute(vm.MountPath),
		Readonly:      vm.ReadOnly || vol.mounter.GetAttributes().ReadOnly,
	}
	if mount.Propagation, err = propagation(vm.MountPropagation); err != nil {
		return nil, nil, err
	}
	if mount.RecursiveReadOnly, err = recursive(vm, o.RecursiveReadOnly); err != nil {
		return nil, nil, fmt.Errorf("failed to resolve recursive read-only mode: %w", err)
	}
	if image := o.Images[vm.Name]; image != nil {
		mount.Image, mount.ImageSubPath = image, sub
		return mount, nil, nil
	}
	base, err := volumeutil.GetPath(vol.mounter)
	if err != nil {
		return nil, nil, err
	}
	mount.HostPath = base
	if sub == "" {
		return mount, nil, nil
	}
	var cleanup func()
	mount.HostPath, cleanup, err = m.bindSubPath(pod, c, i, vol.specName, base, sub)
	return mount, cleanup, err
}

// subPath gives the path below the volume that a mount asks for, or "".
func subPath(vm *v1.VolumeMount, env []kubecontainer.EnvVar) (string, error) {
	sub := vm.SubPath
	if vm.SubPathExpr != "" {
		var err error
		if sub, err = kubecontainer.ExpandContainerVolumeMounts(*vm, env); err != nil {
			return "", err
		}
	}
	if filepath.IsAbs(sub) {
		return "", fmt.Errorf("error SubPath `%s` must not be an absolute path", sub)
	}
	if sub != "" {
		if err := volumevalidation.ValidatePathNoBacksteps(sub); err != nil {
			return "", fmt.Errorf("unable to provision SubPath `%s`: %w", sub, err)
		}
	}
	return sub, nil
}

// bindSubPath makes the subPath where it is missing, with the volume's own mode,
// and binds it to a place that the container cannot exchange for a symbolic link
// between check and use. Errors name no path of the host: pods can read them.
func (m *Manager) bindSubPath(pod *v1.Pod, c *v1.Container, i int, specName, base, sub string) (string, func(), error) {
	name := c.VolumeMounts[i].Name
	host := filepath.Join(base, sub)
	if exists, err := m.hostutil.PathExists(host); err == nil && !exists {
		mode, err := m.hostutil.GetMode(base)
		if err != nil {
			return "", nil, err
		}
		if err := m.subpather.SafeMakeDir(sub, base, mode); err != nil && !errors.Is(err, os.ErrExist) {
			m.cfg.Log.Error("subPath could not be made", "pod", pod.Namespace+"/"+pod.Name, "path", host, "error", err)
			return "", nil, fmt.Errorf("failed to create subPath directory for volumeMount %q of container %q", name, c.Name)
		}
	}
	bound, cleanup, err := m.subpather.PrepareSafeSubpath(subpath.Subpath{
		VolumeMountIndex: i,
		Path:             host,
		VolumeName:       specName,
		VolumePath:       base,
		PodDir:           m.podDir(pod.UID),
		ContainerName:    c.Name,
	})
	if err != nil {
		m.cfg.Log.Error("subPath could not be bound", "pod", pod.Namespace+"/"+pod.Name, "path", host, "error", err)
		return "", cleanup, fmt.Errorf("failed to prepare subPath for volumeMount %q of container %q", name, c.Name)
	}
	return bound, cleanup, nil
}

// propagation translates the API's word; none is private.
func propagation(mode *v1.MountPropagationMode) (runtimeapi.MountPropagation, error) {
	if mode == nil {
		return runtimeapi.MountPropagation_PROPAGATION_PRIVATE, nil
	}
	switch *mode {
	case v1.MountPropagationNone:
		return runtimeapi.MountPropagation_PROPAGATION_PRIVATE, nil
	case v1.MountPropagationHostToContainer:
		return runtimeapi.MountPropagation_PROPAGATION_HOST_TO_CONTAINER, nil
	case v1.MountPropagationBidirectional:
		return runtimeapi.MountPropagation_PROPAGATION_BIDIRECTIONAL, nil
	}
	return 0, fmt.Errorf("invalid MountPropagation mode: %q", *mode)
}

// recursive decides about recursive read-only mounts (KEP 3857).
func recursive(vm *v1.VolumeMount, supported bool) (bool, error) {
	if vm.RecursiveReadOnly == nil || *vm.RecursiveReadOnly == v1.RecursiveReadOnlyDisabled {
		return false, nil
	}
	if !vm.ReadOnly {
		return false, fmt.Errorf("volume %q requested recursive read-only mode, but it is not read-only", vm.Name)
	}
	if vm.MountPropagation != nil && *vm.MountPropagation != v1.MountPropagationNone {
		return false, fmt.Errorf("volume %q requested recursive read-only mode, but it is not compatible with propagation %q",
			vm.Name, *vm.MountPropagation)
	}
	switch *vm.RecursiveReadOnly {
	case v1.RecursiveReadOnlyIfPossible:
		return supported, nil
	case v1.RecursiveReadOnlyEnabled:
		if !supported {
			return false, fmt.Errorf("volume %q requested recursive read-only mode, but it is not supported by the runtime", vm.Name)
		}
		return true, nil
	}
	return false, fmt.Errorf("unknown recursive read-only mode %q", *vm.RecursiveReadOnly)
}

// messageFile makes the empty file that a run of the container writes its
// termination message to; anybody in the container may write. The file of the
// run before the previous one goes: its message is read when that run ended.
func (m *Manager) messageFile(pod *v1.Pod, c *v1.Container, attempt int32) (string, error) {
	dir := filepath.Join(m.podDir(pod.UID), containersName, c.Name)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", fmt.Errorf("termination message file: %w", err)
	}
	file := func(n int32) string { return filepath.Join(dir, strconv.Itoa(int(n))) }
	if err := os.Remove(file(attempt - 2)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("termination message file: %w", err)
	}
	if err := os.WriteFile(file(attempt), nil, 0o666); err != nil {
		return "", fmt.Errorf("termination message file: %w", err)
	}
	return file(attempt), os.Chmod(file(attempt), 0o666) // whatever the umask
}

// absolute is where a path of the API lies in the container.
func absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return "/" + path
}
