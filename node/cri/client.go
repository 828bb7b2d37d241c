package cri

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	internalapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	remote "k8s.io/cri-client/pkg"

	"whylet.dev/whylet/sense/containers"
)

// callTimeout bounds every call that the runtime answers from its own doing;
// starting a sandbox may take twice as long (kubelet's runtimeRequestTimeout).
const callTimeout = 2 * time.Minute

// Client is a connection to a container runtime: what can be read of it, and the
// calls that change something. It is safe for concurrent use
// and reconnects by itself when the runtime comes back.
type Client struct {
	*containers.Client
	runtime internalapi.RuntimeService
	images  internalapi.ImageManagerService
	log     *slog.Logger
}

// Dial connects to the CRI endpoint (unix:///…) and asks the runtime who it is.
// It makes one attempt: a runtime that is still starting is asked again by the
// caller.
func Dial(ctx context.Context, endpoint string, log *slog.Logger) (*Client, error) {
	ctx = containers.Quiet(ctx)
	if err := containers.Knock(ctx, endpoint); err != nil {
		return nil, err
	}
	r, err := remote.NewRemoteRuntimeServiceBuilder().WithEndpoint(endpoint).WithConnectionTimeout(callTimeout).WithTracerProvider(nil).Build(ctx)
	if err != nil {
		return nil, fmt.Errorf("container runtime at %s does not answer: %w", endpoint, err)
	}
	i, err := remote.NewRemoteImageServiceBuilder().WithEndpoint(endpoint).WithConnectionTimeout(callTimeout).WithTracerProvider(nil).Build(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("image service at %s does not answer: %w", endpoint, err), r.Close(ctx))
	}
	c := &Client{runtime: r, images: i, log: log}
	if c.Client, err = containers.New(ctx, r); err != nil {
		return nil, errors.Join(fmt.Errorf("container runtime at %s: %w", endpoint, err), c.Close())
	}
	if err := c.checkCgroups(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("container runtime at %s: %w", endpoint, err), c.Close())
	}
	return c, nil
}

// ErrSystemd is of a runtime whose every sandbox would fail.
var ErrSystemd = errors.New("it makes cgroups through systemd, and this node makes them itself: " +
	"set cgroup_manager = \"cgroupfs\" in CRI-O's configuration, SystemdCgroup = false in containerd's, and restart it")

// checkCgroups asks who makes the pods' cgroups. Runtimes before CRI 1.28 do not
// say, and one that fails to say so is tried.
func (c *Client) checkCgroups(ctx context.Context) error {
	r, err := c.runtime.RuntimeConfig(ctx)
	if err == nil && r.Linux != nil && r.Linux.CgroupDriver == runtimeapi.CgroupDriver_SYSTEMD {
		return ErrSystemd
	}
	return nil
}

// Close ends the connection. What runs goes on running.
func (c *Client) Close() error {
	ctx := containers.Quiet(context.Background())
	return errors.Join(c.runtime.Close(ctx), c.images.Close(ctx))
}

// Images is the runtime's image service, for package images.
func (c *Client) Images() internalapi.ImageManagerService { return c.images }

// Runtime is the runtime's service itself, for the streaming calls (exec, attach,
// port-forward) that the node's HTTPS API makes.
func (c *Client) Runtime() internalapi.RuntimeService { return c.runtime }
