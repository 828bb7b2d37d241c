package cri

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ContainerStats gives the usage of one container.
func (c *Client) ContainerStats(ctx context.Context, id string) (*runtimeapi.ContainerStats, error) {
	s, err := c.runtime.ContainerStats(quiet(ctx), bare(id))
	if err != nil {
		return nil, fmt.Errorf("usage of container %s: %w", id, err)
	}
	return s, nil
}

// AllContainerStats gives the usage of every running container, in one call.
func (c *Client) AllContainerStats(ctx context.Context) ([]*runtimeapi.ContainerStats, error) {
	s, err := c.runtime.ListContainerStats(quiet(ctx), nil)
	if err != nil {
		return nil, fmt.Errorf("usage of containers: %w", err)
	}
	return s, nil
}

// AllPodStats gives the usage of every sandbox with its containers, in one call.
func (c *Client) AllPodStats(ctx context.Context) ([]*runtimeapi.PodSandboxStats, error) {
	s, err := c.runtime.ListPodSandboxStats(quiet(ctx), nil)
	if err != nil {
		return nil, fmt.Errorf("usage of pods: %w", err)
	}
	return s, nil
}
