package node

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"

	"whylet.dev/whylet/node/cri"
	"whylet.dev/whylet/node/nodestatus"
	"whylet.dev/whylet/node/object"
)

// awayAfter is how long the runtime may be silent at the start before the node says
// so: one that starts beside it answers sooner.
const awayAfter = 3 * time.Second

// errSilent is of a runtime that took a call and has not answered it.
var errSilent = errors.New("it does not answer")

// untilRuntime tries until the runtime answers. When that takes longer than its own
// start would, the node's object and lease are kept meanwhile: else the control plane
// would hear nothing, and say so after 50 s.
func (g ground) untilRuntime(ctx context.Context, try func(context.Context) error) error {
	waiting, answered := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer answered()
	var failure atomic.Pointer[error]
	failure.Store(&errSilent)
	wg.Go(func() {
		select {
		case <-waiting.Done():
		case <-time.After(awayAfter):
			g.sayAway(waiting, func() error { return *failure.Load() })
		}
	})
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, cri.ErrSystemd) {
			return err
		}
		failure.Store(&err)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// sayAway keeps the node's object until ctx ends, with why as the reason of its not
// being ready.
func (g ground) sayAway(ctx context.Context, why func() error) {
	g.config.Progress("waiting for the container runtime to come back")
	g.log.Warn("the container runtime is away", "error", why())
	// With a client of its own: nothing takes the facts yet that the node's tells.
	client, err := kubernetes.NewForConfig(clientConfig(g.config.API))
	if err != nil {
		g.log.Error("the node cannot tell that the container runtime is away", "error", err)
		return
	}
	nodestatus.Away(ctx, g.describe(client), why).Run(ctx)
}

// describe says of the node's status what needs no runtime.
func (g ground) describe(client kubernetes.Interface) nodestatus.Config {
	c := g.config
	return nodestatus.Config{
		Config: object.Config{
			Name: c.Name, IP: c.IP, Port: int32(c.Port), Version: c.Version, Reserve: g.capacity.reserve, Client: client, Log: g.log,
		},
		DataDir: c.DataDir, Journal: g.journal.Journal,
	}
}
