package containers

import (
	"context"
	"fmt"
	"time"

	kubelettypes "k8s.io/kubelet/pkg/types"

	"golang.org/x/sync/errgroup"
)

// Snapshot is all that the runtime has of Kubernetes' pods. Containers and
// sandboxes without Kubernetes' labels are somebody else's and not in it.
type Snapshot struct {
	// Began is when the look began: what came into being later may be missing.
	Began      time.Time
	Containers []ContainerView
	Sandboxes  []SandboxView
}

// lookers bounds how many statuses are asked for at once.
const lookers = 8

// Snapshot looks at everything, each container and sandbox in full.
func (c *Client) Snapshot(ctx context.Context) (Snapshot, error) {
	return c.look(ctx, everything{})
}

// List looks at everything in two calls: names, states and ages, but no times,
// exit codes, mounts or addresses.
func (c *Client) List(ctx context.Context) (Snapshot, error) {
	return c.look(ctx, nothing{})
}

// filter says of what a full status is needed, given what the listing says.
type filter interface {
	container(ContainerView) bool
	sandbox(SandboxView) bool
}

type everything struct{}

func (everything) container(ContainerView) bool { return true }
func (everything) sandbox(SandboxView) bool     { return true }

type nothing struct{}

func (nothing) container(ContainerView) bool { return false }
func (nothing) sandbox(SandboxView) bool     { return false }

func (c *Client) look(ctx context.Context, want filter) (Snapshot, error) {
	ctx = Quiet(ctx)
	s := Snapshot{Began: time.Now()}
	containers, err := c.runtime.ListContainers(ctx, nil)
	if err != nil {
		return s, fmt.Errorf("list containers: %w", err)
	}
	sandboxes, err := c.runtime.ListPodSandbox(ctx, nil)
	if err != nil {
		return s, fmt.Errorf("list sandboxes: %w", err)
	}
	for _, l := range containers {
		if l.Labels[kubelettypes.KubernetesPodUIDLabel] != "" {
			s.Containers = append(s.Containers, c.listedView(l))
		}
	}
	for _, l := range sandboxes {
		if l.Labels[kubelettypes.KubernetesPodUIDLabel] != "" {
			s.Sandboxes = append(s.Sandboxes, listedSandbox(l))
		}
	}
	return c.lookCloser(ctx, s, want)
}

// lookCloser replaces listed views by full ones where they are wanted. What was
// removed since the listing drops out.
func (c *Client) lookCloser(ctx context.Context, s Snapshot, want filter) (Snapshot, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(lookers)
	for i := range s.Containers {
		v := &s.Containers[i]
		if !want.container(*v) {
			continue
		}
		g.Go(func() error {
			full, err := c.Status(ctx, v.ID)
			full.Sandbox = v.Sandbox
			*v = full // empty when it failed
			return ignoreGone(err)
		})
	}
	for i := range s.Sandboxes {
		v := &s.Sandboxes[i]
		if !want.sandbox(*v) {
			continue
		}
		g.Go(func() error {
			full, err := c.Sandbox(ctx, v.ID)
			*v = full
			return ignoreGone(err)
		})
	}
	if err := g.Wait(); err != nil {
		return Snapshot{}, err
	}
	s.Containers = without(s.Containers, func(v ContainerView) bool { return v.ID == "" })
	s.Sandboxes = without(s.Sandboxes, func(v SandboxView) bool { return v.ID == "" })
	return s, nil
}

func ignoreGone(err error) error {
	if IsNotFound(err) {
		return nil
	}
	return err
}

func without[T any](list []T, drop func(T) bool) []T {
	var kept []T
	for _, v := range list {
		if !drop(v) {
			kept = append(kept, v)
		}
	}
	return kept
}
