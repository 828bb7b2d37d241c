package containers

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	remote "k8s.io/cri-client/pkg"
	criutil "k8s.io/cri-client/pkg/util"
	"k8s.io/klog/v2"
)

// Service is what is called of a runtime's service: nothing that changes anything.
type Service interface {
	Version(ctx context.Context, apiVersion string) (*runtimeapi.VersionResponse, error)
	Status(ctx context.Context, verbose bool) (*runtimeapi.StatusResponse, error)
	ListContainers(ctx context.Context, filter *runtimeapi.ContainerFilter) ([]*runtimeapi.Container, error)
	ContainerStatus(ctx context.Context, id string, verbose bool) (*runtimeapi.ContainerStatusResponse, error)
	ListPodSandbox(ctx context.Context, filter *runtimeapi.PodSandboxFilter) ([]*runtimeapi.PodSandbox, error)
	PodSandboxStatus(ctx context.Context, id string, verbose bool) (*runtimeapi.PodSandboxStatusResponse, error)
	ContainerStats(ctx context.Context, id string) (*runtimeapi.ContainerStats, error)
	GetContainerEvents(ctx context.Context, events chan *runtimeapi.ContainerEventResponse, connected func(runtimeapi.RuntimeService_GetContainerEventsClient)) error
	Close(ctx context.Context) error
}

// Client reads a container runtime. It is safe for concurrent use.
type Client struct {
	runtime       Service
	name, version string
}

// New asks a runtime who it is.
func New(ctx context.Context, s Service) (*Client, error) {
	v, err := s.Version(Quiet(ctx), "v1")
	if err != nil {
		return nil, fmt.Errorf("ask for its version: %w", err)
	}
	return &Client{runtime: s, name: v.RuntimeName, version: v.RuntimeVersion}, nil
}

// callTimeout bounds every call, as kubelet's runtimeRequestTimeout does.
const callTimeout = 2 * time.Minute

// Dial connects to the CRI endpoint (unix:///…). It makes one attempt; later the
// connection is made again by itself when the runtime comes back. Close ends it.
func Dial(ctx context.Context, endpoint string) (*Client, error) {
	ctx = Quiet(ctx)
	if err := Knock(ctx, endpoint); err != nil {
		return nil, err
	}
	r, err := remote.NewRemoteRuntimeServiceBuilder().WithEndpoint(endpoint).WithConnectionTimeout(callTimeout).WithTracerProvider(nil).Build(ctx)
	if err != nil {
		return nil, fmt.Errorf("container runtime at %s does not answer: %w", endpoint, err)
	}
	c, err := New(ctx, r)
	if err != nil {
		_ = r.Close(ctx) // nothing was asked of it
		return nil, fmt.Errorf("container runtime at %s: %w", endpoint, err)
	}
	return c, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.runtime.Close(Quiet(context.Background())) }

// Knock tries the socket. Without it every failed attempt would leave behind a
// connection that goes on trying for ever: the borrowed client never closes it.
func Knock(ctx context.Context, endpoint string) error {
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

// Quiet keeps the borrowed client from writing a log of its own.
func Quiet(ctx context.Context) context.Context { return klog.NewContext(ctx, logr.Discard()) }

// Name is the runtime's name (containerd, cri-o), Version its own version.
func (c *Client) Name() string    { return c.name }
func (c *Client) Version() string { return c.version }

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
	r, err := c.runtime.Status(Quiet(ctx), false)
	if err != nil {
		return Health{}, fmt.Errorf("status of %s: %w", c.name, err)
	}
	var h Health
	for _, cond := range r.GetStatus().GetConditions() {
		switch cond.Type {
		case runtimeapi.RuntimeReady:
			h.RuntimeReady, h.RuntimeReason = cond.Status, conditionWords(cond)
		case runtimeapi.NetworkReady:
			h.NetworkReady, h.NetworkReason = cond.Status, conditionWords(cond)
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

func conditionWords(c *runtimeapi.RuntimeCondition) string {
	if c.Status {
		return ""
	}
	return fmt.Sprintf("%s: %s", c.Reason, c.Message)
}
