package cri

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	crierrors "k8s.io/cri-api/pkg/errors"

	"whylet.dev/whylet/sense/containers"
)

// MinimumGrace is what a container gets to end by itself even when nothing is
// left of its grace period, so that it is not killed while it already exits
// (kubelet: minimumGracePeriodInSeconds).
const MinimumGrace = 2 * time.Second

// RunSandbox makes and starts a pod's sandbox and returns its id and addresses.
// The handler is a RuntimeClass's, "" the runtime's default. An error is a
// [*Failure] in kubelet's words.
func (c *Client) RunSandbox(ctx context.Context, config *runtimeapi.PodSandboxConfig, handler string) (SandboxView, error) {
	pod := fmt.Sprintf("%s_%s(%s)", config.Metadata.Name, config.Metadata.Namespace, config.Metadata.Uid)
	if err := os.MkdirAll(config.LogDirectory, 0o755); err != nil {
		return SandboxView{}, failure(ReasonSandbox, fmt.Errorf("failed to create log directory for pod %q: %w", pod, err))
	}
	id, err := c.runtime.RunPodSandbox(containers.Quiet(ctx), config, handler)
	if err != nil {
		return SandboxView{}, &Failure{Reason: ReasonSandbox, Err: err}
	}
	v, err := c.Sandbox(ctx, id)
	if err != nil {
		// It runs, and the next look finds it.
		return SandboxView{ID: id}, &Failure{Reason: ReasonSandbox, Err: err}
	}
	return v, nil
}

// StopSandbox ends a sandbox, and by force what still runs in it, and gives its
// addresses back. A sandbox that is gone counts as stopped.
func (c *Client) StopSandbox(ctx context.Context, id string) error {
	if err := c.runtime.StopPodSandbox(containers.Quiet(ctx), id); err != nil && !crierrors.IsNotFound(err) {
		return &Failure{Reason: ReasonKillSandbox, Err: err}
	}
	return nil
}

// RemoveSandbox removes a stopped sandbox and all that is left of its containers.
// A sandbox that is gone counts as removed.
func (c *Client) RemoveSandbox(ctx context.Context, id string) error {
	if err := c.runtime.RemovePodSandbox(containers.Quiet(ctx), id); err != nil && !crierrors.IsNotFound(err) {
		return fmt.Errorf("remove sandbox %s: %w", id, err)
	}
	return nil
}

// Create makes a container in a sandbox and returns its id. The sandbox's
// configuration has to be the one it was started with. An error is a [*Failure].
func (c *Client) Create(ctx context.Context, sandboxID string, config *runtimeapi.ContainerConfig, sandbox *runtimeapi.PodSandboxConfig) (string, error) {
	dir := filepath.Dir(filepath.Join(sandbox.LogDirectory, config.LogPath))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", ConfigFailure(fmt.Errorf("create container log directory for container %s failed: %w", config.Metadata.Name, err))
	}
	id, err := c.runtime.CreateContainer(containers.Quiet(ctx), sandboxID, config, sandbox)
	if err != nil {
		return "", &Failure{Reason: ReasonCreate, Err: err}
	}
	return c.FullID(id), nil
}

// Start runs a created container's main process. An error is a [*Failure]; the
// container may be left behind as exited (exit code 127, 128…), which the event
// stream tells.
func (c *Client) Start(ctx context.Context, id string) error {
	return failure(ReasonStart, c.runtime.StartContainer(containers.Quiet(ctx), containers.Bare(id)))
}

// Stop sends the stop signal, and SIGKILL when grace has passed, and returns when
// the container has ended. Grace counts in whole seconds and is never less than
// [MinimumGrace]. Of a container that is gone the error is [IsNotFound], or nil:
// containerd does not tell.
func (c *Client) Stop(ctx context.Context, id string, grace time.Duration) error {
	seconds := int64(max(grace, MinimumGrace) / time.Second)
	if err := c.runtime.StopContainer(containers.Quiet(ctx), containers.Bare(id), seconds); err != nil {
		return fmt.Errorf("stop container %s: %w", id, err)
	}
	return nil
}

// Remove removes a dead container, its logs first: as long as the container is
// there, logs that could not be removed are tried again. With keepLogs they stay
// until the pod's log folder goes. A container that is gone counts as removed.
func (c *Client) Remove(ctx context.Context, v ContainerView, keepLogs bool) error {
	if !keepLogs && v.LogPath != "" {
		if err := removeLogs(v.LogPath); err != nil {
			return fmt.Errorf("remove container %s: %w", v.ID, err)
		}
	}
	if err := c.runtime.RemoveContainer(containers.Quiet(ctx), containers.Bare(v.ID)); err != nil && !crierrors.IsNotFound(err) {
		return fmt.Errorf("remove container %s: %w", v.ID, err)
	}
	return nil
}

// Resize gives a running container other resources, from [ContainerResources].
func (c *Client) Resize(ctx context.Context, id string, r *runtimeapi.LinuxContainerResources) error {
	err := c.runtime.UpdateContainerResources(containers.Quiet(ctx), containers.Bare(id), &runtimeapi.ContainerResources{Linux: r})
	if err != nil {
		return fmt.Errorf("update resources of container %s: %w", id, err)
	}
	return nil
}

// ReopenLog makes the runtime write to a new file after the old one was renamed.
func (c *Client) ReopenLog(ctx context.Context, id string) error {
	if err := c.runtime.ReopenContainerLog(containers.Quiet(ctx), containers.Bare(id)); err != nil {
		return fmt.Errorf("reopen log of container %s: %w", id, err)
	}
	return nil
}
