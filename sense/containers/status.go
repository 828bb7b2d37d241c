package containers

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	crierrors "k8s.io/cri-api/pkg/errors"
)

// ContainerStats gives the usage of one container.
func (c *Client) ContainerStats(ctx context.Context, id string) (*runtimeapi.ContainerStats, error) {
	s, err := c.runtime.ContainerStats(Quiet(ctx), Bare(id))
	if err != nil {
		return nil, fmt.Errorf("usage of container %s: %w", id, err)
	}
	return s, nil
}

// Sandbox asks for one sandbox.
func (c *Client) Sandbox(ctx context.Context, id string) (SandboxView, error) {
	r, err := c.runtime.PodSandboxStatus(Quiet(ctx), id, false)
	if err != nil {
		return SandboxView{}, fmt.Errorf("status of sandbox %s: %w", id, err)
	}
	if r.GetStatus() == nil {
		return SandboxView{}, fmt.Errorf("status of sandbox %s: the runtime sent none", id)
	}
	return sandboxView(r.Status), nil
}

// Status asks for one container. The error is [IsNotFound] when there is none.
func (c *Client) Status(ctx context.Context, id string) (ContainerView, error) {
	v, _, err := c.status(ctx, id, false)
	return v, err
}

// Inspect is Status with the main process's pid on the host, 0 where the runtime
// does not say.
func (c *Client) Inspect(ctx context.Context, id string) (v ContainerView, pid int, err error) {
	return c.status(ctx, id, true)
}

func (c *Client) status(ctx context.Context, id string, verbose bool) (ContainerView, int, error) {
	r, err := c.runtime.ContainerStatus(Quiet(ctx), Bare(id), verbose)
	if err != nil {
		return ContainerView{}, 0, fmt.Errorf("status of container %s: %w", id, err)
	}
	if r.GetStatus() == nil {
		return ContainerView{}, 0, fmt.Errorf("status of container %s: the runtime sent none", id)
	}
	return c.containerView(r.Status), pidOf(r.Info), nil
}

// IsNotFound tells that a container or sandbox does not exist.
func IsNotFound(err error) bool { return crierrors.IsNotFound(err) }
