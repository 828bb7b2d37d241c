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
	criutil "k8s.io/cri-client/pkg/util"
)

// callTimeout bounds every call that the runtime answers from its own doing;
// starting a sandbox may take twice as long (kubelet's runtimeRequestTimeout).
const callTimeout = 2 * time.Minute

// Client is a connection to a container runtime. It is safe for concurrent use
// and reconnects by itself when the runtime comes back.
type Client struct {
	runtime internalapi.RuntimeService
	images  internalapi.ImageManagerService
	log     *slog.Logger

	name, version, api string
}

// Dial connects to the CRI endpoint (unix:///…) and asks the runtime who it is.
// It makes one attempt: a runtime that is still starting is asked again by the
// caller.
func Dial(ctx context.Context, endpoint string, log *slog.Logger) (*Client, error) {
	ctx = quiet(ctx)
	if err := knock(ctx, endpoint); err != nil {
		return nil, err
	}
	r, err := remote.NewRemoteRuntimeService(ctx, endpoint, callTimeout, nil, false)
	if err != nil {
		return nil, fmt.Errorf("container runtime at %s does not answer: %w", endpoint, err)
	}
	i, err := remote.NewRemoteImageService(ctx, endpoint, callTimeout, nil, false)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("image service at %s does not answer: %w", endpoint, err), r.Close(ctx))
	}
	c := &Client{runtime: r, images: i, log: log}
	v, err := r.Version(ctx, "v1")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("version of the container runtime at %s: %w", endpoint, err), c.Close())
	}
	c.name, c.version, c.api = v.RuntimeName, v.RuntimeVersion, v.RuntimeApiVersion
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

// knock tries the socket. Without it every failed attempt would leave behind a
// connection that goes on trying for ever: the borrowed client never closes it.
func knock(ctx context.Context, endpoint string) error {
	address, dial, err := criutil.GetAddressAndDialer(endpoint)
	if err != nil {
		return fmt.Errorf("container runtime endpoint %s: %w", endpoint, err)
	}
	conn, err := dial(ctx, address)
	if err != nil {
		return fmt.Errorf("container runtime at %s does not answer: %w", endpoint, err)
	}
	return conn.Close()
}

// Close ends the connection. What runs goes on running.
func (c *Client) Close() error {
	ctx := quiet(context.Background())
	return errors.Join(c.runtime.Close(ctx), c.images.Close(ctx))
}

// Name is the runtime's name (containerd, cri-o), Version its own version.
func (c *Client) Name() string    { return c.name }
func (c *Client) Version() string { return c.version }

// Images is the runtime's image service, for package images.
func (c *Client) Images() internalapi.ImageManagerService { return c.images }

// Runtime is the runtime's service itself, for the streaming calls (exec, attach,
// port-forward) that the node's HTTPS API makes.
func (c *Client) Runtime() internalapi.RuntimeService { return c.runtime }

// Health is what a runtime says of itself.
type Health struct {
	// RuntimeReady and NetworkReady tell whether pods can be started. The reasons
	// are empty when they can, else in the runtime's words.
	RuntimeReady, NetworkReady   bool
	RuntimeReason, NetworkReason string
	// Handlers are the runtime handlers that a RuntimeClass can name; "" is the default.
	Handlers []Handler
	// GroupsPolicy is set when supplementalGroupsPolicy is honoured.
	GroupsPolicy bool
}

// Handler is one way in which the runtime runs pods, with what it can do.
type Handler struct {
	Name              string
	RecursiveReadOnly bool
	UserNamespaces    bool
}

// Health asks the runtime whether it is ready. An error means that it did not
// answer.
func (c *Client) Health(ctx context.Context) (Health, error) {
	r, err := c.runtime.Status(quiet(ctx), false)
	if err != nil {
		return Health{}, fmt.Errorf("status of %s: %w", c.name, err)
	}
	var h Health
	for _, cond := range r.GetStatus().GetConditions() {
		switch cond.Type {
		case runtimeapi.RuntimeReady:
			h.RuntimeReady, h.RuntimeReason = cond.Status, words(cond)
		case runtimeapi.NetworkReady:
			h.NetworkReady, h.NetworkReason = cond.Status, words(cond)
		}
	}
	for _, handler := range r.GetRuntimeHandlers() {
		h.Handlers = append(h.Handlers, Handler{
			Name:              handler.Name,
			RecursiveReadOnly: handler.GetFeatures().GetRecursiveReadOnlyMounts(),
			UserNamespaces:    handler.GetFeatures().GetUserNamespaces(),
		})
	}
	h.GroupsPolicy = r.GetFeatures().GetSupplementalGroupsPolicy()
	return h, nil
}

// Handler gives what the named handler can do; a runtime that names none can do
// nothing special.
func (h Health) Handler(name string) Handler {
	for _, handler := range h.Handlers {
		if handler.Name == name {
			return handler
		}
	}
	return Handler{Name: name}
}

func words(c *runtimeapi.RuntimeCondition) string {
	if c.Status {
		return ""
	}
	return fmt.Sprintf("%s: %s", c.Reason, c.Message)
}
